// @ts-check
/**
 * The server's results as lines for a person. Pure. The numbers are computed where the exports are, so that the page
 * and the files never disagree.
 *
 * @typedef {{unit: string, time_unit: string, tip: string | null, scale: string, warnings: string[], clock?: string,
 *   gravitropism?: {distance: number, rate: number | null, angle: number | null},
 *   circumnutation?: {amplitude: number, rate: number | null}, frames?: {seen: number, lost: number}}} Told
 * @typedef {{name: string, value: string | null, formula: string, meaning: string}} Measure  no value: `meaning` says why
 * @typedef {{name: string, question: string, measures: Measure[]}} Group
 */

/** @param {number} value @param {number} digits @param {string} unit */
const measured = (value, digits, unit) => `${value.toFixed(digits)} ${unit}`;

/** Digits that are still true when a length has `digits` of them and is divided by a time. @param {number} value @param {number} digits */
const rateDigits = (value, digits) => (Math.abs(value) < 1 ? digits + 2 : digits + 1);

/** @param {Told | null} told @returns {Group[]} what was measured, by the question it answers */
export function groups(told) {
  if (!told?.gravitropism || !told.circumnutation) return [];
  const digits = told.unit === 'mm' ? 2 : 1;
  const per = `${told.unit}/${told.time_unit === 'minute' ? 'min' : told.time_unit}`;
  const { gravitropism, circumnutation } = told;
  const tip = told.tip ?? 'the tip';
  /** @param {number} value */
  const length = (value) => measured(value, digits, told.unit);
  /** @param {number | null} value */
  const rate = (value) => (value === null ? null : measured(value, rateDigits(value, digits), per));
  const noTime = `${tip} was seen too seldom for that.`;
  return [
    {
      name: 'Gravitropism', question: 'How far and how fast did it bend?',
      measures: [
        {
          name: 'Distance', value: length(gravitropism.distance), formula: '√(Δx² + Δy²)',
          meaning: `The straight way from where ${tip} was first seen to where it was last seen.`,
        },
        {
          name: 'Rate', value: rate(gravitropism.rate), formula: 'distance / time',
          meaning: gravitropism.rate === null ? noTime : 'The distance over the time between these two frames.',
        },
        {
          name: 'Angle', value: gravitropism.angle === null ? null : `${gravitropism.angle.toFixed(1)}°`,
          formula: 'cos(angle) = (a² + b² − c²) / (2 a b)',
          meaning: gravitropism.angle === null
            ? 'It needs a marker called Inflection Point where the stem bends. Add it on the first frame and trace again.'
            : `At the inflection point, between the first and the last place of ${tip}: a and b are their distances from it, c is the distance between them.`,
        },
      ],
    },
    {
      name: 'Circumnutation', question: 'How far and how fast did it swing?',
      measures: [
        {
          name: 'Amplitude', value: length(circumnutation.amplitude), formula: '(largest x − smallest x) / 2',
          meaning: `Half of how far ${tip} swings from left to right. A movie shorter than one swing gives less.`,
        },
        {
          name: 'Path rate', value: rate(circumnutation.rate), formula: 'length of the path / its time',
          meaning: circumnutation.rate === null ? noTime : `The path is the sum of the steps of ${tip} from frame to frame, over the time that these steps took.`,
        },
      ],
    },
  ];
}

/** Over which frames, and what was left out. @param {Told | null} told @param {number} first @param {number} last */
export function basis(told, first, last) {
  if (!told?.frames) return '';
  const { seen, lost } = told.frames;
  const leftOut = lost ? `; ${lost === 1 ? 'the one in which it was lost is' : `the ${lost} in which it was lost are`} left out` : '';
  return `Over frames ${first} to ${last}. ${told.tip} was seen in ${seen} of ${seen + lost} frames${leftOut}.`;
}

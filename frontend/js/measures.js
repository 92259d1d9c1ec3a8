// @ts-check
/**
 * The server's results as lines for a person. Pure. The numbers are computed where the exports are, so that the page
 * and the files never disagree.
 *
 * @typedef {{unit: string, time_unit: string, tip: string | null, scale: string, warnings: string[],
 *   gravitropism?: {distance: number, rate: number | null, angle: number | null},
 *   circumnutation?: {amplitude: number, rate: number | null}, frames?: {seen: number, lost: number}}} Told
 * @typedef {{name: string, value: string, title: string}} Line
 */

/** @param {number} value @param {number} digits @param {string} unit */
const measured = (value, digits, unit) => `${value.toFixed(digits)} ${unit}`;

/** Digits that are still true when a length has `digits` of them and is divided by a time. @param {number} value @param {number} digits */
const rateDigits = (value, digits) => (Math.abs(value) < 1 ? digits + 2 : digits + 1);

/** @param {Told | null} told @returns {Line[]} what was measured; what could not be is left out */
export function measures(told) {
  if (!told?.gravitropism || !told.circumnutation) return [];
  const digits = told.unit === 'mm' ? 2 : 1;
  const per = `${told.unit}/${told.time_unit === 'minute' ? 'min' : told.time_unit}`;
  const { gravitropism, circumnutation } = told;
  const tip = told.tip ?? 'the tip';
  /** @param {string} name @param {number | null | undefined} value @param {(value: number) => string} write @param {string} title @returns {Line[]} */
  const line = (name, value, write, title) => (value === null || value === undefined ? [] : [{ name, value: write(value), title }]);
  return [
    ...line('Distance', gravitropism.distance, (v) => measured(v, digits, told.unit), `The straight way from where ${tip} was first seen to where it was last seen`),
    ...line('Rate', gravitropism.rate, (v) => measured(v, rateDigits(v, digits), per), 'Distance over time'),
    ...line('Angle', gravitropism.angle, (v) => `${v.toFixed(1)}°`, `How far ${tip} bent around the inflection point`),
    ...line('Amplitude', circumnutation.amplitude, (v) => measured(v, digits, told.unit), `Half of how far ${tip} swings from left to right`),
    ...line('Path rate', circumnutation.rate, (v) => measured(v, rateDigits(v, digits), per), `Length of the way on which ${tip} was seen, over the time that this way took`),
  ];
}

/** How many positions the numbers stand on. @param {Told | null} told */
export function basis(told) {
  if (!told?.frames) return '';
  const { seen, lost } = told.frames;
  const leftOut = lost ? `; ${lost === 1 ? 'the one in which it was lost is' : `the ${lost} in which it was lost are`} left out` : '';
  return `${told.tip} was seen in ${seen} of ${seen + lost} frames${leftOut}.`;
}

// @ts-check
/** What charts say in words: to the eye beside the pointer, and to whoever cannot see them. Pure. */
import { LOST, frameAt, indexOf, span } from './chart_data.js';
import { plural } from './words.js';

/** @typedef {import('./chart_data.js').ChartData} ChartData */
/** @typedef {import('./chart_data.js').Series} Series */

const MOST_NAMED = 4;
/** @type {Record<string, string>} */
const SHORT = { seconds: 's', minutes: 'min', hours: 'h' };

/** @param {number} value @param {ChartData} data */
export const length = (value, { unit }) => `${value.toFixed(unit === 'mm' ? 2 : 1)} ${unit}`;

/** A frame's time with the digits that tell it from its neighbour; empty where time is counted in frames. @param {ChartData} data @param {number} frame */
export function timeOf(data, frame) {
  if (data.timeUnit === 'frames') return '';
  const gap = (data.time(data.last) - data.time(data.first)) / Math.max(1, data.last - data.first);
  const digits = Math.min(4, Math.max(0, Math.ceil(-Math.log10(gap))));
  return `${data.time(frame).toFixed(digits)} ${SHORT[data.timeUnit]}`;
}

/** A marker in one frame. @param {ChartData} data @param {number} frame @param {Series | null} one @param {'x' | 'y'} axis @returns {string[]} */
export function pointWords(data, frame, one, axis) {
  const at = indexOf(data, frame);
  const when = [`frame ${frame}`, timeOf(data, frame)].filter(Boolean).join(' · ');
  if (at < 0) return [when, 'not traced'];
  if (!one) return [when];
  if (one.quality[at] === LOST) return [one.label, when, 'lost'];
  return [one.label, when, Number.isNaN(one[axis][at]) ? 'not there' : `${axis} ${length(one[axis][at], data)}`];
}

/** @param {ChartData} data */
export const timeTitle = ({ timeUnit }) => (timeUnit === 'frames' ? 'Frame' : `Time in ${timeUnit}`);

/** What the time axis shows. @param {ChartData} data @param {import('./zooming.js').Stretch} shown */
export function shownWords(data, { start, end }) {
  const frames = `rames ${frameAt(data, start)} to ${frameAt(data, end)}`;
  return data.timeUnit === 'frames' ? `F${frames}` : `${timeTitle(data)} · f${frames}`;
}

/** A whole panel for those who cannot see it. @param {ChartData} data @param {'x' | 'y'} axis @returns {string} */
export function summary(data, axis) {
  const { series, frames } = data;
  const title = `${axis} over ${data.timeUnit === 'frames' ? 'frames' : `time in ${data.timeUnit}`}`;
  const last = frames.length - 1;
  const told = series.slice(0, MOST_NAMED).map((one) => {
    const lost = one.quality.reduce((sum, quality) => sum + Number(quality === LOST), 0);
    const [low, high] = span([one], axis, 0, last);
    const where = low > high ? 'was never seen' : `between ${length(low, data)} and ${length(high, data)}`;
    return `${one.label} ${where}${lost ? `, lost in ${plural(lost, 'frame')}` : ''}`;
  });
  const more = series.length > MOST_NAMED ? [`${series.length - MOST_NAMED} more markers`] : [];
  return `${title}, frames ${frames[0]} to ${frames[last]}. ${[...told, ...more].join('; ')}. The table below has all numbers.`;
}

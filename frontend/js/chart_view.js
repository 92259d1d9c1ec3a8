// @ts-check
/** From columns to what a panel draws. Pure. */
import { DOUBTFUL, LOST, extent, frameAt, stretches, within } from './chart_data.js';
import { thinned } from './thinning.js';
import { fitted } from './zooming.js';

/** @typedef {import('./chart_data.js').ChartData} ChartData */
/** @typedef {import('./chart_data.js').Series} Series */
/** @typedef {import('./zooming.js').Stretch} Stretch */

/** @param {ChartData} data @returns {Stretch} */
export const wholeOf = (data) => ({ start: data.time(data.first), end: Math.max(data.time(data.last), data.time(data.first) + 1e-9) });

/** No stretch is shorter than four frames. @param {ChartData} data */
export function leastOf(data) {
  const { start, end } = wholeOf(data);
  return ((end - start) * Math.min(4, data.last - data.first)) / Math.max(1, data.last - data.first);
}

/** A stretch that can be looked at; null where it would be the whole. @param {Stretch} wanted @param {ChartData} data @returns {Stretch | null} */
export function inside(wanted, data) {
  const whole = wholeOf(data);
  const next = fitted(wanted, whole, leastOf(data));
  return next.start <= whole.start && next.end >= whole.end ? null : next;
}

/** The same frames, where their time is now told otherwise, say in hours. @param {Stretch} shown @param {ChartData} before @param {ChartData} now @returns {Stretch} */
export function recounted({ start, end }, before, now) {
  const frames = [frameAt(before, start), frameAt(before, end)];
  const [from, to] = frames.map(now.time);
  return frames.every((frame) => now.time(frame) === before.time(frame)) ? { start, end } : { start: from, end: to };
}

/** Pixels that share a line's lowest and highest point: a line is as thick, and half as many points are drawn in half the time. */
const THICK = 2;

/**
 * One axis of the markers in a stretch of time, with no more points than `pixels` can show.
 * @param {ChartData} data @param {Series[]} series @param {'x' | 'y'} axis @param {Stretch} shown @param {number} pixels
 * @returns {{lines: import('./panel.js').Drawn[], lost: import('./panel.js').Strips, doubtful: import('./panel.js').Strips, y: [number, number]}}
 */
export function viewOf(data, series, axis, shown, pixels) {
  const [from, to] = within(data, shown.start, shown.end);
  const pixel = (shown.end - shown.start) / Math.max(1, pixels);
  return {
    lines: series.map((one) => ({ ...thinned(data.times, one[axis], from, to, pixels / THICK), color: one.color })),
    lost: stretches(data, series, LOST, pixel),
    doubtful: stretches(data, series, DOUBTFUL, pixel),
    y: extent(data, series, axis, from, to),
  };
}

// @ts-check
/**
 * What the charts show, as columns: one array of numbers per marker and axis, since ten thousand frames of twenty
 * markers are four hundred thousand of them. Pure.
 *
 * @typedef {import('./state.js').State} State
 * @typedef {{label: string, color: string, x: Float64Array, y: Float64Array, quality: Uint8Array}} Series  positions in
 *   `unit`, NaN where the marker was not seen; one of the qualities below for each frame
 * @typedef {{series: Series[], frames: Int32Array, times: Float64Array, unit: 'px' | 'mm', timeUnit: string,
 *   first: number, last: number, time: (frame: number) => number}} ChartData  `frames` rising, `times` those frames'
 *   times in `timeUnit`; `first` and `last` bound the trim, which may be longer than what is traced so far
 */
import { PALETTE, rulerMillimetres } from './geometry.js';
import { clockOf } from './pace.js';
import { DOUBTFUL_PX, isLost } from './spans.js';
import { hasResults, trimEnd, trimStart } from './state.js';
import { calibrationWords } from './words.js';

export const ABSENT = 0;
export const SEEN = 1;
export const DOUBTFUL = 2;
export const LOST = 3;

/** Traced frames inside the trim, in order. @param {State} state @returns {number[]} */
export function tracedFrames(state) {
  const [start, end] = [trimStart(state), trimEnd(state)];
  return Object.keys(state.frames).map(Number).filter((frame) => frame >= start && frame <= end).sort((a, b) => a - b);
}

/** All markers that are no rulers, in millimetres where that is known. @param {State} state @returns {ChartData | null} */
export function chartData(state) {
  if (!hasResults(state)) return null;
  const scale = calibrationWords(state).pxPerMm;
  const frames = tracedFrames(state);
  const [first, last] = [trimStart(state), trimEnd(state)];
  const [time, timeUnit] = timeScale(Number(state.metadata?.fpm ?? 0), last, first, clockOf(frames, state.times));
  /** @type {Map<string, Series | null>} null: a ruler */
  const series = new Map();
  frames.forEach((frame, at) => {
    for (const marker of state.frames[frame]) {
      let one = series.get(marker.label);
      if (one === undefined) {
        one = rulerMillimetres(marker.label) === null ? empty(marker.label, marker.color ?? PALETTE[0], frames.length) : null;
        series.set(marker.label, one);
      }
      if (one === null) continue;
      one.quality[at] = isLost(marker) ? LOST : (marker.err ?? 0) > DOUBTFUL_PX ? DOUBTFUL : SEEN;
      if (one.quality[at] === LOST) continue;
      one.x[at] = marker.x / (scale ?? 1);
      one.y[at] = marker.y / (scale ?? 1);
    }
  });
  return {
    series: /** @type {Series[]} */ ([...series.values()].filter((one) => one !== null)),
    frames: Int32Array.from(frames), times: Float64Array.from(frames, time),
    unit: scale === null ? 'px' : 'mm', timeUnit, first, last, time,
  };
}

/** @param {string} label @param {string} color @param {number} length @returns {Series} */
const empty = (label, color, length) =>
  ({ label, color, x: new Float64Array(length).fill(NaN), y: new Float64Array(length).fill(NaN), quality: new Uint8Array(length) });

/**
 * The unit in which a movie's length is easy to read, and each frame's time in it; by `clock` where frames are not
 * evenly apart.
 * @param {number} fpm @param {number} last @param {number} first @param {((frame: number) => number) | null} [clock]
 * @returns {[(frame: number) => number, string]}
 */
export function timeScale(fpm, last, first, clock = null) {
  if (!(fpm > 0)) return [(frame) => frame, 'frames'];
  const at = clock ?? ((frame) => frame);
  /** @param {number} frame */
  const minutes = (frame) => (at(frame) - at(first)) / fpm;
  if (minutes(last) > 300) return [(frame) => minutes(frame) / 60, 'hours'];
  if (minutes(last) < 3) return [(frame) => minutes(frame) * 60, 'seconds'];
  return [minutes, 'minutes'];
}

/** The frame inside the trim that is nearest to a time; frames need not be evenly apart. @param {ChartData} data @param {number} time */
export function frameAt(data, time) {
  let [low, high] = [data.first, data.last];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (data.time(middle) <= time) low = middle;
    else high = middle;
  }
  return Math.abs(data.time(high) - time) < Math.abs(time - data.time(low)) ? high : low;
}

/** Place of the last value that is not above `wanted`; -1 if all are. @param {ArrayLike<number>} rising @param {number} wanted */
export function placeOf(rising, wanted) {
  let [low, high] = [0, rising.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Where a frame stands in the columns; -1 if it is not traced. @param {ChartData} data @param {number} frame */
export function indexOf(data, frame) {
  const place = placeOf(data.frames, frame);
  return data.frames[place] === frame ? place : -1;
}

/** The columns' part whose lines touch a stretch of time, both ends included; empty as [0, -1]. @param {ChartData} data @param {number} start @param {number} end @returns {[number, number]} */
export function within(data, start, end) {
  const to = placeOf(data.times, end) + 1;
  return [Math.max(0, placeOf(data.times, start)), Math.min(data.times.length - 1, to)];
}

/**
 * Lowest and highest of what was seen; Infinity and -Infinity if nothing was. @param {Series[]} series
 * @param {'x' | 'y'} axis @param {number} from place in the columns @param {number} to @returns {[number, number]}
 */
export function span(series, axis, from, to) {
  let low = Infinity;
  let high = -Infinity;
  for (const one of series) {
    const values = one[axis];
    for (let at = from; at <= to; at += 1) {
      if (values[at] < low) low = values[at];
      if (values[at] > high) high = values[at];
    }
  }
  return [low, high];
}

/** What an axis shows: the same with a little air, so that a marker that stands still does not seem to jump. @param {ChartData} data @param {Series[]} series @param {'x' | 'y'} axis @param {number} from @param {number} to @returns {[number, number]} */
export function extent(data, series, axis, from, to) {
  const [low, high] = span(series, axis, from, to);
  if (low > high) return [0, 1];
  const air = Math.max((high - low) * 0.08, data.unit === 'mm' ? 0.1 : 0.5);
  return [low - air, high + air];
}

/**
 * Stretches of time in which any of the markers has this quality; each frame reaches half the way to its neighbours.
 * Stretches closer than `least` are one, so there are no more of them than a screen can show.
 * @param {ChartData} data @param {Series[]} series @param {number} quality @param {number} least a time
 * @returns {{x0: number[], x1: number[]}}
 */
export function stretches(data, series, quality, least) {
  const { times } = data;
  /** @type {{x0: number[], x1: number[]}} */
  const found = { x0: [], x1: [] };
  for (let at = 0; at < times.length; at += 1) {
    if (!series.some((one) => one.quality[at] === quality)) continue;
    const before = at > 0 ? (times[at] - times[at - 1]) / 2 : 0;
    const after = at + 1 < times.length ? (times[at + 1] - times[at]) / 2 : 0;
    const open = found.x1.length - 1;
    if (open >= 0 && times[at] - before - found.x1[open] <= least) found.x1[open] = times[at] + after;
    else {
      found.x0.push(times[at] - before);
      found.x1.push(times[at] + after);
    }
  }
  return found;
}

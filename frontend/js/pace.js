// @ts-check
/**
 * How evenly a movie's frames follow each other by its own timestamps. Pure; the same rule as the server's, whose rates
 * stand beside the chart.
 */

/** @param {number[]} values */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * When a frame was taken, counted in usual gaps between frames from the first one. Null where the pace is even, and
 * where the clock cannot be trusted: frame numbers then tell the same.
 * @param {number[]} frames rising @param {Record<number, number>} times seconds of each frame that has a timestamp
 * @returns {((frame: number) => number) | null}
 */
export function clockOf(frames, times) {
  if (frames.length < 3 || frames.some((frame) => times[frame] === undefined)) return null;
  const gaps = frames.slice(1).map((frame, n) => (times[frame] - times[frames[n]]) / (frame - frames[n]));
  const usual = median(gaps);
  if (gaps.some((gap) => gap <= 0) || gaps.every((gap) => Math.abs(gap - usual) <= Math.max(0.004, 0.1 * usual))) return null;
  const counted = frames.map((frame) => (times[frame] - times[frames[0]]) / usual);
  return (frame) => {
    let known = frames.length - 1;
    for (let low = 0, high = known; low <= high;) { // the last known frame that is not later
      const middle = (low + high) >> 1;
      if (frames[middle] <= frame) low = (known = middle) + 1;
      else high = middle - 1;
    }
    if (frames[known] > frame) known = 0;
    return counted[known] + frame - frames[known];
  };
}

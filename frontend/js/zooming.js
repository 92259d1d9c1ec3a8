// @ts-check
/**
 * Which stretch of time is looked at. Pure.
 *
 * @typedef {{start: number, end: number}} Stretch
 */

/** The nearest stretch of at least `least` that lies inside `whole`; `whole` itself where it would be no smaller. @param {Stretch} wanted @param {Stretch} whole @param {number} least @returns {Stretch} */
export function fitted(wanted, whole, least) {
  const [start, end] = [Math.min(wanted.start, wanted.end), Math.max(wanted.start, wanted.end)];
  const length = Math.max(end - start, least);
  if (length >= whole.end - whole.start) return whole;
  const from = Math.min(Math.max((start + end - length) / 2, whole.start), whole.end - length);
  return { start: from, end: from + length };
}

/** Closer (`factor` below 1) or farther, with `centre` staying where it is. @param {Stretch} shown @param {number} centre @param {number} factor @returns {Stretch} */
export const scaled = (shown, centre, factor) =>
  ({ start: centre - (centre - shown.start) * factor, end: centre + (shown.end - centre) * factor });

/** @param {Stretch} shown @param {number} by @returns {Stretch} */
export const moved = (shown, by) => ({ start: shown.start + by, end: shown.end + by });

// @ts-check
/** The path as a panel draws it. Pure. */

/** @typedef {import('./chart_data.js').Series} Series */

/**
 * Two ranges that show both spans with as many units per pixel on one axis as on the other.
 * @param {[number, number]} x @param {[number, number]} y @param {{width: number, height: number}} box
 * @returns {[[number, number], [number, number], number]} the third: units per pixel
 */
export function equal(x, y, box) {
  if (x[0] > x[1] || y[0] > y[1]) return equal([0, 1], [0, 1], box);
  const perPixel = Math.max((x[1] - x[0]) / box.width, (y[1] - y[0]) / box.height, 1e-6) * 1.12;
  /** @param {[number, number]} range @param {number} pixels @returns {[number, number]} */
  const around = ([low, high], pixels) => [(low + high - perPixel * pixels) / 2, (low + high + perPixel * pixels) / 2];
  return [around(x, box.width), around(y, box.height), perPixel];
}

/**
 * The way through the picture without steps that nobody can see, so without any turning point moved by more.
 * @param {Series} one @param {number} from @param {number} to @param {number} least the shortest step @returns {import('./thinning.js').Line}
 */
export function traced(one, from, to, least) {
  /** @type {import('./thinning.js').Line} */
  const line = { xs: [], ys: [] };
  let [x, y] = [NaN, NaN];
  for (let at = from; at <= to; at += 1) {
    const gone = Number.isNaN(one.x[at]);
    if (gone ? Number.isNaN(x) : Math.hypot(one.x[at] - x, one.y[at] - y) < least) continue;
    line.xs.push(gone ? x : one.x[at]);
    line.ys.push(gone ? NaN : one.y[at]);
    [x, y] = [one.x[at], one.y[at]];
  }
  return line;
}

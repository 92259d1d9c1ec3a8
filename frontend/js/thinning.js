// @ts-check
/**
 * Few points that draw the same line as many. Pure.
 *
 * @typedef {{xs: number[], ys: number[]}} Line  NaN in `ys` breaks it
 */

/**
 * A marker's line over `from` to `to`: everything where it is short, else the lowest and the highest point of each of
 * `buckets` parts, so no extreme is lost. The line is broken wherever the marker was not seen in between.
 * @param {Float64Array} times rising @param {Float64Array} values NaN where the marker was not seen
 * @param {number} from @param {number} to both included @param {number} buckets @returns {Line}
 */
export function thinned(times, values, from, to, buckets) {
  /** @type {Line} */
  const line = { xs: [], ys: [] };
  let unseen = 0; // since the last point of the line
  let drawn = false;
  /** @param {number} at */
  const point = (at) => {
    line.xs.push(times[at]);
    line.ys.push(values[at]);
    drawn = true;
  };
  const broken = () => {
    if (unseen > 0 && drawn) {
      line.xs.push(line.xs[line.xs.length - 1]);
      line.ys.push(NaN);
    }
    unseen = 0;
  };
  const width = Math.max(1, Math.ceil((to - from + 1) / Math.max(1, buckets)));
  for (let start = from; start <= to; start += width) {
    const end = Math.min(to, start + width - 1);
    let [low, high] = [-1, -1];
    for (let at = start; at <= end; at += 1) {
      if (Number.isNaN(values[at])) continue;
      if (low < 0 || values[at] < values[low]) low = at;
      if (high < 0 || values[at] > values[high]) high = at;
    }
    const [one, other] = low < high ? [low, high] : [high, low];
    for (let at = start; at <= end; at += 1) {
      if (Number.isNaN(values[at])) unseen += 1;
      else if (at === one || at === other || at === from || at === to) {
        broken();
        point(at);
      }
    }
  }
  return line;
}

/** Points that no line reaches, since their neighbours are missing. @param {Line} line @returns {Line} */
export function lonely({ xs, ys }) {
  /** @type {Line} */
  const dots = { xs: [], ys: [] };
  ys.forEach((value, at) => {
    if (Number.isNaN(value) || !Number.isNaN(ys[at - 1] ?? NaN) || !Number.isNaN(ys[at + 1] ?? NaN)) return;
    dots.xs.push(xs[at]);
    dots.ys.push(value);
  });
  return dots;
}

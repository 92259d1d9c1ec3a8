import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DOUBTFUL, LOST, SEEN, chartData, extent, frameAt, indexOf, placeOf, stretches, within } from '../../../frontend/js/chart_data.js';
import { inside, leastOf, recounted, viewOf, wholeOf } from '../../../frontend/js/chart_view.js';
import { pointWords, shownWords, summary } from '../../../frontend/js/chart_words.js';
import { equal, traced } from '../../../frontend/js/path_view.js';
import { initialState, reduce } from '../../../frontend/js/state.js';
import { lonely, thinned } from '../../../frontend/js/thinning.js';
import { fitted, moved, scaled } from '../../../frontend/js/zooming.js';

const RULERS = [{ label: 'Ruler 0mm', x: 0, y: 0 }, { label: 'Ruler 10mm', x: 100, y: 0 }];

/** A traced movie of which Apex goes 10 px to the right per frame. */
function state(frames, metadata = {}) {
  const loaded = { type: 'movie/loaded', metadata: { status: 'tracing completed', total_frames: 10, fpm: 1, ...metadata }, frames, replace: true, size: { width: 640, height: 480 }, now: 0 };
  return reduce(initialState('m'), loaded);
}
const apex = (frame, more = {}) => ({ label: 'Apex', x: frame * 10, y: 5, color: '#0072B2', status: 1, err: 0.1, ...more });
const straight = (count, more = () => ({})) =>
  Object.fromEntries(Array.from({ length: count }, (_, frame) => [frame, [apex(frame, more(frame)), ...RULERS]]));

test('a chart shows millimetres over minutes, no rulers, and nothing where a marker was lost (B29)', () => {
  const data = chartData(state(straight(6, (frame) => (frame === 2 ? { status: 0 } : frame === 4 ? { err: 3 } : {}))));
  assert.deepEqual([data.unit, data.timeUnit, data.series.map((one) => one.label)], ['mm', 'minutes', ['Apex']]);
  const [one] = data.series;
  assert.deepEqual([...one.quality], [SEEN, SEEN, LOST, SEEN, DOUBTFUL, SEEN]);
  assert.deepEqual([...one.x], [0, 1, NaN, 3, 4, 5]);
  assert.deepEqual([...data.times], [0, 1, 2, 3, 4, 5]);
  assert.equal(data.last, 9, 'the trim may be longer than the trace');
});

test('without rulers a chart shows pixels, without an interval frames', () => {
  const frames = Object.fromEntries([0, 1, 2].map((frame) => [frame, [apex(frame)]]));
  const data = chartData(state(frames, { fpm: 0, trim_start_frame: 1 }));
  assert.deepEqual([data.unit, data.timeUnit, [...data.frames], [...data.series[0].x]], ['px', 'frames', [1, 2], [10, 20]]);
  assert.equal(chartData(state({})), null);
});

test('a marker that comes later has no place before', () => {
  const frames = { 0: [apex(0)], 1: [apex(1), { label: 'Leaf', x: 7, y: 8 }], 2: [apex(2)] };
  const leaf = chartData(state(frames)).series[1];
  assert.deepEqual([[...leaf.quality], [...leaf.x]], [[0, SEEN, 0], [NaN, 7, NaN]]);
});

test('frames are found by time, and times by frame, at both ends and between', () => {
  const data = chartData(state(straight(6)));
  assert.deepEqual([-3, 0.4, 0.6, 7.2, 99].map((time) => frameAt(data, time)), [0, 0, 1, 7, 9]);
  assert.deepEqual([0, 5, 6].map((frame) => indexOf(data, frame)), [0, 5, -1]);
  assert.deepEqual([-1, 0, 2.5, 9].map((value) => placeOf([0, 2, 3], value)), [-1, 0, 1, 2]);
  assert.deepEqual(within(data, 1.5, 2.5), [1, 3], 'lines reach beyond both edges');
  assert.deepEqual(within(data, -5, 50), [0, 5]);
});

test('few points draw the line of many: no peak is lost, nor are the ends', () => {
  const times = Float64Array.from({ length: 10_000 }, (_, at) => at);
  const values = Float64Array.from(times, (at) => Math.sin(at / 900));
  values[4321] = 5;
  values[7654] = -5;
  const line = thinned(times, values, 0, 9999, 400);
  assert.ok(line.xs.length <= 802, `${line.xs.length} points`);
  assert.deepEqual([line.xs[0], line.xs.at(-1)], [0, 9999]);
  assert.ok(line.xs.includes(4321) && line.xs.includes(7654));
  assert.ok(line.xs.every((time, at) => at === 0 || time > line.xs[at - 1]), 'in order, each once');
  assert.ok(line.xs.every((time, at) => line.ys[at] === values[time]));
});

test('a line is broken where a marker was lost, however few points are drawn', () => {
  const times = Float64Array.from({ length: 1000 }, (_, at) => at);
  const values = Float64Array.from(times, (at) => (at === 500 || (at > 700 && at < 720) ? NaN : at));
  for (const buckets of [2000, 50, 3]) {
    const { xs, ys } = thinned(times, values, 0, 999, buckets);
    const breaks = xs.filter((_, at) => Number.isNaN(ys[at]));
    assert.equal(breaks.length, 2, `${buckets} parts`);
    assert.ok(breaks[0] < 500 && breaks[1] >= 499 && breaks[1] <= 700);
  }
});

test('a sighting between two losses is drawn as a dot', () => {
  const times = Float64Array.from([0, 1, 2, 3, 4, 5]);
  const line = thinned(times, Float64Array.from([1, NaN, 7, NaN, 4, 5]), 0, 5, 100);
  assert.deepEqual(lonely(line), { xs: [0, 2], ys: [1, 7] });
});

test('ten thousand frames in which every other one is lost stay few points', () => {
  const times = Float64Array.from({ length: 10_000 }, (_, at) => at);
  const values = Float64Array.from(times, (at) => (at % 2 ? NaN : at));
  assert.ok(thinned(times, values, 0, 9999, 500).xs.length <= 2 * 1002);
  const data = { times, series: [{ quality: Uint8Array.from(times, (at) => (at % 2 ? LOST : SEEN)) }] };
  assert.equal(stretches(data, data.series, LOST, 20).x0.length, 1);
});

test('lost stretches reach half the way to the frames that were seen', () => {
  const data = chartData(state(straight(6, (frame) => (frame === 2 || frame === 3 ? { status: 0 } : {}))));
  assert.deepEqual(stretches(data, data.series, LOST, 0.01), { x0: [1.5], x1: [3.5] });
  assert.deepEqual(stretches(data, [], LOST, 0.01), { x0: [], x1: [] }, 'of markers that are shown');
});

test('an axis shows what is looked at, with air, also around a single value', () => {
  const data = chartData(state(straight(6)));
  const [low, high] = extent(data, data.series, 'x', 2, 4);
  assert.ok(low < 2 && low > 1.5 && high > 4 && high < 4.5);
  assert.deepEqual(extent(data, data.series, 'y', 0, 5).map((value) => value.toFixed(1)), ['0.4', '0.6']);
  assert.deepEqual(extent(data, [], 'x', 0, 5), [0, 1]);
});

test('looking closer keeps inside the movie and stops at four frames', () => {
  const whole = { start: 0, end: 100 };
  assert.deepEqual(fitted(scaled(whole, 10, 0.5), whole, 4), { start: 5, end: 55 });
  assert.deepEqual(fitted({ start: -20, end: 30 }, whole, 4), { start: 0, end: 50 });
  assert.deepEqual(fitted({ start: 80, end: 130 }, whole, 4), { start: 50, end: 100 });
  assert.deepEqual(fitted({ start: 50, end: 50 }, whole, 4), { start: 48, end: 52 });
  assert.deepEqual(fitted({ start: 60, end: 40 }, whole, 4), { start: 40, end: 60 }, 'a drag to the left');
  assert.equal(fitted(scaled(whole, 50, 3), whole, 4), whole);
  assert.deepEqual(moved({ start: 1, end: 2 }, 3), { start: 4, end: 5 });
  const data = chartData(state(straight(6)));
  assert.deepEqual([wholeOf(data), leastOf(data)], [{ start: 0, end: 9 }, 4]);
});

test('what is looked at follows its frames into another unit, and into a shorter trim', () => {
  const [minutes, hours] = [chartData(state(straight(6))), chartData(state(straight(6), { fpm: 0.01 }))];
  assert.equal(hours.timeUnit, 'hours');
  const there = recounted({ start: 2, end: 7 }, minutes, hours);
  assert.deepEqual([frameAt(hours, there.start), frameAt(hours, there.end)], [2, 7]);
  assert.deepEqual(recounted({ start: 2.25, end: 7 }, minutes, chartData(state(straight(3)))), { start: 2.25, end: 7 }, 'not rounded at every poll');
  const shorter = chartData(state(straight(6), { trim_end_frame: 6 }));
  assert.deepEqual(inside({ start: 3, end: 8 }, shorter), { start: 1, end: 6 });
  assert.equal(inside({ start: -1, end: 30 }, shorter), null);
});

test('what a panel draws has a line per marker that is shown', () => {
  const data = chartData(state(straight(6)));
  const view = viewOf(data, data.series, 'x', { start: 1, end: 3 }, 300);
  assert.deepEqual(view.lines, [{ xs: [1, 2, 3, 4], ys: [1, 2, 3, 4], color: '#0072B2' }]);
  assert.deepEqual(viewOf(data, [], 'x', { start: 1, end: 3 }, 300).lines, []);
});

test('a chart is told in words, with units and what was lost', () => {
  const data = chartData(state(straight(6, (frame) => (frame === 2 ? { status: 0 } : {})), { fpm: 0.5 }));
  assert.equal(summary(data, 'x'), 'x over time in minutes, frames 0 to 5. Apex between 0.00 mm and 5.00 mm, lost in 1 frame. The table below has all numbers.');
  assert.deepEqual(pointWords(data, 3, data.series[0], 'x'), ['Apex', 'frame 3 · 6 min', 'x 3.00 mm']);
  assert.deepEqual(pointWords(data, 2, data.series[0], 'x'), ['Apex', 'frame 2 · 4 min', 'lost']);
  assert.equal(shownWords(data, { start: 2, end: 6 }), 'Time in minutes · frames 1 to 3');
  assert.deepEqual(pointWords(data, 8, null, 'x'), ['frame 8 · 16 min', 'not traced']);
});

test('the path has equal scales, whatever the shape of its box', () => {
  for (const box of [{ width: 700, height: 300 }, { width: 200, height: 300 }]) {
    const [x, y, perPixel] = equal([10, 30], [0, 5], box);
    assert.ok(Math.abs((x[1] - x[0]) / box.width - (y[1] - y[0]) / box.height) < 1e-12);
    assert.ok(x[0] < 10 && x[1] > 30 && y[0] < 0 && y[1] > 5);
    assert.ok(Math.abs(perPixel * box.width - (x[1] - x[0])) < 1e-9);
  }
  assert.ok(equal([Infinity, -Infinity], [Infinity, -Infinity], { width: 100, height: 100 })[0].every(Number.isFinite));
});

test('the path leaves out steps that nobody can see, and is broken where the marker was lost', () => {
  const one = { x: Float64Array.from([0, 0.1, 5, NaN, NaN, 5, 9]), y: new Float64Array(7).fill(1) };
  assert.deepEqual(traced(one, 0, 6, 0.5), { xs: [0, 5, 5, 5, 9], ys: [1, 1, NaN, 1, 1] });
});

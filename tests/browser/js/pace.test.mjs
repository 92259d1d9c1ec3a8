import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frameAt, timeScale } from '../../../frontend/js/chart_data.js';
import { clockOf } from '../../../frontend/js/pace.js';

const UNEVEN = { 2: 0.1, 3: 0.2, 4: 0.3, 5: 0.6, 6: 0.7 };

test('a frame that came late is as late in the chart (B03)', () => {
  const clock = clockOf([2, 3, 4, 5, 6], UNEVEN);
  assert.deepEqual([2, 3, 4, 5, 6].map((frame) => Math.round(clock(frame))), [0, 1, 2, 5, 6]);
  const [time, unit] = timeScale(1, 6, 2, clock);
  assert.equal(unit, 'minutes');
  assert.deepEqual([2, 4, 5, 6].map((frame) => Math.round(time(frame))), [0, 2, 5, 6]);
});

test('a click finds the frame that is nearest in time', () => {
  const data = { series: [], unit: 'px', timeUnit: 'minutes', first: 2, last: 6, time: clockOf([2, 3, 4, 5, 6], UNEVEN) };
  assert.deepEqual([-1, 0.6, 3.4, 3.6, 9].map((time) => frameAt(data, time)), [2, 3, 4, 5, 6]);
});

test('frames between and beyond those that have a time follow at the usual pace', () => {
  const clock = clockOf([0, 10, 20], { 0: 0, 10: 1, 20: 5 });
  assert.equal(clock(5), 5 + clock(0));
  assert.equal(clock(25), clock(20) + 5);
});

test('an even clock, a broken one and a missing time leave it to the frame numbers', () => {
  assert.equal(clockOf([0, 1, 2, 3], { 0: 0, 1: 0.0334, 2: 0.0667, 3: 0.1 }), null);
  assert.equal(clockOf([0, 1, 2, 3], { 0: 0, 1: 0.1, 2: 0.05, 3: 0.9 }), null);
  assert.equal(clockOf([0, 1, 2, 3], { 0: 0, 1: 0.1, 3: 0.9 }), null);
  assert.deepEqual(timeScale(0, 9, 0)[1], 'frames');
  assert.equal(timeScale(60, 600, 0)[0](600), 10);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extent, ticks } from '../../../frontend/js/chart.js';
import { fpmOf, intervalOf } from '../../../frontend/js/settings.js';
import { trackpoint } from '../../../frontend/js/saver.js';

test('ticks are round numbers inside the range', () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(0.13, 0.52, 4), [0.2, 0.3, 0.4, 0.5]);
  assert.deepEqual(ticks(-7, 3, 2), [-5, 0]);
});

test('a range of one value still has a height', () => {
  const [low, high] = extent([{ label: 'a', color: '', values: [{ frame: 0, x: 5, y: 5, lost: false }] }], 'x');
  assert.ok(low < 5 && high > 5);
  assert.deepEqual(extent([], 'x'), [0, 1]);
});

test('an interval survives the way to frames per minute and back', () => {
  for (const [count, unit] of [[2, 'min'], [30, 's'], [1.5, 'h'], [0.5, 's']]) {
    assert.deepEqual(intervalOf(fpmOf(count, unit)), { count: String(count), unit });
  }
});

test('a marker is sent with its identity and without what only the page knows', () => {
  const sent = trackpoint({ x: 1, y: 2, label: 'Apex', marker_id: 'k', color: '#d55e00', status: 1, err: 0.3, placed: 'user' });
  assert.deepEqual(JSON.parse(JSON.stringify(sent)), { x: 1, y: 2, label: 'Apex', marker_id: 'k', color: '#d55e00', status: 1, placed: 'user' });
});

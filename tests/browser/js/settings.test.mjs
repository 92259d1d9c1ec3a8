import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fpmOf, intervalOf } from '../../../frontend/js/settings.js';
import { trackpoint } from '../../../frontend/js/saver.js';

test('an interval survives the way to frames per minute and back', () => {
  for (const [count, unit] of [[2, 'min'], [30, 's'], [1.5, 'h'], [0.5, 's']]) {
    assert.deepEqual(intervalOf(fpmOf(count, unit)), { count: String(count), unit });
  }
});

test('a marker is sent with its identity and without what only the page knows', () => {
  const sent = trackpoint({ x: 1, y: 2, label: 'Apex', marker_id: 'k', color: '#d55e00', status: 1, err: 0.3, placed: 'user' });
  assert.deepEqual(JSON.parse(JSON.stringify(sent)), { x: 1, y: 2, label: 'Apex', marker_id: 'k', color: '#d55e00', status: 1, placed: 'user' });
});

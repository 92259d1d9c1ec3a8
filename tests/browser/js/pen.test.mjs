import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitting } from '../../../frontend/js/pen.js';

/** Every letter is seven pixels wide, the sign for left out letters too. */
const pen = (font = '12px x') => ({ font, asked: 0, measureText(text) { this.asked += 1; return { width: 7 * Array.from(text).length }; } });

test('a name in the frame covers no more than its room, and says that something is left out', () => {
  assert.equal(fitting(pen(), 'Apex', 160), 'Apex');
  assert.equal(fitting(pen(), 'x'.repeat(22), 160), 'x'.repeat(22), 'it just fits');
  assert.equal(fitting(pen(), 'x'.repeat(23), 160), `${'x'.repeat(21)}…`);
  assert.equal(fitting(pen(), `${'x'.repeat(20)} yyyy`, 160), `${'x'.repeat(20)}…`, 'no space before it');
  assert.equal(fitting(pen(), '🌱'.repeat(100), 160), `${'🌱'.repeat(21)}…`, 'no letter is cut in two');
  assert.equal(fitting(pen(), 'xxx', 1), '…');
  assert.equal(fitting(pen(), '', 160), '');
});

test('a film measures a name once for each font', () => {
  const [one, other] = [pen('1'), pen('2')];
  for (let frame = 0; frame < 1000; frame += 1) fitting(one, 'W'.repeat(100), 160);
  assert.ok(one.asked < 10, `${one.asked} times`);
  fitting(other, 'W'.repeat(100), 160);
  assert.ok(other.asked > 0);
});

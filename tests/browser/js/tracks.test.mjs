import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOST, NOWHERE, SEEN, Tracks } from '../../../frontend/js/tracks.js';

const marker = (label, x, more = {}) => ({ label, x, y: 10, status: 1, color: '#009E73', ...more });
const made = (frames, total = 5) => {
  const tracks = new Tracks();
  tracks.update(frames, total);
  return tracks;
};

test('each marker has its way, with lost places and gaps told apart', () => {
  const [apex, leaf] = made({ 0: [marker('Apex', 1), marker('Leaf', 9)], 1: [marker('Apex', 2, { status: 0 })], 3: [marker('Apex', 4)] }).all;
  assert.deepEqual([...apex.state], [SEEN, LOST, NOWHERE, SEEN, NOWHERE]);
  assert.deepEqual([apex.label, apex.color, apex.count, apex.x[3]], ['Apex', '#009E73', 3, 4]);
  assert.equal(leaf.count, 1);
});

test('only what changed is read again', () => {
  const frames = { 0: [marker('Apex', 1)], 1: [marker('Apex', 2)] };
  const tracks = made(frames);
  const { version } = tracks;
  let read = 0;
  const watched = new Proxy([marker('Apex', 7)], { get: (target, name) => { read += 1; return Reflect.get(target, name); } });
  tracks.update({ ...frames, 1: watched }, 5);
  assert.ok(read > 0);
  assert.equal(tracks.all[0].x[1], 7);
  const before = read;
  tracks.update({ ...frames, 1: watched }, 5);
  assert.equal(read, before);
  assert.equal(tracks.version, version + 1, 'a copy of the same frames is no change');
});

test('a marker that was removed or renamed leaves no way behind', () => {
  const tracks = made({ 0: [marker('Apex', 1)], 1: [marker('Apex', 2), marker('Leaf', 3)] });
  tracks.update({ 0: [marker('Tip', 1)], 1: [marker('Tip', 2)] }, 5);
  assert.deepEqual(tracks.all.map(({ label }) => label), ['Tip']);
  tracks.update({}, 5);
  assert.deepEqual(tracks.all, []);
});

test('frames beyond the end are left out, and another length begins anew', () => {
  const tracks = made({ 7: [marker('Apex', 1)] });
  assert.deepEqual(tracks.all, []);
  tracks.update({ 7: [marker('Apex', 1)] }, 10);
  assert.equal(tracks.all[0].state[7], SEEN);
});

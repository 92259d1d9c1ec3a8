import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as s from '../../../frontend/js/state.js';

const SIZE = { width: 640, height: 480 };
const METADATA = { status: 'ready', total_frames: 300 };
const marker = (label, x, y, more = {}) => ({ label, x, y, color: '#d55e00', ...more });

/** A page that holds the lease of a ready movie. */
function editing(metadata = METADATA, frames = {}) {
  return run(s.initialState('m1'),
    { type: 'movie/loaded', metadata, frames, replace: true, size: SIZE, now: 0 },
    { type: 'lease/held', id: 'L', expiresAt: 900 });
}
const run = (state, ...actions) => actions.reduce(s.reduce, state);
const at = (state, label, frame = state.frame) => s.markersAt(state, frame).find((m) => m.label === label);

test('an untouched movie shows its default markers on the first frame of the trim and nowhere else', () => {
  const state = editing({ ...METADATA, trim_start_frame: 5 });
  assert.equal(s.markersAt(state, 5).length, 3);
  assert.equal(s.markersAt(state, 6).length, 0);
  assert.equal(state.frame, 5, 'the page opens there');
});

test('marking a later frame does not take the default markers from the first', () => {
  const state = run(editing(), { type: 'frame/shown', frame: 9 }, { type: 'marker/added', label: 'Leaf', x: 1, y: 2 });
  assert.equal(s.markersAt(state, 0).length, 3);
  assert.deepEqual(s.unsavedFrames(state), [9]);
});

test('a drag of many moves is undone in one step and done again in one', () => {
  let state = editing();
  for (let x = 60; x <= 100; x += 10) state = run(state, { type: 'marker/moved', label: 'Apex', x, y: 400, gesture: 'd1' });
  assert.equal(at(state, 'Apex').x, 100);
  state = run(state, { type: 'undone' });
  assert.deepEqual([at(state, 'Apex').x, at(state, 'Apex').y], [50, 430]);
  state = run(state, { type: 'redone' });
  assert.equal(at(state, 'Apex').x, 100);
});

test('two gestures are undone one after the other', () => {
  let state = run(editing(),
    { type: 'marker/moved', label: 'Apex', x: 60, y: 400, gesture: 'a' },
    { type: 'marker/moved', label: 'Apex', x: 70, y: 400, gesture: 'b' });
  state = run(state, { type: 'undone' });
  assert.equal(at(state, 'Apex').x, 60);
});

test('undo goes to the frame where the slip happened', () => {
  const state = run(editing(), { type: 'marker/moved', label: 'Apex', x: 60, y: 1, gesture: 'a' }, { type: 'frame/shown', frame: 40 }, { type: 'undone' });
  assert.equal(state.frame, 0);
});

test('an edit after an undo forgets what could have been done again', () => {
  const state = run(editing(), { type: 'marker/deleted', label: 'Apex' }, { type: 'undone' }, { type: 'marker/deleted', label: 'Ruler 0mm' });
  assert.equal(state.redo.length, 0);
});

test('a page without the lease changes nothing', () => {
  const state = run(editing(), { type: 'lease/denied', reason: 'other', name: 'Bo', since: 1, message: '' });
  for (const action of [
    { type: 'marker/moved', label: 'Apex', x: 1, y: 1 }, { type: 'marker/added', label: 'New', x: 1, y: 1 },
    { type: 'marker/deleted', label: 'Apex' }, { type: 'marker/renamed', from: 'Apex', to: 'Tip' }, { type: 'undone' },
  ]) assert.deepEqual(s.reduce(state, action).edits, {}, action.type);
});

test('a marker moved by a person counts as seen again', () => {
  const state = run(editing(METADATA, { 0: [marker('Apex', 1, 1, { status: 0, err: 9 })] }), { type: 'marker/moved', label: 'Apex', x: 2, y: 2 });
  assert.deepEqual([at(state, 'Apex').status, at(state, 'Apex').err, at(state, 'Apex').placed], [1, 0, 'user']);
});

test('a point placed by hand on a traced frame can be left to the next trace, whatever marker it is', () => {
  const traced = marker('Apex', 9, 9, { placed: 'trace', undeletable: true });
  const state = run(editing(METADATA, { 0: [marker('Apex', 5, 5, { undeletable: true })], 1: [traced], 2: [traced] }),
    { type: 'frame/shown', frame: 2 });
  assert.equal(s.isByHand(state, at(state, 'Apex')), false);
  assert.ok(at(run(state, { type: 'marker/deleted', label: 'Apex' }), 'Apex'), 'what a trace found stays');
  const placed = run(state, { type: 'marker/moved', label: 'Apex', x: 20, y: 20 });
  assert.equal(s.isByHand(placed, at(placed, 'Apex')), true);
  assert.equal(at(run(placed, { type: 'marker/deleted', label: 'Apex' }), 'Apex'), undefined);
  const first = run(placed, { type: 'frame/shown', frame: 0 }, { type: 'marker/moved', label: 'Apex', x: 6, y: 6 });
  assert.equal(s.isByHand(first, at(first, 'Apex')), false, 'from there the trace begins');
});

test('an undeletable marker stays, and no label is used twice', () => {
  let state = editing(METADATA, { 0: [marker('Apex', 1, 1, { undeletable: true })] });
  state = run(state, { type: 'marker/deleted', label: 'Apex' }, { type: 'marker/added', label: 'Apex', x: 5, y: 5 });
  assert.equal(s.markersAt(state, 0).length, 1);
  assert.equal(at(state, 'Apex').x, 1);
});

test('a marker that moves while a save is under way stays unsaved', () => {
  let state = run(editing(), { type: 'marker/moved', label: 'Apex', x: 60, y: 1, gesture: 'a' });
  const { markers, revision } = state.edits[0];
  state = run(state, { type: 'save/started', frame: 0 }, { type: 'marker/moved', label: 'Apex', x: 70, y: 1, gesture: 'b' },
    { type: 'save/done', frame: 0, revision, markers, now: 5 });
  assert.deepEqual(s.unsavedFrames(state), [0]);
  assert.equal(at(state, 'Apex').x, 70);
  const later = state.edits[0];
  state = run(state, { type: 'save/done', frame: 0, revision: later.revision, markers: later.markers, now: 6 });
  assert.deepEqual(s.unsavedFrames(state), []);
  assert.equal(at(state, 'Apex').x, 70);
});

test('edits survive the loss of the lease, until they are discarded', () => {
  let state = run(editing(), { type: 'marker/moved', label: 'Apex', x: 60, y: 1 }, { type: 'lease/lost', at: 9 });
  assert.deepEqual(s.unsavedFrames(state), [0]);
  assert.equal(at(state, 'Apex').x, 60);
  assert.equal(s.canEdit(state), false);
  state = run(state, { type: 'edits/discarded' });
  assert.equal(at(state, 'Apex').x, 50);
});

test('edits that a reload kept are unsaved edits again', () => {
  const before = run(editing(), { type: 'marker/moved', label: 'Apex', x: 60, y: 1 });
  const after = run(editing(), { type: 'edits/restored', edits: JSON.parse(JSON.stringify(before.edits)) });
  assert.equal(at(after, 'Apex').x, 60);
  assert.deepEqual(s.unsavedFrames(after), [0]);
});

test('a rename reaches every frame, saved or not, and can be undone', () => {
  let state = editing(METADATA, { 0: [marker('Apex', 1, 1)], 1: [marker('Apex', 2, 2)] });
  state = run(state, { type: 'marker/moved', label: 'Apex', x: 9, y: 9 }, { type: 'marker/renamed', from: 'Apex', to: 'Tip' });
  assert.equal(at(state, 'Tip', 0).x, 9);
  assert.equal(at(state, 'Tip', 1).x, 2);
  assert.equal(state.selected, 'Tip');
  state = run(state, { type: 'undone' });
  assert.equal(at(state, 'Apex', 1).x, 2);
});

test('renaming a default marker keeps the other two', () => {
  const state = run(editing(), { type: 'marker/renamed', from: 'Apex', to: 'Tip' });
  assert.deepEqual(s.markersAt(state, 0).map((m) => m.label), ['Tip', 'Ruler 0mm', 'Ruler 10mm']);
});

test('default markers are stored before they are traced, and only then', () => {
  const state = editing();
  assert.deepEqual(s.unsavedFrames(state), []);
  assert.deepEqual(s.unsavedFrames(run(state, { type: 'markers/kept' })), [0]);
});

test('a trace that was accepted hides what it will compute anew and hands the lease over', () => {
  const frames = Object.fromEntries([0, 1, 2, 3].map((n) => [n, [marker('Apex', n, n)]]));
  const state = run(editing({ ...METADATA, status: 'tracing completed' }, frames), { type: 'trace/asked', source: 1, attempt: 0 }, { type: 'trace/accepted', source: 1, now: 10 });
  assert.deepEqual(Object.keys(state.frames), ['0', '1']);
  assert.equal(state.lease.kind, 'handed');
  assert.ok(s.isTracing(state));
  assert.equal(s.canEdit(state), false);
});

test('while the request for a trace is unanswered nothing can be edited', () => {
  assert.equal(s.canEdit(run(editing(), { type: 'trace/asked', source: 0, attempt: 0 })), false);
  assert.equal(s.canEdit(run(editing(), { type: 'trace/asked', source: 0, attempt: 0 }, { type: 'trace/refused', message: 'no' })), true);
});

test('a lost worker that will be replaced reads as tracing, one that will not as failed', () => {
  const lost = { ...METADATA, status: 'tracing failed', failure_code: 'worker_lost' };
  assert.equal(s.isTracing(editing({ ...lost, resuming: true })), true);
  assert.equal(s.isTracing(editing({ ...lost, resuming: false })), false);
});

test('results exist exactly when a trace has found a marker on a frame inside the trim and after its first', () => {
  const found = [marker('Apex', 1, 1, { placed: 'trace' })];
  const placed = [marker('Apex', 1, 1, { placed: 'user' })];
  /** @param {any} frames @param {any} [more] */
  const there = (frames, more = {}) => {
    const state = editing({ ...METADATA, ...more }, frames);
    return [s.hasResults(state), s.hasPositions(state)];
  };
  assert.deepEqual(there({ 0: found }), [false, false]);
  assert.deepEqual(there({ 0: found, 1: [] }), [false, false]);
  assert.deepEqual(there({ 0: placed, 1: found }), [true, true]);
  assert.deepEqual(there({ 0: placed, 1: placed }), [false, true], 'a marker placed ahead of the first trace is no result');
  assert.deepEqual(there({ 0: placed, 1: [placed[0], found[0]] }), [true, true]);
  assert.deepEqual(there({ 0: found, 1: found }, { trim_start_frame: 1 }), [false, false]);
  assert.deepEqual(there({ 0: found, 5: found }, { trim_end_frame: 4 }), [false, false]);
});

test('a marker placed ahead of the first trace asks for no second one', () => {
  const placed = [marker('Apex', 1, 1, { placed: 'user' })];
  const state = run(editing(METADATA, { 0: placed, 7: placed }), { type: 'save/done', frame: 7, revision: 1, markers: placed, now: 1 });
  assert.equal(state.metadata.needs_retracing, undefined);
});

test('saving an edit of a traced movie says that it needs tracing again', () => {
  const one = [marker('Apex', 1, 1)];
  const state = run(editing({ ...METADATA, status: 'tracing completed' }, { 0: one, 1: one }), { type: 'save/done', frame: 0, revision: 1, markers: one, now: 1 });
  assert.equal(state.metadata.needs_retracing, 1);
});

test('no frame outside the movie can be shown', () => {
  assert.equal(run(editing(), { type: 'frame/shown', frame: 1000 }).frame, 299);
  assert.equal(run(editing(), { type: 'frame/shown', frame: -3 }).frame, 0);
  assert.equal(run(editing(), { type: 'frame/shown', frame: Number.NaN }).frame, 0);
});

test('a new marker wears a colour that no other wears', () => {
  const state = run(editing(), { type: 'marker/added', label: 'Leaf', x: 1, y: 1 });
  const colors = s.markersAt(state, 0).map((m) => m.color);
  assert.equal(new Set(colors.map((color) => color.toUpperCase())).size, 4);
});

test('a misspelt action is a fault, not silence', () => {
  assert.throws(() => s.reduce(editing(), { type: 'marker/movd' }));
});

test('a movie that is turned gives its markers, its results and the lease away, and cannot be undone', () => {
  const frames = { 0: [marker('Apex', 1, 1)], 1: [marker('Apex', 2, 2)] };
  let state = run(editing(METADATA, frames), { type: 'marker/moved', label: 'Apex', x: 9, y: 9 });
  state = run(state, { type: 'movie/turned', metadata: { rotation: 90, status: 'processing' } });
  assert.deepEqual([state.frames, state.edits, state.undo, state.lease.kind], [{}, {}, [], 'handed']);
  assert.ok(s.isWaiting(state));
  assert.equal(s.canEdit(state), false);
});

test('edits made before somebody else turned the movie are not kept: their places mean nothing now', () => {
  let state = run(editing({ ...METADATA, rotation: 0 }), { type: 'marker/moved', label: 'Apex', x: 9, y: 9 });
  state = run(state, { type: 'movie/loaded', metadata: { ...METADATA, rotation: 0 }, frames: {}, replace: true, now: 1 });
  assert.deepEqual(s.unsavedFrames(state), [0], 'a mere reading keeps them');
  state = run(state, { type: 'movie/loaded', metadata: { ...METADATA, rotation: 180 }, frames: {}, replace: true, now: 2 });
  assert.deepEqual([s.unsavedFrames(state), state.undo], [[], []]);
});

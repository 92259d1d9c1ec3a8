import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem, asProblem, kindOf, retryAfterSeconds, retryReason } from '../../../frontend/js/problem.js';
import { lostRuns, lostSentence, nextDoubtful, spans } from '../../../frontend/js/spans.js';
import { initialState, reduce } from '../../../frontend/js/state.js';
import * as w from '../../../frontend/js/words.js';

const NOW = 1_800_000_000;
const run = (state, ...actions) => actions.reduce(reduce, state);
const loaded = (metadata, frames = {}) =>
  run(initialState('m1'), { type: 'movie/loaded', metadata: { total_frames: 300, status: 'ready', ...metadata }, frames, replace: true, size: { width: 640, height: 480 }, now: NOW });

test('a page that nobody disturbs says nothing', () => {
  assert.equal(w.banner(run(loaded({}), { type: 'lease/held', id: 'L', expiresAt: NOW + 900 }), NOW), null);
});

test('view-only names the holder and since when', () => {
  const said = w.banner(run(loaded({}), { type: 'lease/denied', reason: 'other', name: 'Bo Field', since: NOW - 600, message: '' }), NOW);
  assert.match(said.text, /^Bo Field has been editing this movie since \d.*You can watch and download\./);
  assert.deepEqual(said.actions, []);
});

test('a person\'s own other tab offers to continue here', () => {
  const said = w.banner(run(loaded({}), { type: 'lease/denied', reason: 'own', name: 'Me', since: NOW, message: '' }), NOW);
  assert.deepEqual(said.actions, [{ id: 'continue-here', label: 'Continue here' }]);
});

test('a lost lease is told apart from a server that cannot be reached', () => {
  const edit = [{ type: 'lease/held', id: 'L', expiresAt: NOW + 900 }, { type: 'marker/moved', label: 'Apex', x: 1, y: 1 }];
  const lost = w.banner(run(loaded({}), ...edit, { type: 'lease/lost', at: NOW }), NOW);
  assert.match(lost.text, /moved to another page.*frame 0 are kept here/);
  assert.deepEqual(lost.actions.map((a) => a.id), ['take-back', 'discard']);
  const slow = w.banner(run(loaded({}), ...edit, { type: 'connection/failed', failures: 2 }), NOW);
  assert.equal(slow.text, 'Connection is slow. Your edits are kept; trying again.');
});

test('a right that cannot be renewed is warned of before it ends, with the time', () => {
  const cut = run(loaded({}), { type: 'lease/held', id: 'L', expiresAt: NOW + 200 }, { type: 'connection/failed', failures: 5 });
  assert.match(w.banner(cut, NOW).text, new RegExp(`From ${w.clock(NOW + 200, NOW)} on others may edit this movie. Trying again.`));
});

test('one failure is not worth a word', () => {
  assert.equal(w.banner(run(loaded({}), { type: 'lease/held', id: 'L', expiresAt: NOW }, { type: 'connection/failed', failures: 1 }), NOW), null);
});

const HELD = { type: 'lease/held', id: 'L', expiresAt: NOW + 900 };
const inspected = (trim_start, trim_end, more = {}) => run(loaded({ inspection: { cuts: [44], trim_start, trim_end }, ...more }), HELD);

test('a movie with a promotion card offers the trim that leaves it out (A03)', () => {
  const said = w.banner(inspected(0, 43), NOW);
  assert.match(said.text, /^The picture changes at frame 44;/);
  assert.deepEqual(said.actions[0], { id: 'trim-to-scene', label: 'Trim to frame 43' });
  assert.equal(w.trimOffer(inspected(10, 299)).label, 'Start at frame 10');
  assert.equal(w.trimOffer(inspected(10, 280)).label, 'Trim to frames 10 to 280');
});

test('the offer goes away with the trim, with a refusal, and for those who may not edit', () => {
  assert.equal(w.banner(inspected(0, 43, { trim_end_frame: 43 }), NOW), null);
  assert.equal(w.banner(inspected(0, 43, { trim_end_frame: 30 }), NOW), null);
  assert.equal(w.banner(run(inspected(0, 43), { type: 'trim/refused' }), NOW), null);
  assert.equal(w.trimOffer(loaded({ inspection: { trim_start: 0, trim_end: 43 } })), null);
  assert.equal(w.trimOffer(inspected(null, null)), null);
});

test('a failed trace says the server\'s sentence', () => {
  const said = w.banner(loaded({ status: 'tracing failed', tracing_failure_summary: 'It looks cut off.' }), NOW);
  assert.deepEqual([said.tone, said.text], ['error', 'It looks cut off.']);
});

test('a trace that somebody stopped is no fault', () => {
  const movie = { status: 'tracing failed', failure_code: 'cancelled', tracing_failure_summary: 'It was cancelled.' };
  assert.equal(w.statusWord(movie), 'trace cancelled');
  assert.equal(w.banner(loaded(movie), NOW).tone, 'calm');
});

test('another person\'s trace is named, one\'s own is not', () => {
  const lock = { status: 'tracing', tracking_lock: { active: true, acquired_at: NOW, started_by_user_name: 'Bo Field' } };
  assert.match(w.banner(loaded(lock), NOW).text, /^Bo Field started a trace at .*becomes editable here/);
  assert.equal(w.banner(run(loaded(lock), { type: 'session/opened', user: { user_name: 'Bo Field' } }), NOW), null);
});

test('who may take over what another edits is for the server to say, also if it is their own movie', () => {
  const denied = { type: 'lease/denied', reason: 'other', name: 'Bo', since: NOW, message: '' };
  const seen = (can_take_over) => w.banner(run(loaded({ can_edit: true, can_take_over, user_id: 'me' }), { type: 'session/opened', user: { user_id: 'me' } }, denied), NOW).actions;
  assert.deepEqual(seen(true).map((a) => a.id), ['take-over']);
  assert.deepEqual(seen(false), []);
});

test('time left comes from the pace so far, and only once that says something', () => {
  const lock = (n) => ({ status: 'tracing', tracking_lock: { last_frame_tracked: n } });
  let state = loaded(lock(0));
  assert.equal(w.secondsLeft(state, NOW), null);
  state = run(state, { type: 'movie/loaded', metadata: { ...lock(99), total_frames: 300 }, frames: null, replace: false, now: NOW + 10 });
  assert.ok(Math.abs(w.secondsLeft(state, NOW + 10) - (200 / 99) * 10) < 0.01);
  assert.equal(w.tracingSentence(state, NOW + 10), 'Tracing frame 99 of 299 · 9.9 frames a second · 20 s left');
  assert.match(w.tracingSentence(state, NOW + 1), / · 99 frames a second · 2 s left$/);
});

test('a retrace between placed frames says that it looks back first', () => {
  const lock = { backward_frame: 210, last_frame_tracked: 20, frame_start: 20, frame_end: 299 };
  const state = loaded({ status: 'tracing', total_frames: 300, tracking_lock: lock });
  state.progress = { first: 20, at: NOW, frame: 20 };
  assert.equal(w.tracingSentence(state, NOW), 'Following your later markers backwards: frame 210. Then forwards to frame 299.');
});

test('saving is told truthfully in every state', () => {
  const held = run(loaded({}), { type: 'lease/held', id: 'L', expiresAt: NOW });
  assert.equal(w.savingWord(held), null);
  const edited = run(held, { type: 'marker/moved', label: 'Apex', x: 1, y: 1 });
  assert.equal(w.savingWord(edited).word, 'kept here, not saved yet');
  const saving = run(edited, { type: 'save/started', frame: 0 });
  assert.equal(w.savingWord(saving).word, 'saving');
  const { markers, revision } = edited.edits[0];
  assert.equal(w.savingWord(run(saving, { type: 'save/done', frame: 0, revision, markers, now: NOW })).word, 'saved');
  assert.equal(w.savingWord(run(saving, { type: 'save/failed', message: 'No.' })).word, 'kept here, not saved');
});

test('a tip that was never placed is told before the first trace', () => {
  const held = run(loaded({}), { type: 'lease/held', id: 'L', expiresAt: NOW });
  assert.match(w.traceHint(held), /^Apex is still where a new movie carries it/);
  assert.equal(w.traceHint(run(held, { type: 'marker/moved', label: 'Apex', x: 300, y: 300 })), '');
  assert.equal(w.traceHint(loaded({})), '', 'not for those who only watch');
});

test('after a trace the first frame, from where nothing can be retraced, tells how a marker is corrected', () => {
  const held = run(loaded({}), { type: 'lease/held', id: 'L', expiresAt: NOW });
  const tip = [{ label: 'Apex', x: 300, y: 300, status: 1 }];
  const traced = { ...held, frames: { 0: tip, 1: tip } };
  assert.match(w.traceHint(traced), /Go to the frame where it does, move it there/);
  assert.equal(w.traceHint(run(traced, { type: 'frame/shown', frame: 5 })), '', 'the button is there to be pressed');
  assert.match(w.traceHint({ ...traced, frames: { 1: traced.frames[1] } }), /^Apex was never placed: these results/);
  const later = { ...traced, metadata: { ...traced.metadata, needs_retracing: 1 } };
  assert.match(w.traceHint(later), /^Markers were moved after the last trace/);
  assert.equal(w.banner(later, NOW), null, 'what comes with the first move of a marker must not move the frame');
});

test('an implausible scale is asked about (A19)', () => {
  const rulers = (far) => [{ label: 'Ruler 0mm', x: 10, y: 10 }, { label: 'Ruler 10mm', x: 10 + far, y: 10 }];
  assert.match(w.calibrationWords(loaded({}, { 0: rulers(4) })).text, /1 mm would be 0\.4 px/);
  assert.equal(w.calibrationWords(loaded({}, { 0: rulers(38) })).text, '1 mm = 3.8 px');
  assert.match(w.calibrationWords(loaded({})).text, /Results are in pixels/);
});

test('an interval is said in the unit a person would choose', () => {
  assert.equal(w.interval(0.5), 'one picture every 2 min');
  assert.equal(w.interval(30), 'one picture every 2 s');
  assert.equal(w.interval(1 / 90), 'one picture every 1.5 h');
});

test('runs of frames cover the whole movie, and the next doubtful one goes round', () => {
  const seen = { label: 'Apex', x: 1, y: 1, status: 1, err: 0.2 };
  const frames = { 0: [seen], 1: [seen], 2: [{ ...seen, status: 0 }], 3: [{ ...seen, err: 4 }], 4: [seen] };
  const runs = spans(frames, 7);
  assert.deepEqual(runs.map((r) => [r.from, r.to, r.quality]), [[0, 1, 'tracked'], [2, 2, 'lost'], [3, 3, 'doubtful'], [4, 4, 'tracked'], [5, 6, 'empty']]);
  assert.deepEqual([nextDoubtful(runs, 0), nextDoubtful(runs, 2), nextDoubtful(runs, 3)], [2, 3, 2]);
});

test('a lost marker is told with the frames in which it was lost', () => {
  const point = (label, status) => ({ label, x: 1, y: 1, status });
  const frames = { 5: [point('Apex', 0)], 6: [point('Apex', 0), point('Leaf', 0)], 7: [point('Apex', 1)], 9: [point('Apex', 0)] };
  assert.deepEqual(lostRuns(frames), [{ label: 'Apex', from: 5, to: 6 }, { label: 'Leaf', from: 6, to: 6 }, { label: 'Apex', from: 9, to: 9 }]);
  assert.equal(lostSentence({ label: 'Apex', from: 143, to: 151 }), 'Apex could not be followed from frame 143 to 151. Move it where it should be and retrace from there.');
});

test('a problem\'s kind decides whether to try again', () => {
  const kinds = [[0], [429], [503], [409], [403], [403, 'invalid_api_key'], [404], [400], [422]].map(([status, code]) => kindOf(status, code));
  assert.deepEqual(kinds, ['unreachable', 'unreachable', 'unreachable', 'conflict', 'refused', 'signed-out', 'missing', 'invalid', 'invalid']);
  assert.equal(new Problem({ kind: 'unreachable' }).retryable, true);
  assert.equal(new Problem({ kind: 'conflict' }).retryable, false);
});

test('why a request is repeated is said in the words that the server counts', () => {
  const unreachable = (facts) => retryReason(new Problem({ kind: 'unreachable', ...facts }));
  assert.equal(unreachable({ status: 429 }), 'throttled');
  assert.equal(unreachable({ status: 503 }), 'unavailable');
  assert.equal(retryReason(asProblem(new TypeError('fetch failed'))), 'network');
  assert.equal(retryReason(asProblem(new DOMException('late', 'TimeoutError'))), 'timeout');
});

test('Retry-After is read as seconds and as a date', () => {
  assert.equal(retryAfterSeconds('7', 0), 7);
  assert.equal(retryAfterSeconds('Thu, 01 Jan 1970 00:00:30 GMT', 10_000), 20);
  assert.equal(retryAfterSeconds(null, 0), null);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileName, offered } from '../../../frontend/js/downloads.js';
import { basis, groups } from '../../../frontend/js/measures.js';
import { initialState, reduce } from '../../../frontend/js/state.js';

const TOLD = {
  unit: 'mm', time_unit: 'minute', tip: 'Apex', scale: '', warnings: [],
  gravitropism: { distance: 12.3456, rate: 0.61728, angle: null },
  circumnutation: { amplitude: 4.5, rate: 1.25 }, frames: { seen: 38, lost: 2 },
};
const values = (told) => Object.fromEntries(groups(told).flatMap(({ measures }) => measures.map(({ name, value }) => [name, value])));

test('measures come by the question they answer, with units and digits that are true', () => {
  assert.deepEqual(groups(TOLD).map(({ name }) => name), ['Gravitropism', 'Circumnutation']);
  assert.deepEqual(values(TOLD), { Distance: '12.35 mm', Rate: '0.6173 mm/min', Angle: null, Amplitude: '4.50 mm', 'Path rate': '1.250 mm/min' });
  const rough = { ...TOLD, unit: 'px', time_unit: 'frame', gravitropism: { distance: 80.06, rate: null, angle: 91.26 } };
  assert.deepEqual(values(rough), { Distance: '80.1 px', Rate: null, Angle: '91.3°', Amplitude: '4.5 px', 'Path rate': '1.25 px/frame' });
  assert.deepEqual(groups({ ...TOLD, gravitropism: undefined }), []);
});

test('a measure says how it is computed, or what it lacks', () => {
  const [gravitropism] = groups(TOLD);
  assert.match(gravitropism.measures[2].meaning, /needs a marker called Inflection Point/);
  for (const { measures } of groups(TOLD)) for (const { formula, meaning } of measures) assert.ok(formula && meaning);
});

test('the results say over which frames they are, and what was left out', () => {
  assert.equal(basis(TOLD, 0, 39), 'Over frames 0 to 39. Apex was seen in 38 of 40 frames; the 2 in which it was lost are left out.');
  assert.equal(basis({ ...TOLD, frames: { seen: 39, lost: 1 } }, 0, 39), 'Over frames 0 to 39. Apex was seen in 39 of 40 frames; the one in which it was lost is left out.');
  assert.equal(basis({ ...TOLD, frames: { seen: 40, lost: 0 } }, 0, 39), 'Over frames 0 to 39. Apex was seen in 40 of 40 frames.');
  assert.equal(basis(null, 0, 39), '');
});

const movie = (status, count, more = {}) => reduce(initialState('m'), {
  type: 'movie/loaded', metadata: { status, total_frames: 10, ...more }, replace: true, size: { width: 640, height: 480 }, now: 0,
  frames: Object.fromEntries(Array.from({ length: count }, (_, frame) => [frame, [{ label: 'Apex', x: 1, y: 1 }]])),
});

test('files are offered exactly when there is something in them, and words say why not (A16)', () => {
  const traced = { movie_traced_url: 'there' };
  assert.deepEqual(offered(movie('ready', 1)), { table: false, movie: null, words: 'There is nothing to download before the movie is traced.' });
  assert.equal(offered(movie('tracing', 5, traced)).table, false);
  assert.match(offered(movie('tracing', 5, traced)).words, /when the trace has ended/);
  assert.deepEqual(offered(movie('tracing completed', 10, traced)), { table: true, movie: 'there', words: '' });
  assert.match(offered(movie('tracing completed', 10)).words, /made by the next trace/);
});

test('what was placed by hand ahead of a trace can be taken home, and is called that (A16)', () => {
  const state = movie('ready', 3);
  for (const markers of Object.values(state.frames)) markers[0].placed = 'user';
  const { table, movie: film, words } = offered(state);
  assert.deepEqual([table, film], [true, null]);
  assert.match(words, /not traced yet.*placed by hand/);
});

test('after a retrace that failed the page says what is left (A16)', () => {
  const kept = offered(movie('tracing failed', 4, { movie_traced_url: 'old' }));
  assert.deepEqual([kept.table, kept.movie], [true, 'old']);
  assert.match(kept.words, /tables reach frame 3.*movie is that of the trace before/);
  const gone = offered(movie('tracing failed', 1));
  assert.equal(gone.table, false);
  assert.match(gone.words, /taken the place of what was there before/);
});

test('a picture has a name that every system takes', () => {
  assert.equal(fileName('Bean 3: gravi/tropism?', 'charts.png'), 'Bean 3 gravi tropism charts.png');
  assert.equal(fileName('..  ', 'charts.png'), 'movie charts.png');
  assert.equal(fileName('Spitze ä \u0000\n豆', 'charts.png'), 'Spitze ä 豆 charts.png');
  assert.ok(fileName('x'.repeat(500), 'charts.png').length < 100);
});

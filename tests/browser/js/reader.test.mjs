import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MovieReader } from '../../../frontend/js/reader.js';
import { createStore, initialState } from '../../../frontend/js/state.js';

globalThis.document = { baseURI: 'http://lab.test/' };
const TOTAL = 2000;
const MARKERS = 20;

/** A server with a long traced movie; `on` is called before its answer number n is given. */
function served(on = async () => {}) {
  const server = { status: 'tracing completed', label: 'Apex', asked: [] };
  globalThis.fetch = async (url) => {
    const query = new URL(url).searchParams;
    const [from, count] = [Number(query.get('frame_start')), Number(query.get('frame_count'))];
    server.asked.push([from, count]);
    const frames = {};
    for (let frame = from; frame < Math.min(from + count, TOTAL); frame += 1) {
      frames[frame] = { markers: Array.from({ length: MARKERS }, (_, n) => ({ label: `${server.label} ${n}`, x: frame, y: n, status: 1 })) };
    }
    const metadata = { status: server.status, total_frames: TOTAL, frame_width: 640, frame_height: 480 };
    await on(server.asked.length, server);
    return new Response(JSON.stringify({ error: false, metadata, frames }));
  };
  return server;
}

/** A page that has just opened. @param {object} [more] */
function page({ onFirst = async () => {} } = {}) {
  const store = createStore(initialState('m1'));
  const seen = [];
  store.subscribe((state, before) => state.frames !== before.frames && seen.push(Object.keys(state.frames).length));
  return { store, seen, reader: new MovieReader({ store, onFirst }) };
}

test('a long movie can be used after its first part, and grows in few steps to the whole', async () => {
  const server = served();
  let firstAt = -1;
  const { store, seen, reader } = page({ onFirst: async () => { firstAt = server.asked.length; } });
  await reader.readAll();
  assert.equal(firstAt, 1);
  assert.equal(seen[0], 300);
  assert.ok(seen.length <= 4, `shown in ${seen.join()}`);
  assert.equal(seen.at(-1), TOTAL);
  assert.ok(server.asked.slice(1).every(([, count]) => count * MARKERS <= 12_000), 'no answer holds the page up');
  assert.deepEqual(store.state.frames[1999][3], { label: 'Apex 3', x: 1999, y: 3, status: 1 });
});

test('a later reading takes nothing away before it is through', async () => {
  const server = served();
  const { seen, reader } = page();
  await reader.readAll();
  seen.length = 0;
  server.label = 'Tip';
  await reader.readAll();
  assert.deepEqual(seen, [TOTAL]);
});

test('what was saved while the movie was read is newer than what is read', async () => {
  const mine = [{ label: 'Apex 0', x: 7, y: 7, status: 1 }];
  const { store, reader } = page();
  served(async (n) => {
    if (n !== 2) return;
    store.dispatch({ type: 'lease/held', id: 'L', expiresAt: 900 });
    store.dispatch({ type: 'save/started', frame: 400 });
    store.dispatch({ type: 'save/done', frame: 400, revision: 1, markers: mine, now: 1 });
  });
  await reader.readAll();
  assert.deepEqual(store.state.frames[400], mine);
  assert.equal(store.state.frames[401].length, MARKERS);
});

test('a marker renamed while the movie was read has its new name everywhere', async () => {
  const { store, reader } = page();
  served(async (n, server) => {
    if (n !== 2) return;
    server.label = 'Tip';
    reader.renamed();
  });
  await reader.readAll();
  assert.equal(Object.values(store.state.frames).filter((markers) => !markers[0].label.startsWith('Tip')).length, 0);
});

test('a trace that starts while the movie is read hides what it will compute anew', async () => {
  const { store, reader } = page();
  served(async (n) => {
    if (n !== 2) return;
    store.dispatch({ type: 'lease/held', id: 'L', expiresAt: 900 });
    store.dispatch({ type: 'trace/asked', source: 10, attempt: 0 });
    store.dispatch({ type: 'trace/accepted', source: 10, now: 1 });
  });
  await reader.readAll();
  assert.equal(Object.keys(store.state.frames).length, 11);
  assert.equal(store.state.metadata.status, 'tracing');
});

test('one frame can be read again by itself', async () => {
  const server = served();
  const { store, reader } = page();
  await reader.readAll();
  server.label = 'Copied';
  await reader.readFrame(5);
  assert.deepEqual(server.asked.at(-1), [5, 1]);
  assert.deepEqual([store.state.frames[5][0].label, store.state.frames[6][0].label], ['Copied 0', 'Apex 0']);
});

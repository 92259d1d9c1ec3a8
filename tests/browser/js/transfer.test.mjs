import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { uploadFile } from '../../../frontend/js/api.js';
import { Transfer } from '../../../frontend/js/transfer.js';
import { turn } from '../../../frontend/js/turn.js';

// What a browser has and Node has not: a page, a server and a store behind it, a worker that sums.
let asked = [];
let server = {};
let store = (request) => request.onload();
let released = [];
globalThis.document = { baseURI: 'http://page.test/upload', hidden: true };
Object.defineProperty(globalThis, 'navigator', { value: { sendBeacon: (_, body) => released.push(body.get('analysis_lease_id')) } });
globalThis.fetch = async (url) => {
  const name = new URL(url).pathname.split('/').at(-1);
  asked.push(name);
  return Response.json(...(await server[name]()));
};
globalThis.Worker = class {
  postMessage() { queueMicrotask(() => this.onmessage({ data: { hex: 'f00d' } })); }
  terminate() {}
};
globalThis.XMLHttpRequest = class {
  status = 204;
  upload = {};
  open() {}
  send() { asked.push('sent'); queueMicrotask(() => store(this)); }
  abort() { this.onabort(); }
};

const fine = (more = {}) => [{ error: false, ...more }, { status: 200 }];
const refused = (status, message) => [{ error: true, message, code: 'x' }, { status }];

beforeEach(() => {
  asked = [];
  released = [];
  store = (request) => request.onload();
  server = {
    'new-movie': () => fine({ movie_id: 'm1', presigned_post: { url: 'http://store.test', fields: {} } }),
    'process-upload': () => fine(),
    'get-movie-metadata': () => fine({ metadata: { status: 'ready', total_frames: 3 } }),
  };
});

function transferOf(file = new File(['movie'], 'a.mp4')) {
  const stages = [];
  const transfer = new Transfer({ file, details: { title: 'a', research_use: 0, credit_by_name: 0 }, onChange: ({ stage }) => stages.at(-1) !== stage && stages.push(stage) });
  return { transfer, stages };
}

test('a file goes its way', async () => {
  const { transfer, stages } = transferOf();
  await transfer.run();
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(stages, ['hash', 'send', 'check', 'ready']);
});

test('whoever stops while the bytes are on their way leaves nothing at the server, and may begin again', async () => {
  const { transfer } = transferOf();
  store = () => transfer.stop();
  await transfer.run();
  assert.equal(transfer.stage, 'stopped');
  assert.deepEqual(asked, ['new-movie', 'sent']);
  store = (request) => request.onload();
  transfer.stage = 'waiting';
  await transfer.run();
  assert.equal(asked.filter((name) => name === 'process-upload').length, 1);
});

test('what the server has cannot be stopped any more: nobody is told that nothing was kept', async () => {
  const { transfer, stages } = transferOf();
  server['process-upload'] = () => {
    transfer.stop();
    return fine();
  };
  await transfer.run();
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(stages, ['hash', 'send', 'check', 'ready']);
});

test('a file that vanished after it was read is told as that, at once', async () => {
  const file = new File(['movie'], 'a.mp4');
  const { transfer } = transferOf(file);
  store = (request) => {
    file.slice = () => ({ arrayBuffer: async () => { throw new DOMException('gone', 'NotFoundError'); } });
    request.onerror();
  };
  await transfer.run();
  assert.equal(transfer.stage, 'failed');
  assert.match(transfer.problem.message, /cannot be read/);
  assert.deepEqual(asked, ['new-movie', 'sent']);
});

test('a movie that cannot be turned is not held on to', async () => {
  server['acquire-movie-analysis-lease'] = () => fine({ lease_id: 'mine' });
  server['rotate-movie'] = () => refused(409, 'The file is gone.');
  await assert.rejects(turn('m1', 90), /The file is gone/);
  assert.deepEqual(released, ['mine']);
  server['rotate-movie'] = () => fine();
  await turn('m1', 90);
  assert.deepEqual(released, ['mine'], 'turning spends the lease');
});

test('a movie that somebody holds is not turned', async () => {
  server['acquire-movie-analysis-lease'] = () => fine({ lease_id: null, message: 'Bo is editing this movie.' });
  await assert.rejects(turn('m1', 90), /Bo is editing/);
  assert.deepEqual(asked, ['acquire-movie-analysis-lease']);
});

test('a store that is busy is asked again, one that refuses the file is not', async () => {
  for (const [status, retryable] of [[503, true], [429, true], [400, false], [403, false]]) {
    store = (request) => Object.assign(request, { status }).onload();
    await assert.rejects(uploadFile({ url: 'http://store.test', fields: {} }, new File(['x'], 'a'), () => {}, new AbortController().signal), { status, retryable });
  }
});

// What every request says of itself. Run by `node --test`.
import assert from 'node:assert/strict';
import { test } from 'node:test';

globalThis.document = { baseURI: 'http://lab.test/analyze' };
const sent = [];
globalThis.fetch = async (url, init) => {
  sent.push(Object.fromEntries(new Headers(init.headers)));
  return new Response(JSON.stringify({ error: false }), { status: 200 });
};
const api = await import('../../../frontend/js/api.js');

test('each request has an id of its own, and all of one page have its id', async () => {
  await api.whoAmI();
  await api.movieMetadata('m1');
  await api.traceMovie({ movie_id: 'm1' }, 'timeout');
  await api.signOut();
  await api.framePicture('m1', 3, new AbortController().signal);
  assert.equal(sent.length, 5);
  assert.equal(new Set(sent.map((headers) => headers['x-request-id'])).size, 5);
  assert.deepEqual(new Set(sent.map((headers) => headers['x-page-id'])), new Set([sent[0]['x-page-id']]));
  for (const headers of sent) {
    assert.match(headers['x-request-id'], /^[0-9a-f]{16}-\d+$/); // as the server takes ids
    assert.match(headers['x-page-id'], /^[0-9a-f]{16}$/);
    assert.ok(headers['x-request-id'].startsWith(headers['x-page-id']));
  }
  assert.equal(sent[2]['x-retry-reason'], 'timeout');
  assert.equal(sent[2]['content-type'], 'application/json');
});

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Pictures } from '../../../frontend/js/pictures.js';

const WHOLE = 'a whole picture';
let asked = [];
let answer = () => new Response(WHOLE);

// What a browser has and Node has not: a page, a server behind it, and a decoder.
globalThis.document = { baseURI: 'http://page.test/analyze' };
globalThis.fetch = async (url) => {
  asked.push(Number(new URL(url).searchParams.get('frame_number')));
  return answer();
};
globalThis.createImageBitmap = async (blob) => {
  if ((await blob.text()) !== WHOLE) throw new DOMException('cannot be decoded', 'InvalidStateError');
  return { close() {} };
};

/** An archive whose pictures are damaged from `first` on. @param {number} first */
const damaged = (first) => ({
  opened: true,
  open: async () => new Map(),
  read: async (frames) => new Map(frames.map((frame) => [frame, new Blob([frame < first ? WHOLE : 'half a pict'])])),
});

beforeEach(() => {
  asked = [];
  answer = () => new Response(WHOLE);
});

test('a picture that is damaged in the archive comes by itself, once, and is kept', async () => {
  const pictures = new Pictures('m1', damaged(5));
  await pictures.want(4);
  assert.deepEqual(asked, []);
  for (let frame = 5; frame < 45; frame += 1) await pictures.want(frame); // more than are kept unpacked
  await pictures.want(5);
  assert.deepEqual(asked, Array.from({ length: 40 }, (_, n) => n + 5));
});

test('a picture that is damaged wherever it comes from is told as that, not as a server out of reach', async () => {
  answer = () => new Response('half a pict');
  await assert.rejects(new Pictures('m1', damaged(0)).want(7), { kind: 'invalid', retryable: false, message: 'The picture of frame 7 is damaged.' });
  await assert.rejects(new Pictures('m1', null).want(7), { kind: 'invalid' });
});

test('a server that cannot be reached meanwhile is told as that', async () => {
  answer = () => new Response('', { status: 503 });
  await assert.rejects(new Pictures('m1', damaged(0)).want(7), { kind: 'unreachable', retryable: true });
});

test('minutes of film keep no more than their limit, and no request stays behind', async () => {
  let held = 0;
  const open = new Set();
  globalThis.createImageBitmap = async () => {
    const picture = { close: () => open.delete(picture) };
    open.add(picture);
    return picture;
  };
  const large = { opened: true, open: async () => new Map(), read: async (frames) => new Map(frames.map((frame) => [frame, { size: 1 << 20, frame }])) };
  const pictures = new Pictures('m1', /** @type {any} */ (large));
  for (let frame = 0; frame < 3000; frame += 1) {
    pictures.ahead(frame, 1, 60, 3000);
    await pictures.want(frame);
    pictures.pin(frame);
    held = Math.max(held, open.size);
  }
  assert.ok(held <= 40, `${held} unpacked at once`);
  assert.deepEqual(asked, []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, resultsIn, resultsOf } from '../../../frontend/js/tail.js';

const exported = (points, results) => JSON.stringify({ error: false, movie: {}, trackpoint_dicts: points, results });

test('the results of a long export are read without its positions', async () => {
  const points = Array.from({ length: 50_000 }, (_, n) => ({ frame_number: n, label: 'Apex', x: n, y: n }));
  const results = { unit: 'mm', warnings: ['1 mm would be 0.4 px; are the "rulers" right?'], frames: { seen: 9, lost: 1 } };
  assert.deepEqual(await resultsIn(new Response(exported(points, results))), results);
});

test('only the end of an answer is kept, across any pieces', async () => {
  const pieces = Array.from({ length: 100 }, (_, n) => new Uint8Array(10).fill(n));
  const body = new ReadableStream({ start: (sink) => { pieces.forEach((piece) => sink.enqueue(piece)); sink.close(); } });
  const end = await endOf(body, 25);
  assert.equal(end.length, 30);
  assert.equal(end.charCodeAt(29), 99);
});

test('a marker named like a part of the export does not mislead', () => {
  const label = '"results": {"unit": "parsec"}';
  assert.deepEqual(resultsOf(exported([{ label }], { unit: 'px', tip: label })), { unit: 'px', tip: label });
});

test('an answer without results has none', () => {
  assert.equal(resultsOf('{"error": true}'), null);
});

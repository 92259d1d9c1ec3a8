import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fit, imageFromView, viewFromImage } from '../../../frontend/js/geometry.js';
import { MOST, WHOLE, allowed, centred, moved, revealing, shownPart, viewOf, zoomed } from '../../../frontend/js/zoom.js';

const SIZE = { width: 640, height: 480 };
const BOX = { width: 800, height: 700 };
const near = (a, b, by = 1e-6) => assert.ok(Math.hypot(a.x - b.x, a.y - b.y) < by, `${a.x}, ${a.y} is not ${b.x}, ${b.y}`);
const image = (at, zoom, box = BOX) => imageFromView(at, viewOf(zoom, SIZE, box));

test('the whole frame lies where it lay before there was a zoom', () => {
  assert.deepEqual(viewOf(WHOLE, SIZE, BOX), fit(SIZE, BOX));
});

test('what lies under the pointer stays there while one looks closer and farther', () => {
  const at = { x: 300, y: 350 };
  let zoom = WHOLE;
  const under = image(at, zoom);
  for (const factor of [1.5, 2, 1.7, 0.8]) {
    zoom = zoomed(zoom, factor, at, SIZE, BOX);
    near(image(at, zoom), under);
  }
});

test('there is a closest and a farthest', () => {
  assert.equal(zoomed(WHOLE, 1000, { x: 9, y: 9 }, SIZE, BOX).by, MOST);
  const far = zoomed(zoomed(WHOLE, 3, { x: 9, y: 60 }, SIZE, BOX), 0.01, { x: 700, y: 600 }, SIZE, BOX);
  assert.deepEqual(far, { ...WHOLE });
});

test('no edge of the window stays empty where the frame could fill it', () => {
  const zoom = moved(zoomed(WHOLE, 4, { x: 400, y: 350 }, SIZE, BOX), { x: 1e5, y: -1e5 }, SIZE, BOX);
  const view = viewOf(zoom, SIZE, BOX);
  assert.ok(Math.abs(view.left) < 1e-6);
  assert.ok(Math.abs(view.top + SIZE.height * view.scale - BOX.height) < 1e-6);
});

test('a frame lower than the window stays in its middle', () => {
  const flat = { width: 640, height: 120 };
  const zoom = zoomed(WHOLE, 2, { x: 10, y: 300 }, flat, BOX);
  const view = viewOf(zoom, flat, BOX);
  assert.equal(view.top, (BOX.height - 120 * view.scale) / 2);
});

test('the picture follows the hand', () => {
  const zoom = zoomed(WHOLE, 4, { x: 400, y: 350 }, SIZE, BOX);
  const under = image({ x: 400, y: 350 }, zoom);
  near(image({ x: 430, y: 310 }, moved(zoom, { x: 30, y: -40 }, SIZE, BOX)), under);
});

test('the same place is in the middle after the window has changed (A33)', () => {
  const zoom = zoomed(WHOLE, 5, { x: 500, y: 300 }, SIZE, BOX);
  const small = { width: 390, height: 320 };
  near(image({ x: 195, y: 160 }, zoom, small), image({ x: 400, y: 350 }, zoom));
});

test('a place out of sight is brought in, one in sight moves nothing', () => {
  const zoom = zoomed(WHOLE, 4, { x: 100, y: 100 }, SIZE, BOX);
  const away = { x: 600, y: 400 };
  const at = viewFromImage(away, viewOf(revealing(zoom, away, SIZE, BOX), SIZE, BOX));
  assert.ok(at.x >= 0 && at.x <= BOX.width && at.y >= 0 && at.y <= BOX.height);
  const seen = image({ x: 400, y: 350 }, zoom);
  assert.equal(revealing(zoom, seen, SIZE, BOX), zoom);
});

test('the part that is seen is told in pixels of the frame', () => {
  const zoom = centred(zoomed(WHOLE, 4, { x: 400, y: 350 }, SIZE, BOX), { x: 319.5, y: 239.5 }, SIZE, BOX);
  const part = shownPart(viewOf(zoom, SIZE, BOX), SIZE, BOX);
  assert.deepEqual([part.left, part.width], [240, 160]);
  const all = shownPart(viewOf(WHOLE, SIZE, BOX), SIZE, BOX);
  assert.deepEqual(all, { left: 0, top: 0, ...SIZE });
});

test('a zoom out of range is the nearest one in range', () => {
  assert.deepEqual(allowed({ by: 0.2, x: 9, y: -4 }, SIZE, BOX), { ...WHOLE });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as g from '../../../frontend/js/geometry.js';

const SIZE = { width: 640, height: 480 };

test('a stored point has its origin at the lower left and one decimal', () => {
  assert.deepEqual(g.storedFromImage({ x: 12.34, y: 100.06 }, 480), { x: 12.3, y: 379.9 });
});

test('going to stored form and back moves a point by less than a tenth of a pixel', () => {
  for (let i = 0; i < 500; i += 1) {
    const image = { x: (i * 7.137) % 640, y: (i * 3.771) % 480 };
    const back = g.imageFromStored(g.storedFromImage(image, 480), 480);
    assert.ok(Math.abs(back.x - image.x) <= 0.0501 && Math.abs(back.y - image.y) <= 0.0501);
  }
});

test('an untouched movie has its three markers at the agreed image coordinates', () => {
  const image = g.defaultMarkers(SIZE).map((m) => [m.label, m.x, 480 - m.y]);
  assert.deepEqual(image, [['Apex', 50, 50], ['Ruler 0mm', 50, 100], ['Ruler 10mm', 50, 150]]);
});

test('default markers of a very flat movie still lie inside it', () => {
  const flat = { width: 640, height: 90 };
  for (const marker of g.defaultMarkers(flat)) assert.ok(marker.y >= 1 && marker.y <= 90);
});

test('the frame is fitted into a box at one scale and centred', () => {
  const view = g.fit(SIZE, { width: 1000, height: 480 });
  assert.deepEqual(view, { scale: 1, left: 180, top: 0 });
});

test('the centre of the first pixel is drawn half a pixel in, and read back', () => {
  const view = { scale: 2, left: 10, top: 20 };
  assert.deepEqual(g.viewFromImage({ x: 0, y: 0 }, view), { x: 11, y: 21 });
  assert.deepEqual(g.imageFromView({ x: 11, y: 21 }, view), { x: 0, y: 0 });
});

test('an arrow up makes y larger, as an eye expects of a lower-left origin', () => {
  assert.deepEqual(g.nudge({ x: 100, y: 100 }, 'ArrowUp', 1, SIZE), { x: 100, y: 101 });
  assert.deepEqual(g.nudge({ x: 100, y: 100 }, 'ArrowLeft', 10, SIZE), { x: 90, y: 100 });
  assert.deepEqual(g.nudge({ x: 100, y: 100 }, 'Enter', 10, SIZE), { x: 100, y: 100 });
});

test('no key moves a marker out of the frame', () => {
  assert.deepEqual(g.nudge({ x: 3, y: 478 }, 'ArrowLeft', 10, SIZE), { x: 0, y: 478 });
  assert.deepEqual(g.nudge({ x: 3, y: 478 }, 'ArrowUp', 10, SIZE), { x: 3, y: 480 });
  assert.deepEqual(g.nudge({ x: 635, y: 5 }, 'ArrowDown', 10, SIZE), { x: 635, y: 1 });
});

test('a click takes the nearest marker within reach, and none beyond it', () => {
  const points = [{ x: 0, y: 0 }, { x: 10, y: 0 }];
  assert.equal(g.nearest(points, { x: 7, y: 0 }, 20), 1);
  assert.equal(g.nearest(points, { x: 7, y: 40 }, 20), -1);
});

test('a ruler is known by its name in any spelling that a person uses', () => {
  for (const [label, mm] of [['Ruler 0mm', 0], ['ruler10MM', 10], ['Ruler 10.5 mm', 10.5], ['Ruler 2,5mm', 2.5], ['Apex', null], ['Ruler', null]]) {
    assert.equal(g.rulerMillimetres(label), mm, label);
  }
});

test('the scale is the distance of the outermost rulers over the difference of their names', () => {
  const markers = [
    { label: 'Ruler 0mm', x: 100, y: 100 }, { label: 'Ruler 10mm', x: 100, y: 200 }, { label: 'Ruler 20mm', x: 160, y: 180 },
  ];
  assert.equal(g.pixelsPerMillimetre(markers, SIZE), 5);
});

test('rulers that were never moved give no scale', () => {
  const markers = g.defaultMarkers(SIZE);
  assert.equal(g.pixelsPerMillimetre(markers, SIZE), null);
  markers[1] = { ...markers[1], x: 300 };
  assert.equal(g.pixelsPerMillimetre(markers, SIZE), null);
  markers[2] = { ...markers[2], x: 300 };
  assert.equal(g.pixelsPerMillimetre(markers, SIZE), 5);
});

test('the analysis frame has a longer side of 640', () => {
  assert.deepEqual(g.analysisSize(1920, 1080), { width: 640, height: 360 });
  assert.deepEqual(g.analysisSize(480, 640), { width: 480, height: 640 });
});

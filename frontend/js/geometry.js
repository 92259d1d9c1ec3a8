// @ts-check
/**
 * Points, frames and rulers. Pure: no DOM, no state.
 *
 * Three systems meet here and nowhere else:
 *   image   pixels of the analysis frame, origin at the centre of the upper left pixel, y down
 *   stored  what the server keeps and every export shows: origin at the lower left, y up, one decimal
 *   view    CSS pixels of the canvas, origin at its upper left corner
 *
 * @typedef {{x: number, y: number}} Point
 * @typedef {{width: number, height: number}} Size
 * @typedef {{scale: number, left: number, top: number}} View  where the frame lies on the canvas
 * @typedef {{x: number, y: number, label: string, marker_id?: string, color?: string, undeletable?: boolean,
 *   status?: number, err?: number, placed?: string}} Marker  a trackpoint, in stored coordinates
 */

export const LONGER_SIDE = 640;

/** Colour-blind-safe (Okabe and Ito), in the server's order; yellow comes last since it is faint on white. */
export const PALETTE = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#F0E442'];

/** Image coordinates of the markers that an untouched movie starts with. */
const DEFAULTS = [
  { label: 'Apex', x: 50, y: 50 },
  { label: 'Ruler 0mm', x: 50, y: 100 },
  { label: 'Ruler 10mm', x: 50, y: 150 },
];

/** @param {number} value */
export const round1 = (value) => Math.round(value * 10) / 10;

/**
 * The analysis frame of an upright source: the longer side is 640.
 * @param {number} width @param {number} height @returns {Size}
 */
export function analysisSize(width, height) {
  const scale = LONGER_SIDE / Math.max(width, height);
  return { width: Math.round(width * scale), height: Math.round(height * scale) };
}

/** @param {Point} image @param {number} frameHeight @returns {Point} */
export function storedFromImage(image, frameHeight) {
  return { x: round1(image.x), y: round1(frameHeight - image.y) };
}

/** @param {Point} stored @param {number} frameHeight @returns {Point} */
export function imageFromStored(stored, frameHeight) {
  return { x: stored.x, y: frameHeight - stored.y };
}

/** The nearest place inside the frame. @param {Point} image @param {Size} size @returns {Point} */
export function clampToFrame(image, size) {
  return {
    x: Math.min(Math.max(image.x, 0), size.width - 1),
    y: Math.min(Math.max(image.y, 0), size.height - 1),
  };
}

/** The largest centred placing of the frame inside a box. @param {Size} size @param {Size} box @returns {View} */
export function fit(size, box) {
  const scale = Math.min(box.width / size.width, box.height / size.height);
  return { scale, left: (box.width - size.width * scale) / 2, top: (box.height - size.height * scale) / 2 };
}

/** Half a pixel, since image coordinates begin at a pixel's centre. @param {Point} image @param {View} view @returns {Point} */
export function viewFromImage(image, view) {
  return { x: view.left + (image.x + 0.5) * view.scale, y: view.top + (image.y + 0.5) * view.scale };
}

/** @param {Point} at @param {View} view @returns {Point} */
export function imageFromView(at, view) {
  return { x: (at.x - view.left) / view.scale - 0.5, y: (at.y - view.top) / view.scale - 0.5 };
}

/**
 * Index of the point nearest to `at`, or -1 if none is within `reach`.
 * @param {Point[]} points @param {Point} at @param {number} reach
 */
export function nearest(points, at, reach) {
  let best = -1;
  let bestDistance = reach;
  points.forEach((point, index) => {
    const distance = Math.hypot(point.x - at.x, point.y - at.y);
    if (distance <= bestDistance) {
      best = index;
      bestDistance = distance;
    }
  });
  return best;
}

/** What an arrow key does to a stored point: up is up on the screen. @type {Record<string, Point>} */
export const ARROWS = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: 1 },
  ArrowDown: { x: 0, y: -1 },
};

/**
 * A stored point moved by an arrow key, kept inside the frame.
 * @param {Point} stored @param {string} key @param {number} step @param {Size} size @returns {Point}
 */
export function nudge(stored, key, step, size) {
  const by = ARROWS[key];
  if (!by) return stored;
  const moved = { x: stored.x + by.x * step, y: stored.y + by.y * step };
  return storedFromImage(clampToFrame(imageFromStored(moved, size.height), size), size.height);
}

/** @param {Size} size @returns {Marker[]} */
export function defaultMarkers(size) {
  return DEFAULTS.map(({ label, x, y }, index) => ({
    label,
    color: PALETTE[index],
    status: 1,
    ...storedFromImage(clampToFrame({ x, y }, size), size.height),
  }));
}

/** A ruler's place in millimetres, or null for other markers. @param {string} label @returns {number | null} */
export function rulerMillimetres(label) {
  const match = /^ruler\s*(\d+(?:[.,]\d+)?)\s*mm$/i.exec(label.trim());
  return match ? Number(match[1].replace(',', '.')) : null;
}

/** Is a marker where a new movie carries it? @param {Marker} marker @param {Size} size */
export function isOnItsDefault(marker, size) {
  const home = defaultMarkers(size).find((other) => other.label === marker.label);
  return home !== undefined && Math.hypot(home.x - marker.x, home.y - marker.y) < 0.5;
}

/**
 * Pixels per millimetre by the lowest and the highest ruler marker, or null while they do not tell.
 * @param {Marker[]} markers @param {Size} size @returns {number | null}
 */
export function pixelsPerMillimetre(markers, size) {
  const rulers = markers
    .map((marker) => ({ marker, mm: rulerMillimetres(marker.label) }))
    .filter((ruler) => ruler.mm !== null)
    .sort((a, b) => Number(a.mm) - Number(b.mm));
  const low = rulers[0];
  const high = rulers[rulers.length - 1];
  if (rulers.length < 2 || low.mm === high.mm) return null;
  if (isOnItsDefault(low.marker, size) || isOnItsDefault(high.marker, size)) return null;
  const distance = Math.hypot(high.marker.x - low.marker.x, high.marker.y - low.marker.y);
  return distance > 0 ? distance / (Number(high.mm) - Number(low.mm)) : null;
}

/** Frames from 1.3 mm to 64 cm wide: the server's rule (tracer/measures.py). Beyond them is a slip of the hand. */
export const PLAUSIBLE_MM_PER_PX = [0.002, 1];
/** @param {number} pxPerMm */
export const isPlausibleScale = (pxPerMm) => 1 / pxPerMm >= PLAUSIBLE_MM_PER_PX[0] && 1 / pxPerMm <= PLAUSIBLE_MM_PER_PX[1];

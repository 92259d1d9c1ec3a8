// @ts-check
/**
 * Looking closer: how large the frame is drawn and what stands in the middle. Pure.
 *
 * The middle is a part of the frame, not of the window, so that it is the same place after the window has changed.
 *
 * @typedef {import('./geometry.js').Point} Point
 * @typedef {import('./geometry.js').Size} Size
 * @typedef {import('./geometry.js').View} View
 * @typedef {{by: number, x: number, y: number}} Zoom  `by` 1 is the whole frame; x and y are the middle, 0 to 1
 */
import { fit, imageFromView, viewFromImage } from './geometry.js';

export const MOST = 12;
/** One press of a button, one notch of the wheel. */
export const STEP = 1.5;

/** The whole frame. @type {Zoom} */
export const WHOLE = Object.freeze({ by: 1, x: 0.5, y: 0.5 });

/** @param {number} middle @param {number} extent of the frame as drawn @param {number} room */
function within(middle, extent, room) {
  if (extent <= room) return 0.5;
  const half = room / 2 / extent;
  return Math.min(Math.max(middle, half), 1 - half);
}

/** The nearest zoom that leaves no edge of the window empty where the frame could fill it. @param {Zoom} zoom @param {Size} size @param {Size} box @returns {Zoom} */
export function allowed(zoom, size, box) {
  const by = Math.min(Math.max(zoom.by, 1), MOST);
  const scale = fit(size, box).scale * by;
  return { by, x: within(zoom.x, size.width * scale, box.width), y: within(zoom.y, size.height * scale, box.height) };
}

/** Where the frame lies on a canvas of this size. @param {Zoom} zoom @param {Size} size @param {Size} box @returns {View} */
export function viewOf(zoom, size, box) {
  const { by, x, y } = allowed(zoom, size, box);
  const scale = fit(size, box).scale * by;
  return { scale, left: box.width / 2 - x * size.width * scale, top: box.height / 2 - y * size.height * scale };
}

/** The zoom whose view shows `image` at `at`. @param {number} by @param {Point} image @param {Point} at @param {Size} size @param {Size} box */
function showing(by, image, at, size, box) {
  const scale = fit(size, box).scale * by;
  const middle = (/** @type {number} */ pixel, /** @type {number} */ place, /** @type {number} */ room, /** @type {number} */ extent) =>
    (pixel + 0.5 + (room / 2 - place) / scale) / extent;
  return allowed({ by, x: middle(image.x, at.x, box.width, size.width), y: middle(image.y, at.y, box.height, size.height) }, size, box);
}

/** Closer or farther; what lies at `at` stays there. @param {Zoom} zoom @param {number} factor @param {Point} at @param {Size} size @param {Size} box @returns {Zoom} */
export function zoomed(zoom, factor, at, size, box) {
  const by = Math.min(Math.max(zoom.by * factor, 1), MOST);
  return showing(by, imageFromView(at, viewOf(zoom, size, box)), at, size, box);
}

/** The frame moved under the window, in CSS pixels. @param {Zoom} zoom @param {Point} by @param {Size} size @param {Size} box @returns {Zoom} */
export function moved(zoom, by, size, box) {
  const from = { x: box.width / 2, y: box.height / 2 };
  return showing(zoom.by, imageFromView(from, viewOf(zoom, size, box)), { x: from.x + by.x, y: from.y + by.y }, size, box);
}

/** This place of the frame in the middle. @param {Zoom} zoom @param {Point} image @param {Size} size @param {Size} box @returns {Zoom} */
export const centred = (zoom, image, size, box) => showing(zoom.by, image, { x: box.width / 2, y: box.height / 2 }, size, box);

/** Moved no farther than needed for this place to be seen, a little away from the edge. @param {Zoom} zoom @param {Point} image @param {Size} size @param {Size} box @returns {Zoom} */
export function revealing(zoom, image, size, box) {
  const at = viewFromImage(image, viewOf(zoom, size, box));
  const edge = Math.min(48, box.width / 4, box.height / 4);
  const x = Math.min(Math.max(at.x, edge), box.width - edge);
  const y = Math.min(Math.max(at.y, edge), box.height - edge);
  return x === at.x && y === at.y ? zoom : showing(zoom.by, image, { x, y }, size, box);
}

/** The part of the frame that the window shows, in image pixels from the frame's upper left corner. @param {View} view @param {Size} size @param {Size} box */
export function shownPart(view, size, box) {
  const left = Math.max(0, -view.left / view.scale);
  const top = Math.max(0, -view.top / view.scale);
  return {
    left, top,
    width: Math.min(size.width, (box.width - view.left) / view.scale) - left,
    height: Math.min(size.height, (box.height - view.top) / view.scale) - top,
  };
}

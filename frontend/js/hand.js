// @ts-check
/**
 * What a mouse, a pen or fingers do on the frame, told as what is meant by it: take a marker, move the picture, look
 * closer. A plain wheel is left to the page, so that the page can be scrolled from anywhere; with Ctrl, which is also
 * what a pinch on a touchpad sends, it looks closer.
 *
 * @typedef {import('./geometry.js').Point} Point
 * @typedef {{
 *   markerAt: (at: Point) => {label: string, place: Point} | null,
 *   mayEdit: () => boolean,
 *   isCloser: () => boolean,
 *   onMap: (at: Point) => boolean,
 *   select: (label: string) => void,
 *   drag: (label: string, to: Point, gesture: string) => void,
 *   held: (label: string | null) => void,
 *   pan: (by: Point) => void,
 *   zoom: (factor: number, at: Point) => void,
 *   centre: (at: Point) => void,
 * }} Meaning  all places in CSS pixels of the canvas; `onMap`: is there the small map, which moves the picture?
 * @typedef {{kind: 'drag', pointer: number, label: string, grip: Point, home: Point, gesture: string}
 *   | {kind: 'pan' | 'map', pointer: number} | {kind: 'pinch'}} Doing
 */

const NOTCH = 170; // wheel units that double or halve
const LINE = 16; // wheel units in a line, where the wheel counts in lines

export class Hand {
  /** @type {Map<number, Point>} */
  #pointers = new Map();
  /** @type {Doing | null} */
  #doing = null;

  /** @param {HTMLCanvasElement} canvas @param {Meaning} means */
  constructor(canvas, means) {
    this.canvas = canvas;
    this.means = means;
    canvas.addEventListener('pointerdown', (event) => this.#down(event));
    canvas.addEventListener('pointermove', (event) => this.#moved(event));
    for (const end of /** @type {const} */ (['pointerup', 'pointercancel'])) canvas.addEventListener(end, (event) => this.#up(event));
    canvas.addEventListener('touchstart', (event) => this.#touched(event), { passive: false });
    canvas.addEventListener('wheel', (event) => this.#turned(event), { passive: false });
  }

  /** @param {{clientX: number, clientY: number}} event @returns {Point} */
  #at(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** A finger on a marker moves the marker, two fingers look closer; one finger anywhere else scrolls the page. @param {TouchEvent} event */
  #touched(event) {
    const at = this.#at(event.touches[0]);
    const holds = this.means.isCloser() || (this.means.mayEdit() && this.means.markerAt(at) !== null);
    if (event.touches.length > 1 || holds) event.preventDefault();
  }

  /** @param {WheelEvent} event */
  #turned(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const units = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : LINE);
    this.means.zoom(2 ** (-Math.min(NOTCH, Math.max(-NOTCH, units)) / NOTCH), this.#at(event));
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0) return;
    const at = this.#at(event);
    this.#pointers.set(event.pointerId, at);
    if (this.#pointers.size === 2) return this.#startPinch();
    if (this.#doing) return undefined;
    const onMap = this.means.onMap(at);
    const marker = onMap ? null : this.means.markerAt(at);
    if (marker) this.means.select(marker.label);
    if (marker && this.means.mayEdit()) {
      // The marker keeps its distance from the finger, so that taking hold does not move it.
      const grip = { x: marker.place.x - at.x, y: marker.place.y - at.y };
      this.#doing = { kind: 'drag', pointer: event.pointerId, label: marker.label, grip, home: marker.place, gesture: `drag ${event.timeStamp}` };
      this.means.held(marker.label);
    } else if (onMap) {
      this.#doing = { kind: 'map', pointer: event.pointerId };
      this.means.centre(at);
    } else if (this.means.isCloser()) {
      this.#doing = { kind: 'pan', pointer: event.pointerId };
    } else return undefined;
    event.preventDefault();
    return this.canvas.setPointerCapture(event.pointerId);
  }

  #startPinch() {
    // The first finger may have taken a marker on its way to the pinch: that was not meant.
    if (this.#doing?.kind === 'drag') {
      const { label, home, gesture } = this.#doing;
      this.means.drag(label, home, gesture);
      this.means.held(null);
    }
    this.#doing = { kind: 'pinch' };
    for (const pointer of this.#pointers.keys()) this.canvas.setPointerCapture(pointer);
  }

  /** @param {PointerEvent} event */
  #moved(event) {
    const at = this.#at(event);
    const before = this.#pointers.get(event.pointerId);
    if (!before || !this.#doing) {
      if (event.buttons === 0) this.#pointers.delete(event.pointerId); // let go outside the window
      if (event.pointerType === 'mouse') this.canvas.classList.toggle('over-marker', this.means.markerAt(at) !== null);
      return;
    }
    const doing = this.#doing;
    const spread = this.#spread();
    this.#pointers.set(event.pointerId, at);
    if (doing.kind === 'pinch') {
      const next = this.#spread();
      this.means.zoom(next.width / Math.max(1, spread.width), next.middle);
      this.means.pan({ x: next.middle.x - spread.middle.x, y: next.middle.y - spread.middle.y });
    } else if (doing.pointer !== event.pointerId) return;
    else if (doing.kind === 'drag') this.means.drag(doing.label, { x: at.x + doing.grip.x, y: at.y + doing.grip.y }, doing.gesture);
    else if (doing.kind === 'map') this.means.centre(at);
    else this.means.pan({ x: at.x - before.x, y: at.y - before.y });
  }

  /** Of the first two fingers. */
  #spread() {
    const [one, two = one] = [...this.#pointers.values()];
    return { width: Math.hypot(two.x - one.x, two.y - one.y), middle: { x: (one.x + two.x) / 2, y: (one.y + two.y) / 2 } };
  }

  /** @param {PointerEvent} event */
  #up(event) {
    this.#pointers.delete(event.pointerId);
    const doing = this.#doing;
    if (!doing || (doing.kind !== 'pinch' && doing.pointer !== event.pointerId)) return;
    if (doing.kind === 'drag') this.means.held(null);
    // The finger that stays after a pinch goes on to move the picture.
    const [left] = this.#pointers.keys();
    this.#doing = doing.kind === 'pinch' && left !== undefined && this.means.isCloser() ? { kind: 'pan', pointer: left } : null;
  }
}

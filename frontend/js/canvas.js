// @ts-check
/**
 * The frame on its canvas: the picture, the ways of the markers, the markers, the magnifier. Draws what it is told,
 * as near as a person looks, and reports where a marker is dragged to, with mouse, pen or touch alike. How near and
 * at what a person looks is kept here, whatever happens to the movie meanwhile.
 *
 * @typedef {import('./geometry.js').Marker} Marker
 * @typedef {import('./geometry.js').Point} Point
 * @typedef {{picture: ImageBitmap | null, shown: number, size: import('./geometry.js').Size, markers: Marker[],
 *   tracks: import('./tracks.js').Tracks, frame: number, selected: string | null, editable: boolean}} Scene  `shown`: the
 *   frame whose picture it is; it lags behind `frame` while a picture is fetched
 */
import { clampToFrame, imageFromStored, imageFromView, nearest, storedFromImage, viewFromImage } from './geometry.js';
import { Hand } from './hand.js';
import { mapPlace, paintLoupe, paintMap, paintMarker } from './pen.js';
import { Trails } from './trails.js';
import { MOST, STEP, WHOLE, centred, moved, revealing, shownPart, viewOf, zoomed } from './zoom.js';

const REACH = 26;
const PAN_STEP = 0.2; // of what is seen

export class FrameCanvas {
  /** @type {Scene | null} */
  #scene = null;
  #zoom = WHOLE;
  #view = { scale: 1, left: 0, top: 0 };
  #box = { width: 1, height: 1 };
  #queued = false;
  /** @type {string | null} the marker under the finger */
  #held = null;
  #trails = new Trails();

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{onSelect: (label: string) => void, onMove: (label: string, stored: Point, gesture: string) => void,
   *   onHold: (held: boolean) => void,
   *   onZoom: (by: number, most: number) => void}} handlers
   */
  constructor(canvas, { onSelect, onMove, onHold, onZoom }) {
    this.canvas = canvas;
    this.onZoom = onZoom;
    new ResizeObserver(([{ contentRect }]) => {
      this.#box = { width: Math.max(1, contentRect.width), height: Math.max(1, contentRect.height) };
      this.#look(this.#zoom);
    }).observe(canvas);
    new Hand(canvas, {
      markerAt: (at) => this.#markerAt(at),
      mayEdit: () => this.#scene?.editable ?? false,
      isCloser: () => this.#zoom.by > 1,
      onMap: (at) => this.#mapAt(at) !== null,
      select: onSelect,
      drag: (label, to, gesture) => {
        if (!this.#scene) return;
        const { size } = this.#scene;
        onMove(label, storedFromImage(clampToFrame(imageFromView(to, this.#view), size), size.height), gesture);
      },
      held: (label) => {
        this.#held = label;
        onHold(label !== null);
        this.#queue();
      },
      pan: (by) => this.#scene && this.#look(moved(this.#zoom, by, this.#scene.size, this.#box)),
      zoom: (factor, at) => this.#scene && this.#look(zoomed(this.#zoom, factor, at, this.#scene.size, this.#box)),
      centre: (at) => {
        const image = this.#mapAt(at, true);
        if (image && this.#scene) this.#look(centred(this.#zoom, image, this.#scene.size, this.#box));
      },
    });
  }

  /** @param {Scene} scene */
  draw(scene) {
    const before = this.#scene;
    this.#scene = scene;
    const turned = before && (before.size.width !== scene.size.width || before.size.height !== scene.size.height);
    if (turned || !before) this.#look(turned ? WHOLE : this.#zoom);
    if (this.#zoom.by > 1 && before && !this.#held) this.#reveal(before, scene);
    this.#queue();
  }

  /** Nearer or farther, around the chosen marker if it is seen, else around the middle. @param {1 | -1} direction */
  step(direction) {
    if (!this.#scene) return;
    const chosen = this.#scene.markers.find(({ label }) => label === this.#scene?.selected);
    const place = chosen && this.place(chosen);
    const seen = place && place.x >= 0 && place.y >= 0 && place.x <= this.#box.width && place.y <= this.#box.height;
    const at = seen ? place : { x: this.#box.width / 2, y: this.#box.height / 2 };
    this.#look(zoomed(this.#zoom, STEP ** direction, at, this.#scene.size, this.#box));
  }

  /** The whole frame. */
  fit() {
    this.#look(WHOLE);
  }

  /** Look to the right, or down, by steps. @param {number} right @param {number} down */
  pan(right, down) {
    if (!this.#scene) return;
    const by = { x: -right * PAN_STEP * this.#box.width, y: -down * PAN_STEP * this.#box.height };
    this.#look(moved(this.#zoom, by, this.#scene.size, this.#box));
  }

  /** Where a stored point lies on the canvas, in CSS pixels. @param {Point} stored @returns {Point} */
  place(stored) {
    if (!this.#scene) return { x: 0, y: 0 };
    return viewFromImage(imageFromStored(stored, this.#scene.size.height), this.#view);
  }

  /** @param {import('./zoom.js').Zoom} zoom */
  #look(zoom) {
    this.#zoom = zoom.by > 1.001 ? zoom : WHOLE;
    if (this.#scene) this.#view = viewOf(this.#zoom, this.#scene.size, this.#box);
    this.canvas.classList.toggle('closer', this.#zoom.by > 1);
    this.onZoom(this.#zoom.by, MOST);
    this.#queue();
  }

  /** A marker that was just chosen, or moved by key, comes into sight. @param {Scene} before @param {Scene} scene */
  #reveal(before, scene) {
    const marker = scene.markers.find(({ label }) => label === scene.selected);
    if (!marker) return;
    const was = before.frame === scene.frame ? before.markers.find(({ label }) => label === scene.selected) : undefined;
    const nudged = was && marker.placed === 'user' && (was.x !== marker.x || was.y !== marker.y);
    if (before.selected === scene.selected && !nudged) return;
    this.#look(revealing(this.#zoom, imageFromStored(marker, scene.size.height), scene.size, this.#box));
  }

  #queue() {
    if (this.#queued) return;
    this.#queued = true;
    requestAnimationFrame(() => {
      this.#queued = false;
      this.#paint();
    });
  }

  /** @param {Point} at */
  #markerAt(at) {
    const scene = this.#scene;
    if (!scene) return null;
    const places = scene.markers.map((marker) => this.place(marker));
    // Two markers that lie on each other: the chosen one is the one that is meant.
    const chosen = scene.markers.findIndex((marker) => marker.label === scene.selected);
    const index = chosen >= 0 && nearest([places[chosen]], at, REACH) === 0 ? chosen : nearest(places, at, REACH);
    return index < 0 ? null : { label: scene.markers[index].label, place: places[index] };
  }

  /** The place of the frame that the small map shows there; null beside the map. @param {Point} at @param {boolean} [beside] also beyond its edges @returns {Point | null} */
  #mapAt(at, beside = false) {
    if (!this.#scene?.picture || this.#zoom.by === 1) return null;
    const { size } = this.#scene;
    const image = imageFromView(at, mapPlace(size, this.#box));
    return beside || (image.x >= 0 && image.y >= 0 && image.x < size.width && image.y < size.height) ? image : null;
  }

  #paint() {
    const scene = this.#scene;
    const box = this.#box;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(box.width * ratio);
    const height = Math.round(box.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    const pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d'));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    if (!scene) return;
    const { size, picture } = scene;
    const view = this.#view;
    if (picture) {
      // Pixels that are large enough to be told apart are shown as what they are.
      pen.imageSmoothingEnabled = view.scale < 5;
      pen.imageSmoothingQuality = 'medium'; // 'high' costs a film its pace where there is no graphics card
      pen.drawImage(picture, view.left, view.top, size.width * view.scale, size.height * view.scale);
    }
    const sheet = { view, width: box.width, height: box.height, ratio };
    if (this.#trails.paint(pen, { tracks: scene.tracks, height: size.height, frame: scene.frame }, sheet)) this.#queue();
    for (const marker of scene.markers) {
      paintMarker(pen, marker, this.place(marker), { selected: marker.label === scene.selected, named: this.#held !== marker.label, width: box.width });
    }
    const held = picture && scene.markers.find(({ label }) => label === this.#held);
    if (held) paintLoupe(pen, picture, size, imageFromStored(held, size.height), this.place(held), view.scale, box.width);
    else if (picture && this.#zoom.by > 1) paintMap(pen, picture, size, box, shownPart(view, size, box));
    this.#tell(picture ? String(scene.shown) : '');
  }

  /** What is on the screen, for whoever looks at the page from outside. @param {string} frame */
  #tell(frame) {
    const { dataset } = this.canvas;
    const view = [this.#view.scale, this.#view.left, this.#view.top].join(' ');
    if (dataset.frame !== frame) dataset.frame = frame;
    if (dataset.view !== view) dataset.view = view;
  }
}

// @ts-check
/**
 * The frame on its canvas: the picture, the trails, the markers, the magnifier. Draws what it is told and reports
 * where a marker is dragged to, with mouse, pen or touch alike.
 *
 * @typedef {import('./geometry.js').Marker} Marker
 * @typedef {import('./geometry.js').Point} Point
 * @typedef {{label: string, color: string, points: (Point & {frame: number, lost: boolean})[]}} Trail  image coordinates
 * @typedef {{picture: ImageBitmap | null, size: import('./geometry.js').Size, markers: Marker[], trails: Trail[],
 *   frame: number, selected: string | null, editable: boolean}} Scene
 */
import { PALETTE, clampToFrame, fit, imageFromStored, imageFromView, nearest, storedFromImage, viewFromImage } from './geometry.js';

const RING = 8;
const REACH = 26;
const LOUPE_RADIUS = 62;
const LOUPE_ZOOM = 4;

export class FrameCanvas {
  /** @type {Scene | null} */
  #scene = null;
  #view = { scale: 1, left: 0, top: 0 };
  #queued = false;
  /** @type {{label: string, pointer: number, grip: Point, at: Point, gesture: string} | null} */
  #drag = null;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{onSelect: (label: string) => void, onMove: (label: string, stored: Point, gesture: string) => void}} handlers
   */
  constructor(canvas, { onSelect, onMove }) {
    this.canvas = canvas;
    this.onSelect = onSelect;
    this.onMove = onMove;
    new ResizeObserver(() => this.#queue()).observe(canvas);
    canvas.addEventListener('pointerdown', (event) => this.#down(event));
    canvas.addEventListener('pointermove', (event) => this.#moved(event));
    // A finger on a marker moves the marker; anywhere else it scrolls the page.
    canvas.addEventListener('touchstart', (event) => this.#touched(event), { passive: false });
    for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, () => this.#up());
  }

  /** @param {Scene} scene */
  draw(scene) {
    this.#scene = scene;
    this.#queue();
  }

  /** Where a stored point lies on the canvas, in CSS pixels. @param {Point} stored @returns {Point} */
  place(stored) {
    if (!this.#scene) return { x: 0, y: 0 };
    return viewFromImage(imageFromStored(stored, this.#scene.size.height), this.#view);
  }

  #queue() {
    if (this.#queued) return;
    this.#queued = true;
    requestAnimationFrame(() => {
      this.#queued = false;
      this.#paint();
    });
  }

  /** @param {{clientX: number, clientY: number}} event @returns {Point} */
  #at(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** @param {Point} at */
  #markerAt(at) {
    const scene = this.#scene;
    if (!scene) return null;
    const places = scene.markers.map((marker) => this.place(marker));
    // Two markers that lie on each other: the chosen one is the one that is meant.
    const chosen = scene.markers.findIndex((marker) => marker.label === scene.selected);
    if (chosen >= 0 && nearest([places[chosen]], at, REACH) === 0) return scene.markers[chosen];
    const index = nearest(places, at, REACH);
    return index < 0 ? null : scene.markers[index];
  }

  /** @param {TouchEvent} event */
  #touched(event) {
    const [touch] = event.touches;
    if (event.touches.length === 1 && this.#scene?.editable && this.#markerAt(this.#at(touch))) event.preventDefault();
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0 || this.#drag) return;
    const at = this.#at(event);
    const marker = this.#markerAt(at);
    if (!marker) return;
    this.onSelect(marker.label);
    if (!this.#scene?.editable) return;
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    const place = this.place(marker);
    // The marker keeps its distance from the finger, so that taking hold does not move it.
    const grip = { x: place.x - at.x, y: place.y - at.y };
    this.#drag = { label: marker.label, pointer: event.pointerId, grip, at, gesture: `drag ${event.timeStamp}` };
    this.#queue();
  }

  /** @param {PointerEvent} event */
  #moved(event) {
    const at = this.#at(event);
    if (!this.#drag) {
      if (event.pointerType === 'mouse') this.canvas.classList.toggle('over-marker', this.#markerAt(at) !== null);
      return;
    }
    if (event.pointerId !== this.#drag.pointer || !this.#scene) return;
    this.#drag.at = at;
    const { grip, label, gesture } = this.#drag;
    const image = clampToFrame(imageFromView({ x: at.x + grip.x, y: at.y + grip.y }, this.#view), this.#scene.size);
    this.onMove(label, storedFromImage(image, this.#scene.size.height), gesture);
  }

  #up() {
    this.#drag = null;
    this.#queue();
  }

  #paint() {
    const scene = this.#scene;
    const box = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(box.width * ratio));
    const height = Math.max(1, Math.round(box.height * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    const pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d'));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    if (!scene) return;
    this.#view = fit(scene.size, box);
    const { left, top, scale } = this.#view;
    if (scene.picture) {
      pen.imageSmoothingQuality = 'high';
      pen.drawImage(scene.picture, left, top, scene.size.width * scale, scene.size.height * scale);
    }
    for (const trail of scene.trails) this.#paintTrail(pen, trail, scene.frame);
    for (const marker of scene.markers) this.#paintMarker(pen, marker, marker.label === scene.selected);
    if (this.#drag) this.#paintLoupe(pen, scene, this.#drag.label, box);
  }

  /** The way so far is strong, the way to come is faint. @param {CanvasRenderingContext2D} pen @param {Trail} trail @param {number} frame */
  #paintTrail(pen, trail, frame) {
    pen.save();
    pen.lineJoin = 'round';
    for (const past of [false, true]) {
      pen.beginPath();
      let open = false;
      for (const point of trail.points) {
        const inPart = past ? point.frame <= frame : point.frame >= frame;
        if (!inPart || point.lost) {
          open = false;
          continue;
        }
        const at = viewFromImage(point, this.#view);
        if (open) pen.lineTo(at.x, at.y);
        else pen.moveTo(at.x, at.y);
        open = true;
      }
      pen.globalAlpha = past ? 0.7 : 0.25;
      pen.strokeStyle = '#fff';
      pen.lineWidth = past ? 4 : 2.5;
      pen.stroke();
      pen.globalAlpha = past ? 1 : 0.55;
      pen.strokeStyle = trail.color;
      pen.lineWidth = past ? 2 : 1.25;
      pen.stroke();
    }
    pen.restore();
  }

  /** A ring with a gap for what is under it; a lost marker is dashed and red. @param {CanvasRenderingContext2D} pen @param {Marker} marker @param {boolean} selected */
  #paintMarker(pen, marker, selected) {
    const at = this.place(marker);
    const lost = marker.status === 0;
    const color = lost ? '#ff5449' : (marker.color ?? PALETTE[0]);
    pen.save();
    const ring = () => {
      pen.beginPath();
      pen.arc(at.x, at.y, RING, 0, Math.PI * 2);
    };
    const ticks = () => {
      pen.beginPath();
      for (const [x, y] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        pen.moveTo(at.x + x * RING, at.y + y * RING);
        pen.lineTo(at.x + x * (RING + 5), at.y + y * (RING + 5));
      }
    };
    if (lost) pen.setLineDash([4, 3]);
    for (const [style, width] of /** @type {[string, number][]} */ ([['rgba(0,0,0,.55)', 5], ['#fff', 3.6], [color, 2.2]])) {
      pen.strokeStyle = style;
      pen.lineWidth = width;
      ring();
      pen.stroke();
      if (selected) {
        ticks();
        pen.stroke();
      }
    }
    pen.setLineDash([]);
    if (!lost) {
      pen.fillStyle = '#fff';
      pen.beginPath();
      pen.arc(at.x, at.y, 1.6, 0, Math.PI * 2);
      pen.fill();
    }
    if (this.#drag?.label !== marker.label) this.#paintLabel(pen, at, marker.label + (lost ? ' · lost' : ''), selected, color);
    pen.restore();
  }

  /** @param {CanvasRenderingContext2D} pen @param {Point} at @param {string} text @param {boolean} selected @param {string} color */
  #paintLabel(pen, at, text, selected, color) {
    pen.font = `${selected ? 600 : 500} 12px system-ui, sans-serif`;
    const width = pen.measureText(text).width + 22;
    const right = at.x + RING + 8 + width < this.canvas.clientWidth;
    const x = right ? at.x + RING + 8 : at.x - RING - 8 - width;
    pen.fillStyle = selected ? 'rgba(10,16,12,.92)' : 'rgba(10,16,12,.68)';
    pen.beginPath();
    pen.roundRect(x, at.y - 10, width, 20, 10);
    pen.fill();
    pen.fillStyle = color;
    pen.beginPath();
    pen.arc(x + 10, at.y, 3.5, 0, Math.PI * 2);
    pen.fill();
    pen.fillStyle = '#fff';
    pen.textBaseline = 'middle';
    pen.fillText(text, x + 17, at.y + 0.5);
  }

  /** What lies under the finger, in the corner where the finger is not. @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {string} label @param {DOMRect} box */
  #paintLoupe(pen, scene, label, box) {
    const marker = scene.markers.find((other) => other.label === label);
    if (!marker || !scene.picture) return;
    const image = imageFromStored(marker, scene.size.height);
    const place = this.place(marker);
    const margin = LOUPE_RADIUS + 12;
    const center = { x: place.x < box.width / 2 ? box.width - margin : margin, y: margin };
    const zoom = LOUPE_ZOOM;
    const perPicture = scene.picture.width / scene.size.width;
    pen.save();
    pen.beginPath();
    pen.arc(center.x, center.y, LOUPE_RADIUS, 0, Math.PI * 2);
    pen.fillStyle = '#0d110f';
    pen.fill();
    pen.save();
    pen.clip();
    pen.imageSmoothingEnabled = false;
    pen.translate(center.x - (image.x + 0.5) * zoom, center.y - (image.y + 0.5) * zoom);
    pen.scale(zoom / perPicture, zoom / perPicture);
    pen.drawImage(scene.picture, 0, 0);
    pen.restore();
    pen.lineWidth = 3;
    pen.strokeStyle = '#fff';
    pen.stroke();
    pen.lineWidth = 1;
    pen.strokeStyle = 'rgba(0,0,0,.6)';
    pen.stroke();
    pen.beginPath();
    for (const [x, y] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      pen.moveTo(center.x + x * 6, center.y + y * 6);
      pen.lineTo(center.x + x * 26, center.y + y * 26);
    }
    pen.lineWidth = 3;
    pen.strokeStyle = 'rgba(0,0,0,.55)';
    pen.stroke();
    pen.lineWidth = 1.5;
    pen.strokeStyle = '#fff';
    pen.stroke();
    pen.restore();
  }
}

/** The ways of all markers but the rulers. @param {Record<number, Marker[]>} frames @param {number} height of the frame @param {(label: string) => boolean} include @returns {Trail[]} */
export function trails(frames, height, include) {
  /** @type {Map<string, Trail>} */
  const byLabel = new Map();
  for (const frame of Object.keys(frames).map(Number).sort((a, b) => a - b)) {
    for (const marker of frames[frame]) {
      if (!include(marker.label)) continue;
      let trail = byLabel.get(marker.label);
      if (!trail) {
        trail = { label: marker.label, color: marker.color ?? PALETTE[0], points: [] };
        byLabel.set(marker.label, trail);
      }
      trail.points.push({ ...imageFromStored(marker, height), frame, lost: marker.status === 0 });
    }
  }
  return [...byLabel.values()];
}

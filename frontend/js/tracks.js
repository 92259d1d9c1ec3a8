// @ts-check
/**
 * The ways of all markers, frame by frame in plain arrays, so that ten thousand frames of twenty markers can be drawn
 * and looked through while a hand moves. Brought up to date by what changed: frames that are the same object as before
 * are not read again.
 *
 * @typedef {import('./geometry.js').Marker} Marker
 * @typedef {{label: string, color: string, x: Float32Array, y: Float32Array, state: Uint8Array, count: number}} Track
 *   stored coordinates by frame number; `state` is one of the three below; `count` frames have a place
 */
import { PALETTE } from './geometry.js';
import { isLost } from './spans.js';

export const NOWHERE = 0;
export const SEEN = 1;
export const LOST = 2;

export class Tracks {
  /** @type {Map<string, Track>} */
  #byLabel = new Map();
  /** @type {Record<number, Marker[]>} */
  #frames = {};
  #total = 0;
  /** Grows whenever anything changes. */
  version = 0;

  /** Those that have a place anywhere, in the order in which they appeared. @returns {Track[]} */
  get all() {
    return [...this.#byLabel.values()].filter((track) => track.count > 0);
  }

  /** @param {Record<number, Marker[]>} frames @param {number} total */
  update(frames, total) {
    if (frames === this.#frames && total === this.#total) return;
    if (total !== this.#total) {
      this.#byLabel.clear();
      this.#frames = {};
    }
    const before = this.#frames;
    this.#frames = frames;
    this.#total = total;
    let changed = false;
    for (let frame = 0; frame < total; frame += 1) {
      if (frames[frame] === before[frame]) continue;
      changed = true;
      this.#clear(frame, before[frame]);
      for (const marker of frames[frame] ?? []) this.#set(frame, marker);
    }
    if (changed) this.version += 1;
  }

  /** @param {number} frame @param {Marker[] | undefined} markers */
  #clear(frame, markers) {
    for (const { label } of markers ?? []) {
      const track = this.#byLabel.get(label);
      if (!track || track.state[frame] === NOWHERE) continue;
      track.state[frame] = NOWHERE;
      track.count -= 1;
    }
  }

  /** @param {number} frame @param {Marker} marker */
  #set(frame, marker) {
    let track = this.#byLabel.get(marker.label);
    if (!track) {
      track = {
        label: marker.label, color: PALETTE[0], count: 0,
        x: new Float32Array(this.#total), y: new Float32Array(this.#total), state: new Uint8Array(this.#total),
      };
      this.#byLabel.set(marker.label, track);
    }
    if (track.state[frame] === NOWHERE) track.count += 1;
    track.color = marker.color ?? PALETTE[0];
    track.x[frame] = marker.x;
    track.y[frame] = marker.y;
    track.state[frame] = isLost(marker) ? LOST : SEEN;
  }
}

// @ts-check
/** The two handles on the bar that cut a movie short. Drag or arrow keys; the fields under "Frames and time" do the same. */
import { byId } from './dom.js';
import { canEdit, totalFrames, trimEnd, trimStart } from './state.js';

/** @typedef {import('./state.js').State} State */
/** @typedef {'trim_start_frame' | 'trim_end_frame'} Edge */

/** Keys that move a handle, in frames. @type {Record<string, number>} */
const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
const REST = 500; // ms without a key before the frame reached is set

/** The nearest frame that an edge may have: the edges never cross. @param {State} state @param {Edge} edge @param {number} frame */
export function allowed(state, edge, frame) {
  const [low, high] = edge === 'trim_start_frame' ? [0, trimEnd(state)] : [trimStart(state), totalFrames(state) - 1];
  return Math.min(Math.max(Math.round(frame), low), high);
}

export class TrimHandles {
  /** @type {{edge: Edge, frame: number} | null} where a handle is being moved to, before it is set */
  #moving = null;
  /** @type {any} */
  #timer = null;

  /** @param {{state: () => State, onFrame: (frame: number) => void, onTrim: (edge: Edge, frame: number) => Promise<any>}} options */
  constructor({ state, onFrame, onTrim }) {
    this.state = state;
    this.onFrame = onFrame;
    this.onTrim = onTrim;
    this.bar = byId('strip');
    this.#listen(byId('trim-start-handle'), 'trim_start_frame');
    this.#listen(byId('trim-end-handle'), 'trim_end_frame');
  }

  /** @param {State} state */
  render(state) {
    const total = totalFrames(state);
    this.#place(byId('trim-start-handle'), 'trim_start_frame', trimStart(state), total, state);
    this.#place(byId('trim-end-handle'), 'trim_end_frame', trimEnd(state), total, state);
  }

  /** @param {any} handle @param {Edge} edge @param {number} set @param {number} total @param {State} state */
  #place(handle, edge, set, total, state) {
    const frame = this.#moving?.edge === edge ? this.#moving.frame : set;
    handle.hidden = total < 2;
    handle.setAttribute('aria-disabled', String(!canEdit(state)));
    handle.setAttribute('aria-valuemax', String(Math.max(0, total - 1)));
    handle.setAttribute('aria-valuenow', String(frame));
    const place = edge === 'trim_start_frame' ? frame : frame + 1;
    handle.style.setProperty('--at', String(total ? place / total : 0));
  }

  /** @param {any} handle @param {Edge} edge */
  #listen(handle, edge) {
    handle.addEventListener('pointerdown', (/** @type {PointerEvent} */ event) => {
      if (event.button !== 0 || !canEdit(this.state())) return;
      event.preventDefault();
      handle.focus();
      handle.setPointerCapture(event.pointerId);
      this.#move(edge, this.#current(edge));
    });
    handle.addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const box = this.bar.getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * totalFrames(this.state());
      this.#move(edge, edge === 'trim_start_frame' ? place : place - 1);
    });
    handle.addEventListener('pointerup', () => void this.#set());
    handle.addEventListener('pointercancel', () => this.#forget());
    handle.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
      const step = STEPS[event.key];
      if (!step || !canEdit(this.state())) return;
      event.preventDefault();
      this.#move(edge, this.#current(edge) + step);
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#set(), REST);
    });
  }

  /** @param {Edge} edge */
  #current(edge) {
    if (this.#moving?.edge === edge) return this.#moving.frame;
    return edge === 'trim_start_frame' ? trimStart(this.state()) : trimEnd(this.state());
  }

  /** @param {Edge} edge @param {number} frame */
  #move(edge, frame) {
    this.#moving = { edge, frame: allowed(this.state(), edge, frame) };
    this.onFrame(this.#moving.frame); // shows what is cut off
    this.render(this.state());
  }

  async #set() {
    clearTimeout(this.#timer);
    const moved = this.#moving;
    if (!moved) return;
    const set = moved.edge === 'trim_start_frame' ? trimStart(this.state()) : trimEnd(this.state());
    if (moved.frame !== set) await this.onTrim(moved.edge, moved.frame);
    if (this.#moving === moved) this.#forget();
  }

  #forget() {
    this.#moving = null;
    this.render(this.state());
  }
}

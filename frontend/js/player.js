// @ts-check
/**
 * Which picture stands on the screen: a single one that was asked for, or one after the other at a chosen pace,
 * forwards or backwards. No frame is left out: a picture that is late holds the film.
 */
import { asProblem } from './problem.js';
import { backoff } from './poll.js';

const AROUND = 12; // frames fetched ahead of one that is shown
const STROLL = 3; // frames at once: whoever goes farther is looking for a place, and has no use for its neighbours yet
const REST = 200; // ms on one frame, and they are fetched all the same
const SECONDS_AHEAD = 2; // of the film that runs
const EARLY = 4; // ms: a screen's refresh so near is the one that was meant

/** @param {number} due ms of performance.now() @returns {Promise<void>} settled in the refresh of the screen then */
function refreshAt(due) {
  return new Promise((resolve) => {
    const look = (/** @type {number} */ now) => (now >= due - EARLY ? resolve() : requestAnimationFrame(look));
    requestAnimationFrame(look);
  });
}

export class Player {
  #frame = -1;
  #shown = -1;
  /** @type {1 | -1} */
  #direction = 1;
  #failures = 0;
  /** @type {any} */
  #retry = null;
  /** @type {any} */
  #resting = null;
  /** @type {{step: 1 | -1} | null} */
  #playing = null;

  /**
   * @param {{pictures: import('./pictures.js').Pictures, onPicture: (frame: number, picture: ImageBitmap) => void,
   *   onWaiting: (waiting: boolean, problem: import('./problem.js').Problem | null) => void}} options
   */
  constructor({ pictures, onPicture, onWaiting }) {
    this.pictures = pictures;
    this.onPicture = onPicture;
    this.onWaiting = onWaiting;
  }

  /** 1 or -1 while the film runs, 0 while it stands. @returns {1 | -1 | 0} */
  get playing() {
    return this.#playing?.step ?? 0;
  }

  /** Show a frame as soon as it is here; a later call overtakes an earlier one. @param {number} frame @param {number} total @returns {Promise<void>} */
  async show(frame, total) {
    if (frame === this.#shown && frame === this.#frame) return;
    if (frame !== this.#frame) this.#direction = frame < this.#frame ? -1 : 1;
    const strolls = Math.abs(frame - this.#frame) <= STROLL;
    this.#frame = frame;
    clearTimeout(this.#retry);
    clearTimeout(this.#resting);
    const slow = setTimeout(() => frame === this.#frame && this.onWaiting(true, null), 150);
    try {
      const picture = await this.pictures.want(frame);
      if (frame !== this.#frame) return;
      this.#failures = 0;
      this.#put(frame, picture);
      this.#resting = setTimeout(() => {
        this.pictures.ahead(frame, this.#direction, AROUND, total);
        this.pictures.ahead(frame, this.#direction === 1 ? -1 : 1, 2, total);
      }, strolls ? 0 : REST);
    } catch (thrown) {
      if (frame !== this.#frame) return;
      const problem = asProblem(thrown);
      this.onWaiting(false, problem);
      if (!problem.retryable) return;
      this.#failures += 1;
      const wait = Math.max(problem.retryAfter ?? 0, backoff(this.#failures, Math.random()));
      this.#retry = setTimeout(() => void this.show(frame, total), wait * 1000);
    } finally {
      clearTimeout(slow);
    }
  }

  /** Other pixels under the same numbers: after a rotation, say. @param {import('./archive.js').FrameArchive | null} archive */
  forget(archive) {
    this.pause();
    clearTimeout(this.#retry);
    clearTimeout(this.#resting);
    this.#frame = this.#shown = -1;
    this.pictures.forget(archive);
  }

  /**
   * Run the film from one frame to another, both shown, until it ends or is paused.
   * @param {{from: number, to: number, total: number, rate: () => number, onFrame: (frame: number) => void, onEnd: () => void}} film
   *   `rate`: frames per second, asked for at every frame
   */
  async play({ from, to, total, rate, onFrame, onEnd }) {
    const step = to < from ? -1 : 1;
    /** @type {{step: 1 | -1}} */
    const mine = { step };
    this.#playing = mine;
    clearTimeout(this.#retry);
    let due = performance.now();
    for (let frame = from; frame !== to + step; frame += step) {
      this.pictures.ahead(frame, step, Math.ceil(rate() * SECONDS_AHEAD), total);
      const picture = await this.pictures.want(frame).catch(() => null);
      await refreshAt(due);
      if (this.#playing !== mine) return;
      if (!picture) {
        this.#playing = null;
        onFrame(frame);
        if (this.#frame !== frame) void this.show(frame, total); // which tells what is wrong, and tries again
        break;
      }
      this.#frame = frame;
      this.#put(frame, picture);
      onFrame(frame);
      const now = performance.now();
      const interval = 1000 / rate();
      due = now > due + interval ? now + interval : due + interval; // no rush after a picture that was late
    }
    if (this.#playing === mine) this.#playing = null;
    onEnd();
  }

  pause() {
    this.#playing = null;
  }

  /** @param {number} frame @param {ImageBitmap} picture */
  #put(frame, picture) {
    this.#shown = frame;
    this.pictures.pin(frame);
    this.onPicture(frame, picture);
    this.onWaiting(false, null);
  }
}

// @ts-check
/**
 * The pictures of a movie: fetched one by one, kept for a while, neighbours fetched ahead, shown in order when played.
 */
import { framePicture } from './api.js';
import { asProblem } from './problem.js';
import { backoff } from './poll.js';

const KEPT = 80;
const AHEAD = 4;
const SECONDS_PER_FRAME = 0.1;

export class Player {
  /** @type {Map<number, ImageBitmap>} oldest first */
  #pictures = new Map();
  /** @type {Map<number, {promise: Promise<ImageBitmap>, stop: AbortController}>} */
  #wanted = new Map();
  #failures = 0;
  #frame = -1;
  /** @type {any} */
  #retry = null;
  /** @type {any} */
  #playing = null;

  /**
   * @param {{movieId: string, onPicture: (frame: number, picture: ImageBitmap) => void,
   *   onWaiting: (waiting: boolean, problem: import('./problem.js').Problem | null) => void}} options
   */
  constructor({ movieId, onPicture, onWaiting }) {
    this.movieId = movieId;
    this.onPicture = onPicture;
    this.onWaiting = onWaiting;
  }

  get playing() {
    return this.#playing !== null;
  }

  /** Show a frame as soon as it is here; a later call overtakes an earlier one. @param {number} frame @param {number} total @returns {Promise<void>} */
  async show(frame, total) {
    this.#frame = frame;
    clearTimeout(this.#retry);
    for (const [other, { stop }] of this.#wanted) if (Math.abs(other - frame) > AHEAD) stop.abort();
    const slow = setTimeout(() => this.onWaiting(true, null), 150);
    try {
      const picture = await this.#fetch(frame);
      this.#failures = 0;
      if (frame !== this.#frame) return;
      this.onPicture(frame, picture);
      this.onWaiting(false, null);
      this.#prefetch(frame, total);
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

  /** Other pixels under the same numbers: after a rotation, say. */
  forget() {
    for (const { stop } of this.#wanted.values()) stop.abort();
    for (const picture of this.#pictures.values()) picture.close();
    this.#pictures.clear();
  }

  /**
   * Step through the frames until the last, or until paused; a picture that is late holds the film.
   * @param {number} first @param {number} last @param {(frame: number) => void} onFrame @param {() => void} onEnd
   */
  play(first, last, onFrame, onEnd) {
    let frame = first;
    const mine = {};
    this.#playing = mine;
    const step = async () => {
      if (this.#playing !== mine) return;
      if (frame > last) {
        this.#playing = null;
        onEnd();
        return;
      }
      const due = performance.now() + SECONDS_PER_FRAME * 1000;
      await this.#fetch(frame).catch(() => {});
      if (this.#playing !== mine) return;
      onFrame(frame);
      frame += 1;
      setTimeout(step, Math.max(0, due - performance.now()));
    };
    void step();
  }

  pause() {
    this.#playing = null;
  }

  /** @param {number} frame @returns {Promise<ImageBitmap>} */
  #fetch(frame) {
    const kept = this.#pictures.get(frame);
    if (kept) {
      this.#pictures.delete(frame);
      this.#pictures.set(frame, kept);
      return Promise.resolve(kept);
    }
    const wanted = this.#wanted.get(frame);
    if (wanted && !wanted.stop.signal.aborted) return wanted.promise;
    const stop = new AbortController();
    const promise = this.#load(frame, stop.signal).finally(() => {
      if (this.#wanted.get(frame)?.stop === stop) this.#wanted.delete(frame);
    });
    this.#wanted.set(frame, { promise, stop });
    return promise;
  }

  /** @param {number} frame @param {AbortSignal} signal */
  async #load(frame, signal) {
    const picture = await createImageBitmap(await framePicture(this.movieId, frame, signal));
    this.#pictures.set(frame, picture);
    for (const [oldest, bitmap] of this.#pictures) {
      if (this.#pictures.size <= KEPT) break;
      if (oldest === this.#frame) continue;
      this.#pictures.delete(oldest);
      bitmap.close();
    }
    return picture;
  }

  /** @param {number} frame @param {number} total */
  #prefetch(frame, total) {
    for (let step = 1; step <= AHEAD; step += 1) {
      for (const near of step === 1 ? [frame + 1, frame - 1] : [frame + step]) {
        if (near >= 0 && near < total) this.#fetch(near).catch(() => {});
      }
    }
  }
}

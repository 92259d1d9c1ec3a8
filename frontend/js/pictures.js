// @ts-check
/**
 * The pictures of a movie: out of its archive where there is one, else one by one. What was fetched is kept as it came,
 * up to a limit, and unpacked around the frame shown; a picture unpacked is some thirty times as large.
 */
import { framePicture } from './api.js';
import { ArchiveGone } from './archive.js';
import { Problem } from './problem.js';

const MOST_BYTES = 48 << 20;
const UNPACKED = 32;
const UNPACKED_AHEAD = 6;
const SINGLE_AHEAD = 4; // without an archive each frame is a request
const TRIES = 2;
const NEAR = 90; // frames: what is farther from the one wanted need not be waited for

export class Pictures {
  /** @type {Map<number, Blob>} least recently used first */
  #packed = new Map();
  #bytes = 0;
  /** @type {Map<number, ImageBitmap>} least recently used first */
  #unpacked = new Map();
  /** @type {Map<number, Promise<ImageBitmap>>} */
  #unpacking = new Map();
  /** @type {Map<number, {promise: Promise<Blob>, stop: AbortController}>} */
  #coming = new Map();
  #failures = 0;
  #age = 0;
  #pinned = -1;

  /** @param {string} movieId @param {import('./archive.js').FrameArchive | null} archive */
  constructor(movieId, archive) {
    this.movieId = movieId;
    this.archive = archive;
  }

  /** Other pixels under the same numbers, and other places to find them. @param {import('./archive.js').FrameArchive | null} archive */
  forget(archive) {
    this.archive = archive;
    this.#age += 1;
    this.#failures = 0;
    for (const { stop } of this.#coming.values()) stop.abort();
    for (const picture of this.#unpacked.values()) picture.close();
    for (const kept of [this.#packed, this.#unpacked, this.#unpacking, this.#coming]) kept.clear();
    this.#bytes = 0;
  }

  /** Keep this frame's picture open until another one is pinned: it is on the screen. @param {number} frame */
  pin(frame) {
    this.#pinned = frame;
  }

  /** @param {number} frame @returns {Promise<ImageBitmap>} rejects with a Problem, or as fetch does */
  want(frame) {
    for (const { stop, frames } of this.#batches()) if (frames.every((other) => Math.abs(other - frame) > NEAR)) stop.abort();
    return this.#unpack(frame);
  }

  /**
   * Fetch what will be wanted soon. Costs nothing where it is here already.
   * @param {number} frame @param {1 | -1} step the direction of travel @param {number} count @param {number} total
   */
  ahead(frame, step, count, total) {
    const reach = this.archive ? count : Math.min(count, SINGLE_AHEAD);
    const next = Array.from({ length: reach }, (_, n) => frame + step * (n + 1)).filter((near) => near >= 0 && near < total);
    const missing = next.filter((near) => !this.#packed.has(near) && !this.#coming.has(near));
    // Not one request per frame: a new one when half of the way ahead is still to be fetched, or its end.
    if (missing.length && (missing.length >= reach / 2 || missing[0] === next[0] || next.length < reach || !this.archive)) this.#fetch(missing);
    for (const near of next.slice(0, UNPACKED_AHEAD)) if (this.#packed.has(near)) this.#unpack(near).catch(() => {});
  }

  /** @param {number} frame @returns {Promise<ImageBitmap>} */
  #unpack(frame) {
    const ready = this.#unpacked.get(frame);
    if (ready) {
      this.#unpacked.delete(frame);
      this.#unpacked.set(frame, ready);
      return Promise.resolve(ready);
    }
    let unpacking = this.#unpacking.get(frame);
    if (!unpacking) {
      unpacking = this.#unpackFresh(frame).finally(() => {
        if (this.#unpacking.get(frame) === unpacking) this.#unpacking.delete(frame);
      });
      this.#unpacking.set(frame, unpacking);
    }
    return unpacking;
  }

  /** @param {number} frame */
  async #unpackFresh(frame) {
    const age = this.#age;
    const picture = await this.#decoded(frame);
    if (age !== this.#age) {
      picture.close();
      throw new DOMException('The movie was turned', 'AbortError');
    }
    this.#unpacked.set(frame, picture);
    for (const [oldest, bitmap] of this.#unpacked) {
      if (this.#unpacked.size <= UNPACKED) break;
      if (oldest === this.#pinned || oldest === frame) continue;
      this.#unpacked.delete(oldest);
      bitmap.close();
    }
    return picture;
  }

  /** What cannot be decoded is asked for once more, by itself: an archive may be damaged in one place. @param {number} frame */
  async #decoded(frame) {
    const age = this.#age;
    const blob = await this.#blob(frame);
    try {
      return await createImageBitmap(blob);
    } catch {
      const alone = await this.#single(frame, new AbortController().signal);
      const picture = await createImageBitmap(alone).catch(() => {
        throw new Problem({ kind: 'invalid', message: `The picture of frame ${frame} is damaged.` });
      });
      if (age === this.#age) this.#keep(frame, alone);
      return picture;
    }
  }

  /** @param {number} frame @returns {Promise<Blob>} */
  async #blob(frame) {
    const kept = this.#packed.get(frame);
    if (kept) {
      this.#packed.delete(frame);
      this.#packed.set(frame, kept);
      return kept;
    }
    const coming = this.#coming.get(frame);
    if (coming && !coming.stop.signal.aborted) {
      try {
        return await coming.promise;
      } catch (thrown) {
        if (coming.stop.signal.aborted) throw thrown;
        // It was to come with many others; alone it may.
      }
    }
    this.#fetch([frame]);
    return /** @type {{promise: Promise<Blob>}} */ (this.#coming.get(frame)).promise;
  }

  /** @param {number[]} frames */
  #fetch(frames) {
    const stop = new AbortController();
    const age = this.#age;
    // A page that has just opened shows its frame without waiting for the directory.
    const alone = frames.length === 1 && this.archive && !this.archive.opened;
    if (alone) this.archive?.open().catch(() => {}); // who reads next is told
    const batch = this.archive && !alone ? this.#fromArchive(frames, stop.signal) : null;
    for (const frame of frames) {
      const promise = (batch ? batch.then((found) => found.get(frame) ?? this.#single(frame, stop.signal)) : this.#single(frame, stop.signal))
        .then((picture) => {
          if (age === this.#age) this.#keep(frame, picture);
          return picture;
        })
        .finally(() => {
          if (this.#coming.get(frame)?.stop === stop) this.#coming.delete(frame);
        });
      promise.catch(() => {}); // nobody may be waiting for what was fetched ahead
      this.#coming.set(frame, { promise, stop });
    }
  }

  /** What the archive has of these; an archive that fails again and again is not asked any more. @param {number[]} frames @param {AbortSignal} signal @returns {Promise<Map<number, Blob>>} */
  async #fromArchive(frames, signal) {
    const { archive } = this;
    try {
      const found = await archive?.read(frames, signal);
      this.#failures = 0;
      return found ?? new Map();
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      this.#failures += 1;
      if ((thrown instanceof ArchiveGone || this.#failures >= TRIES) && this.archive === archive) this.archive = null;
      if (frames.length > SINGLE_AHEAD) throw thrown; // not thirty requests at once: each is asked for when its time comes
      return new Map();
    }
  }

  /** @param {number} frame @param {AbortSignal} signal */
  #single(frame, signal) {
    return framePicture(this.movieId, frame, signal);
  }

  /** @param {number} frame @param {Blob} picture */
  #keep(frame, picture) {
    this.#bytes += picture.size - (this.#packed.get(frame)?.size ?? 0);
    this.#packed.delete(frame);
    this.#packed.set(frame, picture);
    for (const [oldest, blob] of this.#packed) {
      if (this.#bytes <= MOST_BYTES) break;
      this.#packed.delete(oldest);
      this.#bytes -= blob.size;
    }
  }

  /** @returns {{stop: AbortController, frames: number[]}[]} */
  #batches() {
    /** @type {Map<AbortController, number[]>} */
    const found = new Map();
    for (const [frame, { stop }] of this.#coming) found.set(stop, [...(found.get(stop) ?? []), frame]);
    return [...found].map(([stop, frames]) => ({ stop, frames }));
  }
}

// @ts-check
/**
 * The movie as the server has it, read into the page's state: a first part at once, so that a person can begin, the
 * rest in parts that neither the server nor the page chokes on. What this page has saved or renamed while a reading was
 * under way is newer than what that reading brings.
 */
import { movieMetadata } from './api.js';
import { now } from './dom.js';
import { analysisSize } from './geometry.js';
import { isTracing } from './state.js';

/** @typedef {import('./state.js').State} State */
/** @typedef {{frames: Record<number, any>, times: Record<number, number>}} Read */

const FIRST = 300; // frames
const CHUNK = 300; // frames read beside one poll while a trace runs
const POINTS = 12_000; // in one later part
const FEWEST = 100; // frames of it

/** @param {any} metadata @returns {import('./geometry.js').Size | null} */
function sizeOf(metadata) {
  const width = Number(metadata.frame_width ?? metadata.inspection?.frame_width ?? 0);
  const height = Number(metadata.frame_height ?? metadata.inspection?.frame_height ?? 0);
  if (width && height) return { width, height };
  return metadata.width && metadata.height ? analysisSize(Number(metadata.width), Number(metadata.height)) : null;
}

/** @param {any} reply @returns {Read} */
function readOf(reply) {
  /** @type {Read} */
  const read = { frames: {}, times: {} };
  for (const [frame, held] of Object.entries(reply.frames ?? {})) {
    if (held.markers.length && !held.untouched) read.frames[Number(frame)] = held.markers; // the defaults are nobody's work
    if (held.time !== undefined) read.times[Number(frame)] = held.time;
  }
  return read;
}

export class MovieReader {
  /** Frames that this page has saved since the reading began. @type {Set<number>} */
  #saved = new Set();
  #renames = 0;

  /** @param {{store: import('./state.js').Store, onFirst: () => Promise<void>}} options `onFirst`: the first part of the first reading is there */
  constructor({ store, onFirst }) {
    this.store = store;
    this.onFirst = onFirst;
    store.subscribe((state, before) => {
      if (before.saving !== null && state.frames[before.saving] !== before.frames[before.saving]) this.#saved.add(before.saving);
    });
  }

  /** Marker names have changed: a reading under way has the old ones, and begins again. */
  renamed() {
    this.#renames += 1;
  }

  /** What a running trace has found since the last reading. */
  async readNew() {
    const from = this.store.state.loadedTo + 1;
    const reply = await movieMetadata(this.store.state.movieId, { frame_start: from, frame_count: CHUNK });
    this.#take(reply.metadata, readOf(reply), false);
    if (!isTracing(this.store.state)) return;
    const reached = this.store.state.progress?.frame ?? from - 1;
    this.store.dispatch({ type: 'movie/read-to', frame: Math.max(from - 1, Math.min(from + CHUNK - 1, reached)) });
  }

  /** Everything. The first reading shows what it has in growing steps, a later one replaces all at its end. */
  async readAll() {
    const { store } = this;
    const first = store.state.metadata === null;
    for (let again = true; again; ) {
      const renames = this.#renames;
      this.#saved.clear();
      again = !(await this.#readAll(first, () => renames !== this.#renames));
    }
  }

  /** One frame again, as it stands on the server. @param {number} frame */
  async readFrame(frame) {
    const reply = await movieMetadata(this.store.state.movieId, { frame_start: frame, frame_count: 1 });
    this.#take(reply.metadata, readOf(reply), false);
  }

  /** @param {boolean} growing @param {() => boolean} stale @returns {Promise<boolean>} false if it must be done again */
  async #readAll(growing, stale) {
    const { store } = this;
    const { movieId } = store.state;
    let traced = isTracing(store.state);
    let reply = await movieMetadata(movieId, { frame_start: 0, frame_count: FIRST });
    if (stale()) return false;
    const total = Number(reply.metadata.total_frames ?? 0);
    const markers = Math.max(1, ...Object.values(reply.frames ?? {}).map((held) => held.markers.length));
    const part = Math.max(FEWEST, Math.floor(POINTS / markers));
    let read = readOf(reply);
    let from = FIRST;
    let next = 2 * FIRST;
    if (growing || from >= total) {
      this.#take(reply.metadata, read, true);
      traced = isTracing(store.state);
      if (growing) await this.onFirst();
      if (from >= total) return true;
      read = { frames: {}, times: {} };
    }
    while (from < total) {
      reply = await movieMetadata(movieId, { frame_start: from, frame_count: part });
      if (stale()) return false;
      if (isTracing(store.state) && !traced) return true; // a trace that was started meanwhile is read as it goes
      const more = readOf(reply);
      Object.assign(read.frames, more.frames);
      Object.assign(read.times, more.times);
      from += part;
      // Twice as much each time: what is done for all frames at each step is done twice in all.
      if (!growing || (from < next && from < total)) continue;
      this.#take(reply.metadata, read, false);
      read = { frames: {}, times: {} };
      next = 2 * from;
    }
    if (!growing) this.#take(reply.metadata, read, true);
    return true;
  }

  /** @param {any} metadata @param {Read} read @param {boolean} replace */
  #take(metadata, { frames, times }, replace) {
    for (const frame of this.#saved) frames[frame] = this.store.state.frames[frame] ?? [];
    this.store.dispatch({ type: 'movie/loaded', metadata, frames, times, replace, size: sizeOf(metadata), now: now() });
  }
}

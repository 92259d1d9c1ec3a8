// @ts-check
/**
 * Edits on their way to the server: a moment after the last change, one frame at a time, kept in this tab until each
 * is confirmed, so that neither a reload nor a broken connection loses one.
 */
import { putTrackpoints } from './api.js';
import { now } from './dom.js';
import { backoff } from './poll.js';
import { asProblem } from './problem.js';
import { unsavedFrames } from './state.js';

const REST = 250; // ms without a change: a drag, however long a hand rests on the way, is one write

/** What the server keeps of a marker. @param {import('./geometry.js').Marker} marker */
export function trackpoint({ x, y, label, marker_id, color, undeletable, status, placed }) {
  return { x, y, label, marker_id, color, undeletable, status, placed };
}

export class Saver {
  /** @type {any} */
  #timer = null;
  /** @type {Promise<void> | null} */
  #running = null;
  #failures = 0;

  /**
   * @param {{store: import('./state.js').Store, onLost: () => void, onRefused: (message: string) => void, storage?: Storage}} options
   *   `onLost`: editing went elsewhere; `onRefused`: this person may edit the movie no more
   */
  constructor({ store, onLost, onRefused, storage = sessionStorage }) {
    this.store = store;
    this.onLost = onLost;
    this.onRefused = onRefused;
    this.storage = storage;
    this.slot = `tiptrace.edits.${store.state.movieId}`;
    store.subscribe((state, before) => {
      if (state.edits !== before.edits) this.#keep();
      if (state.edits !== before.edits || state.lease !== before.lease || state.inHand !== before.inHand) this.#soon(REST);
    });
  }

  /** Edits that an earlier life of this tab could not save. */
  restore() {
    const kept = this.storage.getItem(this.slot);
    if (kept) this.store.dispatch({ type: 'edits/restored', edits: JSON.parse(kept) });
  }

  /** Everything saved, or a Problem. @returns {Promise<void>} */
  flush() {
    clearTimeout(this.#timer);
    this.#running ??= this.#saveAll().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  #keep() {
    const { edits } = this.store.state;
    if (Object.keys(edits).length) this.storage.setItem(this.slot, JSON.stringify(edits));
    else this.storage.removeItem(this.slot);
  }

  /** @param {number} milliseconds */
  #soon(milliseconds) {
    clearTimeout(this.#timer);
    const { state } = this.store;
    if (state.lease.kind !== 'held' || state.inHand || !unsavedFrames(state).length) return;
    this.#timer = setTimeout(() => void this.flush().catch(() => {}), milliseconds);
  }

  async #saveAll() {
    for (;;) {
      const { edits, lease, movieId } = this.store.state;
      const frame = unsavedFrames(this.store.state)[0];
      if (frame === undefined || lease.kind !== 'held') return;
      const { markers, revision } = edits[frame];
      this.store.dispatch({ type: 'save/started', frame });
      try {
        await putTrackpoints({
          movie_id: movieId,
          frame_number: frame,
          trackpoints: JSON.stringify(markers.map(trackpoint)),
          analysis_lease_id: lease.id,
        });
        this.#failures = 0;
        this.store.dispatch({ type: 'save/done', frame, revision, markers, now: now() });
      } catch (thrown) {
        this.#failed(asProblem(thrown));
        throw thrown;
      }
    }
  }

  /** @param {import('./problem.js').Problem} problem */
  #failed(problem) {
    this.store.dispatch({ type: 'save/failed', message: problem.message });
    if (problem.kind === 'conflict') {
      this.onLost();
    } else if (problem.kind === 'refused') {
      this.onRefused(problem.message);
    } else if (problem.retryable) {
      this.#failures += 1;
      this.store.dispatch({ type: 'connection/failed', failures: this.#failures });
      this.#soon(Math.max(problem.retryAfter ?? 0, backoff(this.#failures, Math.random())) * 1000);
    }
  }
}

// @ts-check
/**
 * This page's right to edit: asked for, kept alive, given back, and told apart when it is lost from when the server
 * merely cannot be reached.
 *
 * The lease id goes into sessionStorage only while the page is being left, and out again as the next one opens: a
 * reloaded page finds it, a duplicated tab does not.
 */
import { acquireLease, heartbeatLease, releaseLease } from './api.js';
import { freshKey, now } from './dom.js';
import { Poller } from './poll.js';
import { asProblem } from './problem.js';
import { isTracing, isUnusable, isWaiting, unsavedFrames } from './state.js';

const LONGEST_PULSE = 60;
const SHORTEST_PULSE = 2;

/** Seconds until the next heartbeat: a third of what is left, so that two may fail. @param {number} expiresAt @param {number} at */
export const pulse = (expiresAt, at) => Math.min(LONGEST_PULSE, Math.max(SHORTEST_PULSE, (expiresAt - at) / 3));

export class LeaseKeeper {
  /** @type {string | null} names one intent to edit until it is answered */
  #requestKey = null;
  /** @type {string | null} */
  #former;
  /** @type {Promise<void> | null} */
  #asking = null;
  #touched = now();
  #woken = 0;
  #patience = Infinity;

  /** @param {{store: import('./state.js').Store, reread: () => void, storage?: Storage}} options */
  constructor({ store, reread, storage = sessionStorage }) {
    this.store = store;
    this.reread = reread;
    this.storage = storage;
    this.slot = `tiptrace.lease.${store.state.movieId}`;
    this.#former = storage.getItem(this.slot);
    storage.removeItem(this.slot);
    this.heart = new Poller({
      task: () => this.#beat(),
      interval: () => {
        const { lease } = this.store.state;
        return lease.kind === 'held' ? pulse(lease.expiresAt, now()) : null;
      },
      onProblem: (problem, failures) => {
        if (problem.retryable) this.store.dispatch({ type: 'connection/failed', failures });
        else this.lost();
      },
    });
  }

  /** Ask once; several callers share the one question. @param {{takeOver?: boolean}} [options] @returns {Promise<void>} */
  acquire({ takeOver = false } = {}) {
    this.#asking ??= this.#acquire(takeOver).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  /** After each reading of the movie: take it if it has become free and this page is waiting for it. */
  async takeIfFree() {
    const { state } = this.store;
    const { lease, metadata } = state;
    const waits = lease.kind === 'none' || lease.kind === 'handed' || (lease.kind === 'denied' && lease.reason !== 'right');
    if (!waits || isTracing(state) || isWaiting(state) || isUnusable(state)) return;
    if (lease.kind === 'denied' && metadata.analysis_lock?.active) return;
    if (lease.kind === 'denied' && unsavedFrames(state).length) {
      // Others may have edited meanwhile: whether older edits go over theirs is for a person to decide.
      this.store.dispatch({ type: 'lease/lost', at: now() });
      return;
    }
    await this.acquire();
  }

  /** Editing went elsewhere. A page with nothing to lose simply asks again; one with unsaved edits asks its person. */
  lost() {
    this.heart.stop();
    if (unsavedFrames(this.store.state).length) {
      this.store.dispatch({ type: 'lease/lost', at: now() });
      return;
    }
    this.store.dispatch({ type: 'lease/dropped' });
    this.reread(); // which asks for the lease again if the movie is free
  }

  /** This person may edit the movie no more, whoever holds it. @param {string} message */
  refused(message) {
    const { lease, movieId } = this.store.state;
    this.heart.stop();
    if (lease.kind === 'held') releaseLease(movieId, lease.id);
    this.store.dispatch({ type: 'lease/denied', reason: 'right', name: '', since: null, message });
    this.reread(); // maybe he may not even see it any more
  }

  /** A person is there: the page that had given its right back, because nobody was, asks for it again. */
  touched() {
    this.#touched = now();
    if (this.store.state.lease.kind !== 'rested' || now() - this.#woken < 5) return;
    this.#woken = now();
    void this.acquire().catch(() => {}).finally(() => this.reread());
  }

  /** The page is being left. It may come back: as a reload, or out of the browser's cache. */
  leave() {
    const { lease, movieId } = this.store.state;
    this.heart.stop();
    if (lease.kind !== 'held') return;
    this.storage.setItem(this.slot, lease.id);
    releaseLease(movieId, lease.id);
  }

  /** @param {boolean} takeOver */
  async #acquire(takeOver) {
    const { movieId } = this.store.state;
    this.#requestKey ??= freshKey();
    let reply;
    try {
      reply = await acquireLease({
        movie_id: movieId,
        lease_request_key: this.#requestKey,
        analysis_lease_id: this.#former,
        take_over: takeOver ? 1 : undefined,
      });
    } catch (thrown) {
      if (asProblem(thrown).kind !== 'conflict') throw thrown;
      this.#requestKey = null; // not ready yet, or deleted: the next reading of the movie tells
      return;
    }
    this.#requestKey = null;
    this.#former = null;
    if (reply.lease_id) {
      this.#touched = now();
      this.#patience = reply.idle_seconds ?? Infinity;
      this.store.dispatch({ type: 'lease/held', id: reply.lease_id, expiresAt: reply.analysis_lock.expires_at });
      this.heart.start();
      return;
    }
    const lock = reply.analysis_lock;
    const reason = lock?.active ? (lock.own_user ? 'own' : 'other') : reply.tracking_lock?.active ? 'tracing' : 'right';
    this.store.dispatch({
      type: 'lease/denied',
      reason,
      name: lock?.started_by_user_name ?? '',
      since: lock?.acquired_at ?? null,
      message: reply.message ?? '',
    });
  }

  /** A forgotten tab must not hold a movie all day. @param {string} id */
  #rest(id) {
    this.heart.stop();
    releaseLease(this.store.state.movieId, id);
    this.store.dispatch({ type: 'lease/rested', since: this.#touched });
  }

  async #beat() {
    const { lease, movieId } = this.store.state;
    if (lease.kind !== 'held') return;
    if (now() - this.#touched >= this.#patience && !unsavedFrames(this.store.state).length) {
      this.#rest(lease.id);
      return;
    }
    const reply = await heartbeatLease(movieId, lease.id);
    if (reply.active) this.store.dispatch({ type: 'lease/renewed', expiresAt: reply.expires_at });
    else this.lost();
  }
}

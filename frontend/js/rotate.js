// @ts-check
/** Turning the movie upright: one request key per click until it is answered, and a question before work is lost. */
import { rotateMovie } from './api.js';
import { announce, byId, freshKey, setText } from './dom.js';
import { repeated } from './poll.js';
import { asProblem } from './problem.js';
import { canEdit, hasResults, isUntouched, isWaiting, totalFrames } from './state.js';

/** @typedef {import('./state.js').State} State */

const TRIES = 5;

export class Rotation {
  #busy = false;

  /** @param {{store: import('./state.js').Store, saver: import('./saver.js').Saver, onTurned: () => void, onLost: () => void}} options */
  constructor({ store, saver, onTurned, onLost }) {
    this.store = store;
    this.saver = saver;
    this.onTurned = onTurned;
    this.onLost = onLost;
    const dialog = byId('rotate-dialog');
    byId('rotate').addEventListener('click', () => {
      if (this.#busy || !canEdit(store.state)) return;
      if (isUntouched(store.state)) return void this.#turn();
      setText(byId('rotate-loss'), `The markers${hasResults(store.state) ? ', their paths and the results' : ''} of this movie will be removed. This cannot be undone.`);
      dialog.returnValue = '';
      dialog.showModal();
    });
    dialog.addEventListener('close', () => {
      if (dialog.returnValue === 'rotate') void this.#turn();
    });
  }

  /** @param {State} state */
  render(state) {
    byId('rotate').disabled = this.#busy || !canEdit(state) || totalFrames(state) === 0;
    setText(byId('rotate'), isWaiting(state) ? 'Being checked…' : this.#busy ? 'Turning…' : 'Rotate by 90°');
  }

  async #turn() {
    const { store } = this;
    const { lease, movieId, metadata } = store.state;
    if (this.#busy || lease.kind !== 'held') return;
    this.#busy = true;
    this.render(store.state);
    setText(byId('rotate-problem'), '');
    const rotation = (Number(metadata?.rotation ?? 0) + 90) % 360;
    const wish = { movie_id: movieId, rotation, analysis_lease_id: lease.id, request_key: freshKey() };
    try {
      await this.saver.flush();
      const reply = await repeated(() => rotateMovie(wish), TRIES);
      // One that lay that way already, because somebody else had turned it, is left alone.
      store.dispatch({ type: reply.metadata.status === 'processing' ? 'movie/turned' : 'movie/changed', metadata: reply.metadata });
      announce('The movie is turned and is being checked.');
      this.onTurned();
    } catch (thrown) {
      const problem = asProblem(thrown);
      setText(byId('rotate-problem'), problem.message);
      if (problem.kind === 'conflict') this.onLost();
    } finally {
      this.#busy = false;
      this.render(store.state);
    }
  }
}

// @ts-check
/** The trace: asked for with one key per click until it is answered, watched, stopped. */
import { cancelTrace, traceMovie } from './api.js';
import { announce, byId, freshKey, now, setAttribute, setText, show } from './dom.js';
import { backoff } from './poll.js';
import { asProblem, retryReason } from './problem.js';
import { canEdit, hasResults, isTracing, markersAt, trimEnd, trimStart, unsavedFrames } from './state.js';
import { isOutOfDate, lastFrameToTrace, traceHint, tracingSentence } from './words.js';

/** @typedef {import('./state.js').State} State */

export class TracePanel {
  #focused = false;

  /** @param {{store: import('./state.js').Store, saver: import('./saver.js').Saver, onAccepted: () => void, onLost: () => void, onStopped: () => Promise<void>}} options */
  constructor({ store, saver, onAccepted, onLost, onStopped }) {
    this.store = store;
    this.saver = saver;
    this.onAccepted = onAccepted;
    this.onLost = onLost;
    byId('trace').addEventListener('click', () => void this.#start(trimStart(store.state)));
    byId('retrace').addEventListener('click', () => void this.#start(store.state.frame));
    byId('cancel-trace').addEventListener('click', async () => {
      byId('cancel-trace').disabled = true;
      try {
        await cancelTrace(store.state.movieId, store.state.metadata?.tracking_lock?.job_id).catch((thrown) => {
          if (asProblem(thrown).kind !== 'conflict') throw thrown; // it had ended by itself a moment before
        });
        await onStopped();
      } catch (thrown) {
        store.dispatch({ type: 'trace/refused', message: asProblem(thrown).message });
      } finally {
        byId('cancel-trace').disabled = false;
      }
    });
  }

  /** @param {State} state */
  render(state) {
    const editable = canEdit(state);
    const tracing = isTracing(state);
    const asking = state.ask.kind === 'asking';
    const traced = hasResults(state);
    const here = state.frame > trimStart(state) && state.frame < trimEnd(state) && markersAt(state, state.frame).length > 0;
    show(byId('trace-row'), !tracing);
    show(byId('retrace'), traced);
    byId('trace').disabled = !editable || markersAt(state, trimStart(state)).length === 0;
    byId('retrace').disabled = !editable || !here;
    setText(byId('trace'), asking ? 'Starting the trace…' : traced ? 'Trace again' : 'Trace movie');
    // The button that does what the last edit asks for is the strong one.
    const edits = unsavedFrames(state);
    const later = here && traced && (edits.includes(state.frame) || Boolean(state.metadata?.needs_retracing));
    byId('retrace').classList.toggle('primary', later);
    byId('trace').classList.toggle('primary', !later);
    setText(byId('trace-hint'), tracing ? '' : traceHint(state));
    const outOfDate = isOutOfDate(state);
    byId('trace-hint').classList.toggle('later', traced && !outOfDate);
    setAttribute(byId('trace-hint'), 'data-tone', outOfDate ? 'warn' : null);
    show(byId('tracing'), tracing);
    if (tracing) {
      setText(byId('trace-sentence'), tracingSentence(state, now()));
      show(byId('cancel-trace'), state.metadata.can_edit !== false);
      setText(byId('cancel-trace'), state.metadata.resuming ? 'Stop and edit now' : 'Cancel');
      const bar = byId('trace-progress');
      const last = lastFrameToTrace(state);
      const first = trimStart(state);
      if (state.progress && state.progress.frame > first) {
        bar.max = Math.max(1, last - first);
        bar.value = state.progress.frame - first;
      } else bar.removeAttribute('value');
    }
    this.#keepFocus(byId(tracing ? 'cancel-trace' : 'trace'));
    const refusal = byId('trace-problem');
    const slow = state.ask.kind === 'asking' && state.ask.attempt > 0;
    setText(refusal, state.ask.kind === 'refused' ? state.ask.message : slow ? 'No answer yet. Trying again; it will be traced once.' : '');
    show(refusal, refusal.textContent !== '');
  }

  /** The button that was pressed goes away; the focus goes to the one that takes its place. @param {HTMLButtonElement} next */
  #keepFocus(next) {
    const active = document.activeElement;
    if (active?.closest('#action')) this.#focused = true;
    else if (active !== document.body) this.#focused = false;
    if (this.#focused && active === document.body && !next.disabled) next.focus({ preventScroll: true });
  }

  /** @param {number} source the frame whose markers are followed */
  async #start(source) {
    const { store } = this;
    if (!canEdit(store.state)) return;
    const fields = { movie_id: store.state.movieId, frame_start: source, keep_placed: 1, request_key: freshKey() };
    store.dispatch({ type: 'markers/kept' });
    let retry = null;
    for (let attempt = 0; ; attempt += 1) {
      store.dispatch({ type: 'trace/asked', source, attempt });
      const { lease } = store.state;
      if (lease.kind !== 'held') return;
      try {
        await this.saver.flush();
        await traceMovie({ ...fields, analysis_lease_id: lease.id }, retry);
        store.dispatch({ type: 'trace/accepted', source, now: now() });
        announce('The trace has started.');
        this.onAccepted();
        return;
      } catch (thrown) {
        const problem = asProblem(thrown);
        if (problem.kind === 'conflict') {
          store.dispatch({ type: 'trace/refused', message: problem.message });
          this.onLost();
          return;
        }
        if (!problem.retryable) {
          store.dispatch({ type: 'trace/refused', message: problem.message });
          return;
        }
        retry = retryReason(problem);
        const wait = Math.max(problem.retryAfter ?? 0, backoff(attempt + 1, Math.random()));
        await new Promise((resolve) => setTimeout(resolve, wait * 1000));
      }
    }
  }
}

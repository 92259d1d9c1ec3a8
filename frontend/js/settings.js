// @ts-check
/** Which frames count, and how much time lies between two pictures. */
import { setFpm, setTrim } from './api.js';
import { byId, setText } from './dom.js';
import { asProblem } from './problem.js';
import { canEdit, isTracing, totalFrames, trimEnd, trimStart } from './state.js';
import { tidy } from './words.js';

/** @typedef {import('./state.js').State} State */

/** Seconds in the units a person may choose. @type {Record<string, number>} */
const UNITS = { s: 1, min: 60, h: 3600 };

/** The unit in which an interval is the shortest to write. @param {number} fpm @returns {{count: string, unit: string}} */
export function intervalOf(fpm) {
  const seconds = 60 / fpm;
  const unit = seconds >= 3600 ? 'h' : seconds >= 60 ? 'min' : 's';
  return { count: tidy(seconds / UNITS[unit]), unit };
}

/** Frames per minute, with the ten digits that the server keeps. @param {number} count @param {string} unit */
export const fpmOf = (count, unit) => Number((60 / (count * UNITS[unit])).toPrecision(10));

export class Settings {
  /** @param {{store: import('./state.js').Store, onLost: () => void, onSet: (metadata: any) => Promise<void>}} options `onSet`: what the server answered */
  constructor({ store, onLost, onSet }) {
    this.store = store;
    this.onLost = onLost;
    this.onSet = onSet;
    const trim = this.trim.bind(this);
    byId('trim-start').addEventListener('change', () => trim('trim_start_frame', Number(byId('trim-start').value)));
    byId('trim-end').addEventListener('change', () => trim('trim_end_frame', Number(byId('trim-end').value)));
    byId('start-here').addEventListener('click', () => trim('trim_start_frame', store.state.frame));
    byId('end-here').addEventListener('click', () => trim('trim_end_frame', store.state.frame));
    byId('interval-form').addEventListener('submit', (/** @type {Event} */ event) => {
      event.preventDefault();
      const count = Number(byId('interval-count').value);
      if (!(count > 0)) return setText(byId('settings-problem'), 'How long is it from one picture to the next? A number above zero is needed.');
      return this.#set(() => setFpm({ ...this.#held(), fpm: fpmOf(count, byId('interval-unit').value) }));
    });
  }

  /** @param {State} state @param {State | null} before */
  render(state, before) {
    const editable = canEdit(state);
    const total = totalFrames(state);
    for (const id of ['trim-start', 'trim-end', 'start-here', 'end-here', 'interval-count', 'interval-unit', 'interval-save']) {
      byId(id).disabled = !editable || total === 0;
    }
    byId('start-here').disabled ||= state.frame > trimEnd(state) || state.frame === trimStart(state);
    byId('end-here').disabled ||= state.frame < trimStart(state) || state.frame === trimEnd(state);
    const fpm = Number(state.metadata?.fpm ?? 0);
    setText(byId('interval-now'), fpm > 0 ? '' : 'Not known yet: rates are per frame.');
    setText(byId('movie-warnings'), (state.metadata?.inspection?.warnings ?? []).join(' '));
    if (before?.metadata === state.metadata || isTracing(state)) return;
    byId('trim-start').value = String(trimStart(state));
    byId('trim-end').value = String(trimEnd(state));
    byId('trim-start').max = byId('trim-end').max = String(Math.max(0, total - 1));
    if (fpm > 0 && Number(before?.metadata?.fpm ?? 0) !== fpm) {
      const { count, unit } = intervalOf(fpm);
      byId('interval-count').value = count;
      byId('interval-unit').value = unit;
    }
  }

  /** @param {'trim_start_frame' | 'trim_end_frame'} edge @param {number} frame */
  trim(edge, frame) {
    return this.#set(() => setTrim({ ...this.#held(), [edge]: frame }));
  }

  #held() {
    const { lease, movieId } = this.store.state;
    return { movie_id: movieId, analysis_lease_id: lease.kind === 'held' ? lease.id : '' };
  }

  /** @param {() => Promise<any>} change */
  async #set(change) {
    const line = byId('settings-problem');
    setText(line, '');
    try {
      await this.onSet((await change()).metadata);
    } catch (thrown) {
      const problem = asProblem(thrown);
      setText(line, problem.message);
      byId('trim-start').value = String(trimStart(this.store.state));
      byId('trim-end').value = String(trimEnd(this.store.state));
      if (problem.kind === 'conflict') this.onLost();
    }
  }
}

// @ts-check
/** The list of markers beside the frame: choose, move by key or by button, rename, delete, add. */
import { announce, byId, keyed, make, setAttribute, setText, show } from './dom.js';
import { ARROWS, PALETTE, nudge, rulerMillimetres } from './geometry.js';
import { MOST_MARKERS, canEdit, isByHand, isTracing, isUntouched, markersAt, trimStart } from './state.js';
import { calibrationWords, savingWord } from './words.js';

const STEP = 1;
const LONG_STEP = 10;
const INFLECTION = 'Inflection Point';

export class MarkerList {
  /** @type {string | null} the marker whose name is being typed */
  #renaming = null;
  #gesture = 0;

  /** @param {{store: import('./state.js').Store, onRename: (from: string, to: string) => Promise<void>, onStep: (step: 'undone' | 'redone') => Promise<void>}} options */
  constructor({ store, onRename, onStep }) {
    this.store = store;
    this.onRename = onRename;
    this.list = byId('marker-list');
    byId('add-marker').addEventListener('click', () => this.#add(this.#freeName()));
    byId('add-inflection').addEventListener('click', () => this.#add(INFLECTION));
    byId('undo').addEventListener('click', () => void onStep('undone'));
    byId('redo').addEventListener('click', () => void onStep('redone'));
    byId('copy-markers').addEventListener('click', () =>
      store.dispatch({ type: 'markers/copied', source: trimStart(store.state) }));
    byId('go-to-markers').addEventListener('click', () =>
      store.dispatch({ type: 'frame/shown', frame: trimStart(store.state) }));
  }

  /** @param {import('./state.js').State} state */
  render(state) {
    const editable = canEdit(state);
    const markers = markersAt(state, state.frame);
    const words = calibrationWords(state);
    keyed(this.list, markers, (marker) => marker.label, (marker) => this.#row(marker.label),
      (row, marker) => this.#update(row, marker, { state, editable, pxPerMm: words.pxPerMm }));
    setText(byId('calibration'), words.text);
    byId('calibration').dataset.tone = words.tone;
    const first = trimStart(state);
    const none = markers.length === 0 && state.metadata !== null && !isTracing(state);
    show(byId('no-markers'), none && state.frame !== first);
    setText(byId('no-markers-text'), `No markers on this frame. They are placed on frame ${first} and followed from there.`);
    show(byId('copy-markers'), editable && !isUntouched(state));
    const full = markers.length >= MOST_MARKERS;
    byId('add-marker').disabled = !editable || full;
    byId('add-inflection').disabled = !editable || full || markers.some((marker) => marker.label === INFLECTION);
    byId('undo').disabled = !editable || state.undo.length === 0;
    byId('redo').disabled = !editable || state.redo.length === 0;
    const saving = savingWord(state);
    const word = byId('saving');
    setText(word, saving?.word ?? '');
    word.dataset.tone = saving?.tone ?? 'calm';
    setText(byId('save-problem'), state.lease.kind === 'held' && state.failures < 2 ? (state.saveProblem ?? '') : '');
  }

  /** @param {string} label */
  #row(label) {
    const labelOf = (/** @type {Event} */ event) => /** @type {any} */ (event.currentTarget).closest('li').dataset.key;
    const select = make('button', {
      type: 'button', class: 'marker-main', 'aria-describedby': 'marker-keys',
      onclick: (/** @type {Event} */ event) => this.store.dispatch({ type: 'marker/selected', label: labelOf(event) }),
      onfocus: (/** @type {Event} */ event) => this.store.dispatch({ type: 'marker/selected', label: labelOf(event) }),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event, labelOf(event)),
      onkeyup: () => { this.#gesture += 1; },
    },
    make('span', { class: 'dot', 'aria-hidden': 'true' }), make('span', { class: 'marker-name' }),
    make('span', { class: 'marker-px' }), make('span', { class: 'marker-mm' }));
    const arrows = Object.entries({ ArrowLeft: '←', ArrowUp: '↑', ArrowDown: '↓', ArrowRight: '→' }).map(([key, glyph]) =>
      make('button', {
        type: 'button', class: 'icon', text: glyph, 'aria-label': `Move ${label} ${key.slice(5).toLowerCase()} by 1 pixel`,
        onclick: (/** @type {MouseEvent} */ event) => {
          this.#gesture += 1;
          this.#nudge(labelOf(event), key, event.shiftKey ? LONG_STEP : STEP);
        },
      }));
    const tools = make('div', { class: 'marker-tools' }, ...arrows, make('span', { class: 'spring' }),
      make('button', { type: 'button', class: 'quiet', text: 'Rename', onclick: (/** @type {Event} */ event) => this.#startRenaming(labelOf(event)) }),
      make('button', { type: 'button', class: 'quiet danger', text: 'Delete', onclick: (/** @type {Event} */ event) => this.#delete(labelOf(event)) }));
    const form = make('form', { class: 'rename', hidden: true, onsubmit: (/** @type {Event} */ event) => void this.#finishRenaming(event, labelOf(event)) },
      make('input', { type: 'text', maxlength: 100, 'aria-label': `New name of ${label}`, required: true, autocomplete: 'off',
        onkeydown: (/** @type {KeyboardEvent} */ event) => { if (event.key === 'Escape') this.#stopRenaming(labelOf(event)); } }),
      make('button', { type: 'submit', text: 'Rename' }),
      make('button', { type: 'button', class: 'quiet', text: 'Keep', onclick: (/** @type {Event} */ event) => this.#stopRenaming(labelOf(event)) }),
      make('p', { class: 'field-problem', role: 'alert' }));
    return make('li', { class: 'marker' }, select, tools, form);
  }

  /** @param {any} row @param {import('./geometry.js').Marker} marker @param {{state: import('./state.js').State, editable: boolean, pxPerMm: number | null}} facts */
  #update(row, marker, { state, editable, pxPerMm }) {
    const selected = state.selected === marker.label;
    const renaming = this.#renaming === marker.label && editable;
    const lost = marker.status === 0;
    row.classList.toggle('selected', selected);
    row.classList.toggle('lost', lost);
    row.querySelector('.dot').style.setProperty('--color', marker.color ?? PALETTE[0]);
    setText(row.querySelector('.marker-name'), marker.label + (lost ? ' (lost here)' : ''));
    setText(row.querySelector('.marker-px'), `${marker.x.toFixed(1)}, ${marker.y.toFixed(1)}`);
    const ruler = rulerMillimetres(marker.label) !== null;
    setText(row.querySelector('.marker-mm'), pxPerMm && !ruler ? `${(marker.x / pxPerMm).toFixed(2)}, ${(marker.y / pxPerMm).toFixed(2)}` : '–');
    setAttribute(row.querySelector('.marker-main'), 'aria-pressed', String(selected));
    show(row.querySelector('.marker-tools'), selected && editable && !renaming);
    // A word of a person's on a later frame outlasts every trace, until the person takes it back.
    const byHand = isByHand(state, marker);
    row.classList.toggle('by-hand', byHand);
    const remove = row.querySelector('.danger');
    setText(remove, byHand ? 'Leave to the trace' : 'Delete');
    setAttribute(remove, 'title', byHand ? 'Take your point off this frame; the next trace finds the marker here by itself' : null);
    show(remove, byHand || !marker.undeletable);
    show(row.querySelector('form'), renaming);
  }

  /** @param {KeyboardEvent} event @param {string} label */
  #key(event, label) {
    if (event.ctrlKey || event.metaKey || event.altKey || !canEdit(this.store.state)) return;
    if (event.key in ARROWS) {
      event.preventDefault();
      if (!event.repeat) this.#gesture += 1;
      this.#nudge(label, event.key, event.shiftKey ? LONG_STEP : STEP);
    } else if (event.key === 'Delete') {
      event.preventDefault();
      this.#delete(label);
    } else if (event.key === 'F2') {
      event.preventDefault();
      this.#startRenaming(label);
    }
  }

  /** @param {string} label @param {string} key @param {number} step */
  #nudge(label, key, step) {
    const { state } = this.store;
    const marker = markersAt(state, state.frame).find((other) => other.label === label);
    if (!marker || !state.size) return;
    const moved = nudge(marker, key, step, state.size);
    this.store.dispatch({ type: 'marker/moved', label, ...moved, gesture: `keys ${this.#gesture}` });
    announce(`${label} at ${moved.x.toFixed(1)}, ${moved.y.toFixed(1)}`);
  }

  #freeName() {
    const taken = new Set(markersAt(this.store.state, this.store.state.frame).map((marker) => marker.label));
    let number = 1;
    while (taken.has(`Marker ${number}`)) number += 1;
    return `Marker ${number}`;
  }

  /** In the middle of the frame, a little aside of what is there already. @param {string} label */
  #add(label) {
    const { size, frame } = this.store.state;
    if (!size) return;
    const shift = (markersAt(this.store.state, frame).length * 24) % 120;
    this.store.dispatch({ type: 'marker/added', label, x: Math.round(size.width / 2) + shift, y: Math.round(size.height / 2) });
    const rows = /** @type {any[]} */ ([...this.list.children]);
    rows.find((row) => row.dataset.key === label)?.querySelector('.marker-main').focus();
    announce(`${label} added. Arrow keys move it.`);
  }

  /** @param {string} label */
  #delete(label) {
    const { state } = this.store;
    const byHand = markersAt(state, state.frame).some((marker) => marker.label === label && isByHand(state, marker));
    this.store.dispatch({ type: 'marker/deleted', label });
    announce(byHand ? `${label} is left to the next trace on this frame. Undo brings your point back.` : `${label} removed from this frame. Undo brings it back.`);
    (this.list.querySelector('.marker-main') ?? byId('add-marker')).focus();
  }

  /** @param {string} label */
  #startRenaming(label) {
    this.#renaming = label;
    this.render(this.store.state);
    const row = this.#rowOf(label);
    const input = row.querySelector('input');
    setText(row.querySelector('.field-problem'), '');
    input.value = label;
    input.select();
    input.focus();
  }

  /** @param {string} label */
  #stopRenaming(label) {
    this.#renaming = null;
    this.render(this.store.state);
    this.#rowOf(label)?.querySelector('.marker-main').focus();
  }

  /** @param {Event} event @param {string} from */
  async #finishRenaming(event, from) {
    event.preventDefault();
    const row = this.#rowOf(from);
    const to = row.querySelector('input').value.trim();
    const { state } = this.store;
    if (to === from) return this.#stopRenaming(from);
    if (markersAt(state, state.frame).some((marker) => marker.label === to)) {
      return setText(row.querySelector('.field-problem'), `There is a marker called ${to} already.`);
    }
    try {
      await this.onRename(from, to);
      this.#stopRenaming(to);
    } catch (thrown) {
      setText(row.querySelector('.field-problem'), /** @type {Error} */ (thrown).message);
    }
  }

  /** @param {string} label @returns {any} */
  #rowOf(label) {
    return [...this.list.children].find((row) => /** @type {any} */ (row).dataset.key === label);
  }
}

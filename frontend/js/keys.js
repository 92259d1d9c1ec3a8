// @ts-check
/**
 * Keyboard shortcuts of the Analyze page. Those of a single character can be switched off, for people who speak to
 * their computer. A control that has the focus keeps the keys that it uses itself.
 */
import { byId } from './dom.js';

const SWITCH = 'tiptrace.single-keys';
const TYPED_IN = 'input:not([type=range]):not([type=checkbox]), textarea, select';
/** What moves, scrolls or steps by arrow keys itself. */
const USES_ARROWS = 'input, textarea, select, [role=slider], [role=tab], [role=region], [role=toolbar], #marker-list, #nearness, dialog, [data-keys]';
const USES_SPACE = 'button, a, summary, input:not([type=range]), textarea, select, [role=button], [role=tab], [role=region], dialog, [data-keys]';

/**
 * @param {{goTo: (frame: number) => void, frame: () => number, first: () => number, last: () => number,
 *   play: (step: 1 | -1) => void, toggle: () => void, step: (which: 'undone' | 'redone') => Promise<void>, nextDoubtful: () => void,
 *   closer: (direction: 1 | -1) => void, fit: () => void, pan: (right: number, down: number) => void}} can
 */
export function listenToKeys(can) {
  const dialog = byId('shortcuts');
  const box = byId('single-keys');
  box.checked = localStorage.getItem(SWITCH) !== 'off';
  box.addEventListener('change', () => localStorage.setItem(SWITCH, box.checked ? 'on' : 'off'));
  byId('show-shortcuts').addEventListener('click', () => dialog.showModal());

  /** @param {number} by */
  const go = (by) => () => can.goTo(can.frame() + by);
  /** @type {Record<string, () => void>} */
  const single = {
    ',': go(-1), '.': go(1), '<': go(-10), '>': go(10),
    k: can.toggle, j: () => can.play(-1), n: can.nextDoubtful,
    '+': () => can.closer(1), '=': () => can.closer(1), '-': () => can.closer(-1), 0: can.fit,
    w: () => can.pan(0, -1), a: () => can.pan(-1, 0), s: () => can.pan(0, 1), d: () => can.pan(1, 0),
    '?': () => dialog.showModal(),
  };
  /** @type {Record<string, (shift: boolean) => void>} */
  const travel = {
    ArrowLeft: (shift) => go(shift ? -10 : -1)(), ArrowRight: (shift) => go(shift ? 10 : 1)(),
    Home: () => can.goTo(can.first()), End: () => can.goTo(can.last()),
  };
  /** @type {Record<string, [number, number]>} */
  const pans = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  byId('nearness').addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const by = pans[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    can.pan(...by);
  });
  document.addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.defaultPrevented || target.matches(TYPED_IN) || document.querySelector('dialog[open]')) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'z') {
      event.preventDefault();
      void can.step(event.shiftKey ? 'redone' : 'undone');
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {(() => void) | null} */
    let act = null;
    if (event.key === ' ') act = target.closest(USES_SPACE) ? null : () => event.repeat || can.toggle();
    else if (travel[event.key]) act = target.closest(USES_ARROWS) ? null : () => travel[event.key](event.shiftKey);
    else if (box.checked) act = single[event.key] ?? null;
    if (!act) return;
    event.preventDefault();
    act();
  });
}

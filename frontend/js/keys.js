// @ts-check
/** Keyboard shortcuts of the Analyze page. Those of a single key can be switched off, for people who speak to their computer. */
import { byId } from './dom.js';

const SWITCH = 'tiptrace.single-keys';

/** @param {{goTo: (frame: number) => void, frame: () => number, play: () => void, step: (which: 'undone' | 'redone') => Promise<void>, nextDoubtful: () => void}} can */
export function listenToKeys(can) {
  const dialog = byId('shortcuts');
  const box = byId('single-keys');
  box.checked = localStorage.getItem(SWITCH) !== 'off';
  box.addEventListener('change', () => localStorage.setItem(SWITCH, box.checked ? 'on' : 'off'));
  byId('show-shortcuts').addEventListener('click', () => dialog.showModal());

  /** @type {Record<string, () => void>} */
  const single = {
    ',': () => can.goTo(can.frame() - 1),
    '.': () => can.goTo(can.frame() + 1),
    '<': () => can.goTo(can.frame() - 10),
    '>': () => can.goTo(can.frame() + 10),
    k: can.play,
    n: can.nextDoubtful,
    '?': () => dialog.showModal(),
  };
  document.addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.matches('input:not([type=range]):not([type=checkbox]), textarea, select') || dialog.open) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'z') {
      event.preventDefault();
      void can.step(event.shiftKey ? 'redone' : 'undone');
    } else if (!event.ctrlKey && !event.metaKey && !event.altKey && box.checked && single[event.key]) {
      event.preventDefault();
      single[event.key]();
    }
  });
}

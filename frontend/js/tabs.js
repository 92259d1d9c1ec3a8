// @ts-check
/** On a narrow screen one sheet with tabs holds what stands side by side on a wide one; the style sheet does the rest. */
import { byId } from './dom.js';

export function openTabs() {
  const page = byId('page');
  const tabs = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[role=tab]')]);
  /** @param {HTMLElement} chosen */
  const choose = (chosen) => {
    page.dataset.tab = chosen.dataset.tab ?? '';
    for (const tab of tabs) {
      tab.setAttribute('aria-selected', String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
    }
  };
  tabs.forEach((tab, index) => {
    tab.addEventListener('click', () => choose(tab));
    tab.addEventListener('keydown', (event) => {
      const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
      if (!by) return;
      const next = tabs[(index + by + tabs.length) % tabs.length];
      choose(next);
      next.focus();
      event.preventDefault();
    });
  });
  choose(tabs[0]);
}

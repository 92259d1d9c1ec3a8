// @ts-check
/**
 * The head of every page for people who are signed in: the way to the other pages, and who is here. A page brings an
 * empty `header.top` (or one with what it alone needs), so that nothing moves when this is filled in.
 */
import { byId, make, setAttribute, setText, show } from './dom.js';

/** @typedef {{id: string, href: string, label: string, for: (user: any) => boolean}} Place */

/** May this person see who is in a course? The server decides; this only spares others a way that leads nowhere. @param {any} user */
export const oversees = (user) =>
  user.admin_of.length > 0 || user.roles.some((/** @type {string} */ role) => role === 'superadmin' || role === 'superauditor');

/** @type {Place[]} */
export const PLACES = [
  { id: 'movies', href: './', label: 'Movies', for: () => true },
  { id: 'activity', href: 'activity', label: 'Activity', for: () => true },
  { id: 'course', href: 'course', label: 'Course', for: oversees },
];

const NOBODY = { admin_of: [], roles: [] };

/** Fills the head of this page, before it is known who is here. */
export function openHead() {
  const head = /** @type {HTMLElement} */ (document.querySelector('header.top'));
  const links = PLACES.map((place) => make('a', {
    href: place.href, id: `to-${place.id}`, text: place.label, hidden: !place.for(NOBODY), 'aria-current': head.dataset.page === place.id ? 'page' : null,
  }));
  head.prepend(
    make('a', { class: 'brand', href: './' }, make('img', { src: 'static/icon.svg', alt: '', width: 28, height: 28 }), make('span', { text: 'tiptrace' })),
    make('nav', { class: 'places', 'aria-label': 'Pages' }, ...links),
  );
  if (!head.querySelector('.spring')) head.append(make('span', { class: 'spring' }));
  head.append(
    make('div', { id: 'who', class: 'who', hidden: true },
      make('span', { id: 'course-name', class: 'course' }),
      make('span', { id: 'user-name' }),
      make('button', { type: 'button', id: 'sign-out', class: 'quiet', text: 'Sign out' })),
  );
}

/** Says who is here, and shows the ways that are open to them. @param {any} user */
export function greet(user) {
  setText(byId('user-name'), user.user_name || user.email);
  setText(byId('course-name'), user.course_name ?? '');
  setAttribute(byId('user-name'), 'title', user.email);
  show(byId('who'), true);
  for (const place of PLACES) show(byId(`to-${place.id}`), place.for(user));
}

// @ts-check
/** Small words for the document: find, make, set. Nothing here knows of movies. */

/** The element with this id; a page without it is broken, and says so. @param {string} id @returns {any} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no #${id}`);
  return found;
}

/**
 * @param {string} tag @param {Record<string, any>} [attributes] `on...` are listeners, `text` is the content
 * @param {...(Node | string | null)} children @returns {any}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'text') element.textContent = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Only when it differs, so that a screen reader is not told the same thing again. @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {HTMLElement} element @param {boolean} shown */
export function show(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
}

/** @param {Element} element @param {string} name @param {string | null} value */
export function setAttribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** A link that leads somewhere, or plainly nowhere. @param {HTMLAnchorElement} link @param {string | null} href */
export function setLink(link, href) {
  setAttribute(link, 'href', href);
  setAttribute(link, 'aria-disabled', href ? null : 'true');
}

/** A fresh random name. @returns {string} */
export const freshKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Epoch seconds. */
export const now = () => Date.now() / 1000;

/** One element per key, in order; elements of keys that stay are kept, with their focus. @template T
 * @param {HTMLElement} list @param {T[]} items @param {(item: T) => string} keyOf
 * @param {(item: T) => any} build @param {(element: any, item: T) => void} update */
export function keyed(list, items, keyOf, build, update) {
  const held = new Map([...list.children].map((child) => [/** @type {HTMLElement} */ (child).dataset.key, child]));
  items.forEach((item, index) => {
    const key = keyOf(item);
    const element = held.get(key) ?? build(item);
    element.dataset.key = key;
    held.delete(key);
    update(element, item);
    if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
  });
  for (const element of held.values()) element.remove();
}

/** Says a sentence to screen readers, politely. @param {string} sentence */
export function announce(sentence) {
  const region = document.getElementById('announcer');
  if (region) setText(region, sentence);
}

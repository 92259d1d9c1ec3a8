// @ts-check
/**
 * Style elements that scripts make, without style elements.
 *
 * The page's policy lets no inline style in, so that nobody's text can ever restyle the page; a style element made by
 * a script counts as inline too. A sheet that is adopted does not. So what a library makes by `createElement('style')`
 * is here an element that holds its text itself and lends it, as a sheet, to the shadow root it stands in. Sheets keep
 * the order of their elements, as the cascade wants it.
 */

/** Sheets that came whole: a library gives many of its elements the same ones, and reading one takes a while. @type {Map<string, CSSStyleSheet>} */
const shared = new Map();

/** @param {string} text @returns {CSSStyleSheet} */
function sheetOf(text) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return sheet;
}

class LentStyle extends HTMLElement {
  /** @type {CSSStyleSheet | null} */
  #sheet = null;
  #own = false;
  #text = '';
  /** @type {ShadowRoot | Document | null} */
  #borrower = null;

  /** @returns {string} */
  get textContent() {
    return this.#text;
  }

  /** What is said first, unless it is nothing, is the same for all who say it; who says something else later has a sheet of his own. */
  set textContent(text) {
    const before = this.#sheet;
    this.#text = text ?? '';
    if (this.#own) this.#sheet?.replaceSync(this.#text);
    else if (this.#sheet === null && this.#text !== '') {
      this.#sheet = shared.get(this.#text) ?? sheetOf(this.#text);
      shared.set(this.#text, this.#sheet);
    } else {
      this.#own = true;
      this.#sheet = sheetOf(this.#text);
    }
    if (this.#borrower && this.#sheet !== before) lend(this.#borrower);
  }

  /** @returns {CSSStyleSheet} */
  get sheet() {
    this.#sheet ??= new CSSStyleSheet();
    return this.#sheet;
  }

  connectedCallback() {
    this.style.setProperty('display', 'none', 'important'); // as a style element: no place in a grid
    const root = this.getRootNode();
    this.#borrower = root instanceof ShadowRoot || root instanceof Document ? root : null;
    if (this.#borrower) lend(this.#borrower);
  }

  disconnectedCallback() {
    if (this.#borrower) lend(this.#borrower);
    this.#borrower = null;
  }
}

/** @param {ShadowRoot | Document} root */
function lend(root) {
  const lenders = /** @type {NodeListOf<LentStyle>} */ (root.querySelectorAll('lent-style'));
  root.adoptedStyleSheets = [...lenders].map((lender) => lender.sheet);
}

/** From now on; before a library that makes style elements is loaded. */
export function adoptStyles() {
  if (customElements.get('lent-style')) return;
  customElements.define('lent-style', LentStyle);
  const create = document.createElement.bind(document);
  /** @param {string} tag @param {any} [options] @returns {any} */
  document.createElement = (tag, options) => create(String(tag).toLowerCase() === 'style' ? 'lent-style' : tag, options);
}

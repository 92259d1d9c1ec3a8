// @ts-check
/**
 * Style elements that scripts make, without style elements.
 *
 * The page's policy lets no inline style in, so that nobody's text can ever restyle the page; a style element made by
 * a script counts as inline too. A sheet that is adopted does not. So what a library makes by `createElement('style')`
 * is here an element that holds its text itself and lends it, as a sheet, to the shadow root it stands in. Sheets keep
 * the order of their elements, as the cascade wants it.
 */

class LentStyle extends HTMLElement {
  /** @type {CSSStyleSheet} */
  #sheet = new CSSStyleSheet();
  #text = '';
  /** @type {ShadowRoot | Document | null} */
  #borrower = null;

  /** @returns {string} */
  get textContent() {
    return this.#text;
  }

  set textContent(text) {
    this.#text = text ?? '';
    this.#sheet.replaceSync(this.#text);
  }

  /** @returns {CSSStyleSheet} */
  get sheet() {
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

// @ts-check
/** The library that draws the charts, fetched when there is something to chart. */
import { adoptStyles } from './adopted_styles.js';
import { address } from './api.js';

/** @type {Promise<any> | null} */
let loading = null;

/** BokehJS, once per page; a failed attempt may be repeated. @returns {Promise<any>} */
export function loadBokeh() {
  loading ??= fetched().catch((thrown) => {
    loading = null;
    throw thrown;
  });
  return loading;
}

/** @returns {Promise<any>} */
async function fetched() {
  adoptStyles();
  await quiet();
  const script = document.createElement('script');
  script.src = address('static/bokeh.js');
  await new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = () => reject(new Error('The charts could not be fetched.'));
    document.head.append(script);
  });
  script.remove();
  const bokeh = /** @type {any} */ (globalThis).Bokeh;
  bokeh.set_log_level('error');
  return bokeh;
}

/** When the page has nothing better to do: frames and markers come first. */
export const quiet = () =>
  new Promise((resolve) => {
    if ('requestIdleCallback' in window) requestIdleCallback(resolve, { timeout: 1500 });
    else setTimeout(resolve, 200);
  });

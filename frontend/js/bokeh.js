// @ts-check
/**
 * The library that draws the charts, fetched when there is something to chart, and woken part by part: none of its
 * parts holds the page up for long, and what no chart needs sleeps on.
 */
import { adoptStyles } from './adopted_styles.js';
import { address } from './api.js';

/** Parts that others are made of, in such an order that each has little left to wake. */
const GROUNDS = [
  'core/has_props', 'model', 'models/ui/ui_element', 'document', 'models/annotations/annotation', 'models/layouts/layout_dom',
  'models/axes/linear_axis', 'models/tools/toolbar', 'models/plots/plot_canvas', 'embed/standalone',
];
/** What the panels are made of. */
const MODELS = [
  'plots/plot', 'axes/linear_axis', 'formatters/basic_tick_formatter', 'tickers/basic_ticker', 'grids/grid', 'ranges/range1d',
  'sources/column_data_source', 'renderers/glyph_renderer', 'glyphs/multi_line', 'glyphs/scatter', 'glyphs/vstrip',
];

/** @typedef {{Models: any, Document: any, embed: (whole: any, host: HTMLElement, hosts: HTMLElement[]) => Promise<any>}} Bokeh */

/** @type {Promise<Bokeh> | null} */
let loading = null;

/** BokehJS, once per page; a failed attempt may be repeated. @returns {Promise<Bokeh>} */
export function loadBokeh() {
  loading ??= fetched().catch((thrown) => {
    loading = null;
    throw thrown;
  });
  return loading;
}

/** @returns {Promise<Bokeh>} */
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
  const part = /** @type {any} */ (globalThis).Bokeh.require;
  for (const name of [...GROUNDS, ...MODELS.map(modelName)]) {
    await breath();
    part(name);
  }
  part('core/logging').set_log_level('error');
  const models = Object.assign({}, ...MODELS.map((name) => part(modelName(name))));
  return {
    Models: { ...models, Plot: unhurried(models) },
    Document: part('document').Document,
    embed: part('embed/standalone').add_document_standalone,
  };
}

/** A plot that is put together in several steps, between which the page does other things. @param {any} models */
function unhurried({ Plot, PlotView }) {
  class View extends PlotView {
    async lazy_initialize() {
      await breath();
      await super.lazy_initialize();
      await breath();
    }

    async build_renderer_views() {
      await breath();
      return super.build_renderer_views();
    }
  }
  return class extends Plot {
    static {
      this.prototype.default_view = View;
    }
  };
}

/** @param {string} name */
const modelName = (name) => `models/${name}`;

/** When the page has nothing better to do: frames and markers come first. */
export const quiet = () =>
  new Promise((resolve) => {
    if ('requestIdleCallback' in window) requestIdleCallback(resolve, { timeout: 1500 });
    else setTimeout(resolve, 200);
  });

/** After all that waits for its turn already. */
export const breath = () => new Promise((resolve) => setTimeout(resolve));

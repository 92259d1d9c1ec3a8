// @ts-check
/**
 * One drawing by BokehJS: lines that break where nothing was seen, stretches of time shaded behind them, two axes.
 * Bokeh draws and does nothing else; what hands do on it is the chart's own affair.
 *
 * @typedef {{ink: string, muted: string, line: string, lost: string, doubtful: string, font: string, size: number,
 *   weight: number}} Look  `size`: of letters, px; `weight`: of lines, px
 * @typedef {import('./thinning.js').Line & {color: string}} Drawn
 * @typedef {{x0: number[], x1: number[]}} Strips
 * @typedef {{left: number, top: number, width: number, height: number}} Box  CSS px inside the drawing
 */
import { lonely } from './thinning.js';

/** @typedef {import('./bokeh.js').Bokeh} Bokeh */

/** A range that whoever draws sets. @param {Bokeh} bokeh */
export const newRange = (bokeh) => new bokeh.Models.Range1d({ start: 0, end: 1 });

export class Panel {
  #view = /** @type {any} */ (null);

  /**
   * @param {Bokeh} bokeh @param {{xRange: any, height: number, width?: number, left?: number, right?: number,
   *   xLabel?: string, yLabel?: string}} options  without a width it is as wide as its host
   */
  constructor(bokeh, { xRange, height, width, left = 56, right = 12, xLabel, yLabel }) {
    const { Models } = bokeh;
    const source = (/** @type {string[]} */ ...names) =>
      new Models.ColumnDataSource({ data: Object.fromEntries(names.map((name) => [name, []])) });
    this.sources = {
      lines: source('xs', 'ys', 'color'), dots: source('x', 'y', 'color'),
      lost: source('x0', 'x1'), doubtful: source('x0', 'x1'),
    };
    this.glyphs = {
      lines: new Models.MultiLine({ xs: { field: 'xs' }, ys: { field: 'ys' }, line_color: { field: 'color' }, line_join: { value: 'round' }, line_cap: { value: 'round' } }),
      dots: new Models.Scatter({ x: { field: 'x' }, y: { field: 'y' }, fill_color: { field: 'color' }, line_color: { value: null } }),
      lost: new Models.VStrip({ x0: { field: 'x0' }, x1: { field: 'x1' }, line_color: { value: null }, hatch_pattern: { value: 'right_diagonal_line' }, hatch_scale: { value: 7 } }),
      doubtful: new Models.VStrip({ x0: { field: 'x0' }, x1: { field: 'x1' }, line_color: { value: null } }),
    };
    const renderer = (/** @type {'lines' | 'dots' | 'lost' | 'doubtful'} */ name, /** @type {string} */ level) =>
      new Models.GlyphRenderer({
        data_source: this.sources[name], glyph: this.glyphs[name], level,
        selection_glyph: null, nonselection_glyph: null, muted_glyph: null,
      });
    this.yRange = newRange(bokeh);
    this.xRange = xRange;
    this.axes = [xLabel, yLabel].map((label) => new Models.LinearAxis({
      axis_label: label ?? null, minor_tick_line_color: null, major_tick_in: 0, major_tick_out: 4,
      formatter: new Models.BasicTickFormatter({ use_scientific: false }),
      ticker: new Models.BasicTicker({ desired_num_ticks: width ? 8 : 5 }),
    }));
    const [xAxis, yAxis] = this.axes;
    this.grid = new Models.Grid({ dimension: 1, axis: yAxis });
    this.plot = new Models.Plot({
      x_range: this.xRange, y_range: this.yRange, below: [xAxis], left: [yAxis], center: [this.grid],
      renderers: [renderer('doubtful', 'underlay'), renderer('lost', 'underlay'), renderer('lines', 'glyph'), renderer('dots', 'glyph')],
      title: null, toolbar_location: null, context_menu: null, lod_threshold: null,
      height, ...(width ? { width, sizing_mode: 'fixed' } : { width: null, sizing_mode: 'stretch_width' }),
      min_border_left: left, min_border_right: right, min_border_top: 6, min_border_bottom: 26,
      background_fill_color: null, border_fill_color: null, outline_line_color: null,
    });
  }

  /** @param {Look} look */
  dress({ ink, muted, line, lost, doubtful, font, size, weight }) {
    for (const axis of this.axes) {
      axis.setv({
        axis_line_color: line, major_tick_line_color: line, major_label_text_color: muted, major_label_text_font: font,
        major_label_text_font_size: `${size}px`, axis_label_text_color: ink, axis_label_text_font: font,
        axis_label_text_font_size: `${size + 1}px`, axis_label_text_font_style: 'normal',
      });
    }
    this.grid.grid_line_color = line;
    this.glyphs.lines.line_width = { value: weight };
    this.glyphs.dots.size = { value: weight * 2 };
    this.glyphs.lost.setv({ fill_color: { value: lost }, fill_alpha: { value: 0.14 }, hatch_color: { value: lost }, hatch_alpha: { value: 0.45 } });
    this.glyphs.doubtful.setv({ fill_color: { value: doubtful }, fill_alpha: { value: 0.22 } });
  }

  /** @param {{lines: Drawn[], lost: Strips, doubtful: Strips, y: [number, number]}} shown */
  show({ lines, lost, doubtful, y }) {
    const dots = lines.map((line) => ({ ...lonely(line), color: line.color }));
    this.sources.lines.data = { xs: lines.map(({ xs }) => xs), ys: lines.map(({ ys }) => ys), color: lines.map(({ color }) => color) };
    this.sources.dots.data = {
      x: dots.flatMap(({ xs }) => xs), y: dots.flatMap(({ ys }) => ys), color: dots.flatMap(({ xs, color }) => xs.map(() => color)),
    };
    this.sources.lost.data = { ...lost };
    this.sources.doubtful.data = { ...doubtful };
    this.yRange.setv({ start: y[0], end: y[1] });
  }

  /** Where its axes leave room; null before it was laid out. @returns {Box | null} */
  get box() {
    const box = this.#view?.frame.bbox;
    return box && box.width > 0 ? { left: box.left, top: box.top, width: box.width, height: box.height } : null;
  }

  /** @param {any} view @param {() => void} onPainted */
  attach(view, onPainted) {
    this.#view = view;
    view.repainted.connect(onPainted);
  }

  /** A picture of it as it is now. @returns {HTMLCanvasElement} */
  picture() {
    return this.#view.export('png', false).canvas;
  }
}

/**
 * Put panels into their hosts. @param {Bokeh} bokeh @param {{panel: Panel, host: HTMLElement}[]} placed
 * @param {() => void} [onPainted] after every painting of one of them @returns {Promise<{idle: Promise<void>, close: () => void}>}
 *   `idle` when all are painted
 */
export async function openPanels(bokeh, placed, onPainted = () => {}) {
  const whole = new bokeh.Document();
  const idle = new Promise((resolve) => whole.idle.connect(() => resolve(undefined)));
  for (const { panel } of placed) whole.add_root(panel.plot);
  const views = await bokeh.embed(whole, placed[0].host, placed.map(({ host }) => host));
  for (const { panel } of placed) panel.attach(views.get_by_id(panel.plot.id), onPainted);
  return { idle, close: () => views.clear() };
}

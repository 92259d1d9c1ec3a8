// @ts-check
/** The path itself, y against x on equal scales, as one would see it through the camera; opened when somebody asks. */
import { loadBokeh } from './bokeh.js';
import { indexOf, span, within } from './chart_data.js';
import { byId, make, setAttribute, setText } from './dom.js';
import { lookOf } from './look.js';
import { Panel, newRange, openPanels } from './panel.js';
import { equal, traced } from './path_view.js';

/** @typedef {import('./chart_data.js').ChartData} ChartData */
/** @typedef {import('./chart_data.js').Series} Series */
/** @typedef {import('./zooming.js').Stretch} Stretch */

const HEIGHT = 340;

export class PathChart {
  /** @type {{data: ChartData, series: Series[], shown: Stretch} | null} */
  #seen = null;
  /** @type {Panel | null} */
  #panel = null;
  /** @type {any} */
  #range = null;
  /** @type {'no' | 'opening' | 'yes'} */
  #open = 'no';
  #frame = 0;
  #size = '';
  #queued = 0;

  constructor() {
    this.box = byId('path-box');
    this.drawing = make('div', { class: 'plot-drawing', inert: true });
    this.points = make('div', { class: 'plot-layer quiet-layer' });
    byId('chart-path').append(this.drawing, this.points);
    this.box.addEventListener('toggle', () => void this.#build());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#panel?.dress(lookOf(this.box)));
  }

  /** @param {ChartData | null} data @param {Series[]} series @param {Stretch} shown */
  draw(data, series, shown) {
    this.#seen = data ? { data, series, shown } : null;
    this.#refresh();
  }

  /** @param {number} frame */
  moveCursor(frame) {
    this.#frame = frame;
    const [box, seen] = [this.#panel?.box, this.#seen];
    if (!this.box.open || !box || !seen || !this.#panel) return;
    const at = indexOf(seen.data, frame);
    const [xRange, yRange] = [this.#range, this.#panel.yRange];
    const places = at < 0 ? [] : seen.series.filter((one) => !Number.isNaN(one.x[at]));
    while (this.points.childElementCount > places.length) this.points.lastChild.remove();
    while (this.points.childElementCount < places.length) this.points.append(make('div', { class: 'plot-point' }));
    places.forEach((one, place) => {
      const point = this.points.children[place];
      const left = box.left + ((one.x[at] - xRange.start) / (xRange.end - xRange.start)) * box.width;
      const top = box.top + (1 - (one.y[at] - yRange.start) / (yRange.end - yRange.start)) * box.height;
      point.style.transform = `translate(${left}px, ${top}px)`;
      point.style.setProperty('--color', one.color);
    });
  }

  async #build() {
    if (!this.box.open || this.#open !== 'no') return this.#refresh();
    this.#open = 'opening';
    const bokeh = await loadBokeh();
    this.#range = newRange(bokeh);
    const panel = new Panel(bokeh, { xRange: this.#range, height: HEIGHT });
    await openPanels(bokeh, [{ panel, host: this.drawing }], () => this.#painted());
    panel.dress(lookOf(this.box));
    this.#panel = panel;
    this.#open = 'yes';
    this.#refresh();
  }

  #painted() {
    const box = this.#panel?.box;
    if (box && `${box.width} ${box.height}` !== this.#size) this.#refresh();
    this.moveCursor(this.#frame);
  }

  #refresh() {
    if (this.#queued || !this.box.open) return;
    this.#queued = requestAnimationFrame(() => {
      this.#queued = 0;
      this.#paint();
    });
  }

  #paint() {
    const [seen, panel] = [this.#seen, this.#panel];
    if (!seen || !panel) return;
    const { data, series, shown } = seen;
    const [from, to] = within(data, shown.start, shown.end);
    const box = panel.box ?? { width: this.drawing.clientWidth, height: HEIGHT };
    this.#size = `${box.width} ${box.height}`;
    const [x, y, perPixel] = equal(span(series, 'x', from, to), span(series, 'y', from, to), box);
    this.#range.setv({ start: x[0], end: x[1] });
    panel.show({ lines: series.map((one) => ({ ...traced(one, from, to, perPixel / 2), color: one.color })), lost: NONE, doubtful: NONE, y });
    setText(byId('path-title'), `y against x (${data.unit})`);
    setAttribute(byId('chart-path'), 'aria-label', `The path of ${series.map(({ label }) => label).join(', ')}, y against x in ${data.unit}, frames ${data.frames[from]} to ${data.frames[to]}.`);
    this.moveCursor(this.#frame);
  }
}

const NONE = { x0: [], x1: [] };

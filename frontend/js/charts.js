// @ts-check
/**
 * The charts of the Analyze page: x and y over time, one above the other, with one stretch of time, one cursor that
 * stands on the frame shown, one legend. What somebody looks at stays as it is when data change under it.
 */
import { loadBokeh, quiet } from './bokeh.js';
import { DOUBTFUL, LOST, frameAt, indexOf } from './chart_data.js';
import { inside, leastOf, recounted, viewOf, wholeOf } from './chart_view.js';
import { pointWords, shownWords, summary } from './chart_words.js';
import { byId, keyed, make, setAttribute, setText, show } from './dom.js';
import { lookOf } from './look.js';
import { Panel, newRange, openPanels } from './panel.js';
import { PlotStage } from './plot_stage.js';
import { moved, scaled } from './zooming.js';

/** @typedef {import('./chart_data.js').ChartData} ChartData */
/** @typedef {import('./zooming.js').Stretch} Stretch */
/** @typedef {'x' | 'y'} Axis */

const HEIGHT = 172;
const STEP = 0.5;
const SLICE = 8; // ms: who has drawn one chart for so long draws the other one later
const AXES = /** @type {Axis[]} */ (['x', 'y']);

export class Charts {
  /** @type {ChartData | null} */
  #data = null;
  /** What is looked at; null: the whole trim. @type {Stretch | null} */
  #zoom = null;
  /** @type {Set<string>} */
  #hidden = new Set();
  /** @type {Map<Axis, PlotStage>} */
  #stages = new Map();
  #frame = 0;
  #width = 0;
  #queued = 0;
  /** What is to be drawn anew, longest wish first. @type {Set<Axis>} */
  #due = new Set();
  /** @type {'no' | 'opening' | 'failed' | 'yes'} */
  #open = 'no';

  /** @param {{onFrame: (frame: number) => void, onReady: () => void, onChange: () => void}} options  `onReady`: they are
   *   there; `onChange`: other markers or another stretch of time are shown */
  constructor({ onFrame, onReady, onChange }) {
    this.onFrame = onFrame;
    this.onReady = onReady;
    this.onChange = onChange;
    /** @param {string} id @param {(shown: Stretch) => Stretch} change */
    const on = (id, change) => byId(id).addEventListener('click', () => this.#look(change(this.shown)));
    const middle = (/** @type {Stretch} */ { start, end }) => (start + end) / 2;
    on('time-shorter', (shown) => scaled(shown, middle(shown), STEP));
    on('time-longer', (shown) => scaled(shown, middle(shown), 1 / STEP));
    on('time-earlier', (shown) => moved(shown, (shown.start - shown.end) * STEP));
    on('time-later', (shown) => moved(shown, (shown.end - shown.start) * STEP));
    byId('time-whole').addEventListener('click', () => this.#whole());
    byId('chart-again').addEventListener('click', () => void this.#build());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#dress());
  }

  /** Can they be drawn, and is there anything to draw? */
  get ready() {
    return this.#open === 'yes' && this.#data !== null;
  }

  get data() {
    return this.#data;
  }

  /** Markers that nobody has switched off. */
  get series() {
    return this.#data?.series.filter((one) => !this.#hidden.has(one.label)) ?? [];
  }

  /** @returns {Stretch} */
  get shown() {
    return this.#zoom ?? (this.#data ? wholeOf(this.#data) : { start: 0, end: 1 });
  }

  /** @param {ChartData | null} data */
  draw(data) {
    const before = this.#data;
    this.#data = data;
    if (!data) return; // a trace that begins anew: the stretch looked at is kept for when its first frames are there
    if (this.#zoom) this.#zoom = inside(recounted(this.#zoom, before ?? data, data), data);
    this.#name(data);
    if (this.#open === 'no') void this.#build();
    this.#refresh();
  }

  /** @param {number} frame */
  moveCursor(frame) {
    this.#frame = frame;
    if (!this.#data) return;
    for (const stage of this.#stages.values()) stage.placeCursor(this.#data.time(frame), this.shown);
  }

  async #build() {
    this.#open = 'opening';
    show(byId('chart-problem'), false);
    try {
      const bokeh = await loadBokeh();
      /** @type {Map<Axis, PlotStage>} */
      const stages = new Map();
      for (const axis of AXES) { // one at a time: a drawing's first painting is a halt that a hand can feel
        await quiet();
        const stage = new PlotStage(byId(`chart-${axis}`), new Panel(bokeh, { xRange: newRange(bokeh), height: HEIGHT }));
        stage.listen(this.#hands(axis, stage));
        await openPanels(bokeh, [{ panel: stage.panel, host: stage.drawing }], () => this.#painted());
        stages.set(axis, stage);
      }
      this.#stages = stages;
      this.#open = 'yes';
      this.#dress();
      this.#refresh();
      this.onReady();
    } catch (thrown) {
      this.#open = 'failed';
      console.error(thrown);
      show(byId('chart-problem'), true);
    }
  }

  #dress() {
    const look = lookOf(byId('charts'));
    for (const { panel } of this.#stages.values()) panel.dress(look);
  }

  /** Look at another stretch of time. @param {Stretch} wanted */
  #look(wanted) {
    if (!this.#data) return;
    this.#zoom = inside(wanted, this.#data);
    this.#refresh();
    this.onChange();
  }

  #whole() {
    this.#zoom = null;
    this.#refresh();
    this.onChange();
  }

  /** At the next picture of the screen, however often it is asked for until then. */
  #refresh() {
    for (const axis of AXES) this.#due.add(axis);
    this.#queued ||= requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    this.#queued = 0;
    const data = this.#data;
    this.#showButtons();
    if (data) setText(byId('chart-time'), shownWords(data, this.shown));
    if (!data || this.#open !== 'yes') return;
    const began = performance.now();
    for (const axis of this.#due) {
      this.#due.delete(axis);
      this.#paintAxis(data, axis);
      if (this.#due.size === 0 || performance.now() - began < SLICE) continue;
      // The library itself paints in the next picture of the screen: the other chart begins in the one after.
      this.#queued = requestAnimationFrame(() => {
        this.#queued = requestAnimationFrame(() => this.#paint());
      });
      break;
    }
    this.moveCursor(this.#frame);
  }

  /** @param {ChartData} data @param {Axis} axis */
  #paintAxis(data, axis) {
    const stage = this.#stages.get(axis);
    if (!stage) return;
    const { panel, host } = stage;
    const { shown, series } = this;
    panel.xRange.setv({ start: shown.start, end: shown.end });
    this.#width = Math.round(panel.box?.width ?? host.clientWidth);
    panel.show(viewOf(data, series, axis, shown, this.#width || 600));
  }

  /** Bokeh has painted, maybe in another size. */
  #painted() {
    const width = this.#stages.get('x')?.panel.box?.width ?? 0;
    if (Math.abs(width - this.#width) > this.#width / 5) this.#refresh();
    this.moveCursor(this.#frame);
  }

  #showButtons() {
    const [whole, shown] = [this.#data ? wholeOf(this.#data) : null, this.shown];
    // Not `disabled`, which would take the focus from a button that has just done all it can.
    const can = (/** @type {string} */ id, /** @type {boolean} */ so) => setAttribute(byId(id), 'aria-disabled', so ? null : 'true');
    can('time-shorter', this.#data !== null && shown.end - shown.start > leastOf(this.#data) * 1.0001);
    can('time-longer', this.#zoom !== null);
    can('time-whole', this.#zoom !== null);
    can('time-earlier', this.#zoom !== null && whole !== null && shown.start > whole.start);
    can('time-later', this.#zoom !== null && whole !== null && shown.end < whole.end);
  }

  /** @param {ChartData} data */
  #name(data) {
    for (const axis of AXES) {
      setText(byId(`chart-${axis}-title`), `${axis} (${data.unit})`);
      setAttribute(byId(`chart-${axis}`), 'aria-label', summary(data, axis));
    }
    keyed(byId('legend'), data.series, (one) => one.label,
      (one) => make('li', {}, make('button', { type: 'button', class: 'quiet', onclick: () => this.#toggle(one.label) },
        make('span', { class: 'dot', 'aria-hidden': 'true' }), make('span', { text: one.label }))),
      (item, one) => {
        item.querySelector('.dot').style.setProperty('--color', one.color);
        setAttribute(item.firstChild, 'aria-pressed', String(!this.#hidden.has(one.label)));
      });
    show(byId('key-lost'), data.series.some((one) => one.quality.includes(LOST)));
    show(byId('key-doubtful'), data.series.some((one) => one.quality.includes(DOUBTFUL)));
  }

  /** @param {string} label */
  #toggle(label) {
    if (!this.#hidden.delete(label)) this.#hidden.add(label);
    if (this.#data) this.#name(this.#data);
    this.#refresh();
    this.onChange();
  }

  /** @param {Axis} axis @param {PlotStage} stage @returns {import('./gestures.js').Hands} */
  #hands(axis, stage) {
    return {
      onPoint: (x, y) => this.#point(axis, stage, x, y),
      onLeave: () => this.#unpoint(),
      onTap: (x) => {
        if (this.#data) this.onFrame(frameAt(this.#data, stage.timeAt(x, this.shown)));
      },
      onSelecting: (from, to) => this.#stages.forEach((one) => one.placeSelection([from, to])),
      onSelected: (from, to) => {
        this.#stages.forEach((one) => one.placeSelection(null));
        this.#look({ start: stage.timeAt(from, this.shown), end: stage.timeAt(to, this.shown) });
      },
      onDropped: () => this.#stages.forEach((one) => one.placeSelection(null)),
      onMove: (by) => {
        if (this.#zoom) this.#look(moved(this.shown, -by * stage.perPixel(this.shown)));
        return this.#zoom !== null;
      },
      onScale: (x, factor) => this.#look(scaled(this.shown, stage.timeAt(x, this.shown), factor)),
      onWhole: () => this.#whole(),
    };
  }

  /** Says what is nearest to the pointer. @param {Axis} axis @param {PlotStage} stage @param {number} x @param {number} y */
  #point(axis, stage, x, y) {
    const data = this.#data;
    if (!data) return;
    const frame = frameAt(data, stage.timeAt(x, this.shown));
    const at = indexOf(data, frame);
    let nearest = null;
    let apart = Infinity;
    for (const one of at < 0 ? [] : this.series) {
      const distance = Math.abs(stage.topOf(one[axis][at]) - y); // NaN where it was not seen, which is never nearer
      if (distance < apart) [nearest, apart] = [one, distance];
    }
    nearest ??= (at < 0 ? null : this.series.find((one) => one.quality[at] === LOST)) ?? null;
    const left = stage.leftOf(data.time(frame), this.shown);
    for (const other of this.#stages.values()) other.placePoint(null);
    if (apart < Infinity && nearest) stage.placePoint({ left, top: stage.topOf(nearest[axis][at]), color: nearest.color });
    const readout = byId('readout');
    readout.replaceChildren(...pointWords(data, frame, nearest, axis).map((words) => make('span', { text: words })));
    show(readout, true);
    const room = stage.host.offsetLeft + stage.host.clientWidth - readout.offsetWidth;
    const to = Math.max(0, Math.min(stage.host.offsetLeft + left + 12, room));
    readout.style.transform = `translate(${to}px, ${stage.host.offsetTop + Math.max(0, y - readout.offsetHeight - 12)}px)`;
  }

  #unpoint() {
    for (const stage of this.#stages.values()) stage.placePoint(null);
    show(byId('readout'), false);
  }
}

// @ts-check
/**
 * Position over time as plain SVG: one panel for x, one for y, a gap where a marker was lost, a cursor that stands on
 * the frame shown. A click goes to that frame. The table beside it says the same in numbers.
 *
 * @typedef {{label: string, color: string, values: {frame: number, x: number, y: number, lost: boolean}[]}} Series
 * @typedef {{series: Series[], unit: string, time: (frame: number) => number, timeUnit: string, first: number, last: number}} ChartData
 */
const NS = 'http://www.w3.org/2000/svg';
const PAD = { left: 48, right: 12, top: 8, bottom: 22 };

/** @param {string} tag @param {Record<string, any>} attributes @param {string} [text] @returns {any} */
function shape(tag, attributes, text) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Round numbers that cover a range: steps of 1, 2 or 5 times a power of ten. @param {number} low @param {number} high @param {number} wanted @returns {number[]} */
export function ticks(low, high, wanted) {
  const span = high - low || 1;
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= rough) ?? 10 * power;
  const found = [];
  for (let tick = Math.ceil(low / step); tick * step <= high + step * 1e-9; tick += 1) found.push(Number((tick * step).toPrecision(12)));
  return found;
}

/** The range of all that was seen, with a little air. @param {Series[]} series @param {'x' | 'y'} axis @returns {[number, number]} */
export function extent(series, axis) {
  let low = Infinity;
  let high = -Infinity;
  for (const { values } of series) {
    for (const value of values) {
      low = Math.min(low, value[axis]);
      high = Math.max(high, value[axis]);
    }
  }
  if (low > high) return [0, 1];
  const air = Math.max((high - low) * 0.08, 0.5);
  return [low - air, high + air];
}

/** The frame that is nearest to a time; frames need not be evenly apart. @param {ChartData} data @param {number} time */
export function frameAt(data, time) {
  let nearest = data.first;
  for (let frame = data.first + 1; frame <= data.last; frame += 1) {
    if (Math.abs(data.time(frame) - time) < Math.abs(data.time(nearest) - time)) nearest = frame;
  }
  return nearest;
}

/** @param {Series['values']} values @param {(frame: number) => number} toX @param {(value: number) => number} toY @param {'x' | 'y'} axis @param {boolean} lost the lost stretches instead of the seen ones */
function path(values, toX, toY, axis, lost) {
  let line = '';
  let open = false;
  values.forEach((value, index) => {
    // A lost stretch is drawn from the last point seen to the next one seen, so that it joins its neighbours.
    const belongs = lost ? value.lost || values[index + 1]?.lost || values[index - 1]?.lost : !value.lost;
    if (belongs) line += `${open ? 'L' : 'M'}${toX(value.frame).toFixed(1)} ${toY(value[axis]).toFixed(1)}`;
    open = Boolean(belongs);
  });
  return line;
}

export class Chart {
  /** @type {ChartData | null} */
  #data = null;
  /** @type {{svg: SVGSVGElement, cursor: any, toX: (frame: number) => number}[]} */
  #panels = [];
  #frame = 0;

  /** @param {HTMLElement} host @param {(frame: number) => void} onFrame */
  constructor(host, onFrame) {
    this.host = host;
    this.onFrame = onFrame;
    new ResizeObserver(() => this.#paint()).observe(host);
  }

  /** @param {ChartData | null} data */
  draw(data) {
    this.#data = data;
    this.#paint();
  }

  /** @param {number} frame */
  moveCursor(frame) {
    this.#frame = frame;
    for (const { cursor, toX } of this.#panels) {
      const x = toX(frame).toFixed(1);
      cursor.setAttribute('x1', x);
      cursor.setAttribute('x2', x);
    }
  }

  #paint() {
    const data = this.#data;
    const width = this.host.clientWidth;
    this.#panels = [];
    if (!data || width < 80) {
      this.host.replaceChildren();
      return;
    }
    const height = Math.max(120, Math.min(180, Math.round(width / 4)));
    this.host.replaceChildren(...['x', 'y'].map((axis) => this.#panel(data, /** @type {'x' | 'y'} */ (axis), width, height)));
    this.moveCursor(this.#frame);
  }

  /** @param {ChartData} data @param {'x' | 'y'} axis @param {number} width @param {number} height */
  #panel(data, axis, width, height) {
    const inner = { width: width - PAD.left - PAD.right, height: height - PAD.top - PAD.bottom };
    const [low, high] = extent(data.series, axis);
    const from = data.time(data.first);
    const to = Math.max(data.time(data.last), from + 1e-9);
    const timeX = (/** @type {number} */ time) => PAD.left + ((time - from) / (to - from)) * inner.width;
    const toX = (/** @type {number} */ frame) => timeX(data.time(frame));
    const toY = (/** @type {number} */ value) => PAD.top + (1 - (value - low) / (high - low)) * inner.height;
    const names = data.series.map((one) => one.label).join(', ');
    const svg = shape('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', class: 'plot',
      'aria-label': `${axis} in ${data.unit} over ${data.timeUnit}: ${names}` });
    for (const tick of ticks(low, high, 4)) {
      svg.append(shape('line', { x1: PAD.left, x2: width - PAD.right, y1: toY(tick), y2: toY(tick), class: 'grid' }));
      svg.append(shape('text', { x: PAD.left - 6, y: toY(tick) + 4, class: 'tick', 'text-anchor': 'end' }, String(tick)));
    }
    for (const tick of ticks(from, to, Math.max(2, Math.floor(width / 90)))) {
      const anchor = timeX(tick) > width - PAD.right - 14 ? 'end' : 'middle';
      svg.append(shape('text', { x: timeX(tick), y: height - 6, class: 'tick', 'text-anchor': anchor }, String(tick)));
    }
    for (const one of data.series) {
      for (const lost of [true, false]) {
        const line = shape('path', { d: path(one.values, toX, toY, axis, lost), class: lost ? 'line lost' : 'line' });
        line.style.stroke = one.color; // through the object model: the policy forbids style attributes
        svg.append(line);
      }
    }
    const cursor = shape('line', { y1: PAD.top, y2: height - PAD.bottom, class: 'cursor' });
    svg.append(cursor);
    svg.addEventListener('click', (/** @type {MouseEvent} */ event) => {
      const part = (event.clientX - svg.getBoundingClientRect().left - PAD.left) / inner.width;
      const time = from + Math.min(1, Math.max(0, part)) * (to - from);
      this.onFrame(frameAt(data, time));
    });
    this.#panels.push({ svg, cursor, toX });
    const figure = document.createElement('figure');
    const caption = document.createElement('figcaption');
    caption.textContent = `${axis} (${data.unit}) over ${data.timeUnit}`;
    figure.append(caption, svg);
    return figure;
  }
}

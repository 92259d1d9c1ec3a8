// @ts-check
/** What a trace has found: measures, charts, the table, the files, and the markers that were lost on the way. */
import { exportAddress } from './api.js';
import { Chart } from './chart.js';
import { byId, keyed, make, setLink, setText, show } from './dom.js';
import { PALETTE, rulerMillimetres } from './geometry.js';
import { basis, measures } from './measures.js';
import { clockOf } from './pace.js';
import { lostRuns, lostSentence } from './spans.js';
import { hasResults, isTracing, trimEnd, trimStart } from './state.js';
import { calibrationWords } from './words.js';

/** @typedef {import('./state.js').State} State */

const MOST_ROWS = 1000;
const FORMATS = /** @type {const} */ (['csv', 'xlsx', 'json']);

/** Traced frames inside the trim, in order. @param {State} state @returns {number[]} */
function tracedFrames(state) {
  const [start, end] = [trimStart(state), trimEnd(state)];
  return Object.keys(state.frames).map(Number).filter((frame) => frame >= start && frame <= end).sort((a, b) => a - b);
}

/** Positions of all markers that are no rulers, in millimetres where that is known. @param {State} state @returns {import('./chart.js').ChartData | null} */
export function chartData(state) {
  if (!hasResults(state)) return null;
  const scale = calibrationWords(state).pxPerMm ?? 1;
  /** @type {Map<string, import('./chart.js').Series>} */
  const series = new Map();
  for (const frame of tracedFrames(state)) {
    for (const marker of state.frames[frame]) {
      if (rulerMillimetres(marker.label) !== null) continue;
      const one = series.get(marker.label) ?? { label: marker.label, color: marker.color ?? PALETTE[0], values: [] };
      series.set(marker.label, one);
      one.values.push({ frame, x: marker.x / scale, y: marker.y / scale, lost: marker.status === 0 });
    }
  }
  const fpm = Number(state.metadata?.fpm ?? 0);
  const first = trimStart(state);
  const clock = clockOf(tracedFrames(state), state.times);
  const [time, timeUnit] = timeScale(fpm, trimEnd(state), first, clock);
  return { series: [...series.values()], unit: scale === 1 ? 'px' : 'mm', time, timeUnit, first, last: trimEnd(state) };
}

/**
 * The unit in which a movie's length is easy to read, and each frame's time in it; by `clock` where frames are not
 * evenly apart.
 * @param {number} fpm @param {number} last @param {number} first @param {((frame: number) => number) | null} [clock]
 * @returns {[(frame: number) => number, string]}
 */
export function timeScale(fpm, last, first, clock = null) {
  if (!(fpm > 0)) return [(frame) => frame, 'frames'];
  const at = clock ?? ((frame) => frame);
  /** @param {number} frame */
  const minutes = (frame) => (at(frame) - at(first)) / fpm;
  if (minutes(last) > 300) return [(frame) => minutes(frame) / 60, 'hours'];
  if (minutes(last) < 3) return [(frame) => minutes(frame) * 60, 'seconds'];
  return [minutes, 'minutes'];
}

export class Results {
  /** @type {number | null} */
  #scale = null;

  /** @param {{store: import('./state.js').Store, onFrame: (frame: number) => void}} options */
  constructor({ store, onFrame }) {
    this.store = store;
    this.onFrame = onFrame;
    this.chart = new Chart(byId('chart'), onFrame);
    byId('positions').addEventListener('toggle', () => this.#fillTable(store.state));
  }

  /** @param {State} state @param {State | null} before */
  render(state, before) {
    const there = hasResults(state);
    show(byId('charts'), there);
    show(byId('no-results'), !there || isTracing(state));
    setText(byId('no-results'), isTracing(state) ? 'The path grows while the movie is traced; the numbers come at the end.' : 'Numbers, charts and files appear here once the movie is traced.');
    show(byId('have-results'), there && state.results !== null);
    for (const format of FORMATS) setLink(byId(`download-${format}`), there ? exportAddress(state.movieId, format) : null);
    setLink(byId('download-movie'), there && !isTracing(state) ? (state.metadata?.movie_traced_url ?? null) : null);
    const scale = calibrationWords(state).pxPerMm;
    // A drag changes the state at every move of the hand: the charts follow only what they show.
    if (before === null || state.frames !== before.frames || state.metadata !== before.metadata || scale !== this.#scale) {
      this.#scale = scale;
      this.#draw(state);
    }
    if (before === null || state.results !== before.results) this.#drawMeasures(state);
    this.chart.moveCursor(state.frame);
  }

  /** @param {State} state */
  #draw(state) {
    const data = chartData(state);
    this.chart.draw(data);
    keyed(byId('legend'), data?.series ?? [], (one) => one.label,
      (one) => make('li', {}, make('span', { class: 'dot', 'aria-hidden': 'true' }), make('span', { text: one.label })),
      (item, one) => item.querySelector('.dot').style.setProperty('--color', one.color));
    const lost = isTracing(state) ? [] : lostRuns(Object.fromEntries(tracedFrames(state).map((frame) => [frame, state.frames[frame]])));
    show(byId('lost-markers'), lost.length > 0);
    keyed(byId('lost-list'), lost.slice(0, 20), (run) => `${run.label} ${run.from}`,
      (run) => make('li', {}, make('span', {}), make('button', { type: 'button', class: 'quiet', text: `Go to frame ${run.from}`, onclick: () => this.onFrame(run.from) })),
      (item, run) => setText(item.querySelector('span'), lostSentence(run)));
    setText(byId('lost-more'), lost.length > 20 ? `And ${lost.length - 20} more.` : '');
    if (byId('positions').open) this.#fillTable(state);
  }

  /** @param {State} state */
  #drawMeasures(state) {
    const found = measures(state.results);
    byId('measures').replaceChildren(...found.map(({ name, value, title }) =>
      make('div', { title }, make('dt', { text: name }), make('dd', { text: value }))));
    show(byId('measures'), found.length > 0);
    setText(byId('basis'), basis(state.results));
    setText(byId('scale-doubts'), (state.results?.warnings ?? []).join(' '));
  }

  /** @param {State} state */
  #fillTable(state) {
    if (!byId('positions').open) return;
    const frames = tracedFrames(state);
    const labels = [...new Set(frames.flatMap((frame) => state.frames[frame].map((marker) => marker.label)))].sort();
    const head = make('tr', {}, make('th', { text: 'Frame', scope: 'col' }),
      ...labels.map((label) => make('th', { text: `${label} x, y (px)`, scope: 'col' })));
    const rows = frames.slice(0, MOST_ROWS).map((frame) =>
      make('tr', {}, make('th', { text: String(frame), scope: 'row' }), ...labels.map((label) => {
        const marker = state.frames[frame].find((other) => other.label === label);
        const text = marker ? `${marker.x.toFixed(1)}, ${marker.y.toFixed(1)}` : '';
        return make('td', { class: marker?.status === 0 ? 'lost' : null, text: marker?.status === 0 ? `${text} lost` : text });
      })));
    byId('positions-table').replaceChildren(make('thead', {}, head), make('tbody', {}, ...rows));
    setText(byId('positions-more'), frames.length > MOST_ROWS ? `The first ${MOST_ROWS} of ${frames.length} frames; the files have them all.` : '');
  }
}

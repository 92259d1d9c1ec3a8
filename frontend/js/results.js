// @ts-check
/** What a trace has found: measures, charts, the table, the files, and the markers that were lost on the way. */
import { exportAddress } from './api.js';
import { chartData, tracedFrames } from './chart_data.js';
import { chartPicture, download } from './chart_picture.js';
import { Charts } from './charts.js';
import { byId, keyed, make, setLink, setText, show } from './dom.js';
import { fileName, offered } from './downloads.js';
import { basis, groups } from './measures.js';
import { PathChart } from './path_chart.js';
import { lostRuns, lostSentence } from './spans.js';
import { hasResults, isTracing, trimEnd, trimStart } from './state.js';
import { calibrationWords } from './words.js';

/** @typedef {import('./state.js').State} State */

const MOST_ROWS = 1000;
const MOST_LOST = 6;
const FORMATS = /** @type {const} */ (['csv', 'xlsx', 'json']);

export class Results {
  /** @type {number | null} */
  #scale = null;
  #saving = false;

  /** @param {{store: import('./state.js').Store, onFrame: (frame: number) => void}} options */
  constructor({ store, onFrame }) {
    this.store = store;
    this.onFrame = onFrame;
    const drawPath = () => this.path.draw(this.charts.data, this.charts.series, this.charts.shown);
    this.charts = new Charts({ onFrame, onReady: () => this.#offerFiles(store.state), onChange: drawPath });
    this.path = new PathChart();
    this.drawPath = drawPath;
    byId('positions').addEventListener('toggle', () => this.#fillTable(store.state));
    byId('download-png').addEventListener('click', () => void this.#savePicture());
  }

  /** @param {State} state @param {State | null} before */
  render(state, before) {
    const there = hasResults(state);
    show(byId('charts'), there);
    show(byId('no-results'), !there || isTracing(state));
    setText(byId('no-results'), isTracing(state) ? 'The path grows while the movie is traced; the numbers come at the end.' : 'Numbers, charts and files appear here once the movie is traced.');
    show(byId('have-results'), there && state.results !== null);
    const scale = calibrationWords(state).pxPerMm;
    // A drag changes the state at every move of the hand: the charts follow only what they show.
    if (before === null || state.frames !== before.frames || state.metadata !== before.metadata || scale !== this.#scale) {
      this.#scale = scale;
      this.#draw(state);
      this.#offerFiles(state);
    }
    if (before === null || state.results !== before.results) this.#drawMeasures(state);
    this.charts.moveCursor(state.frame);
    this.path.moveCursor(state.frame);
  }

  /** @param {State} state */
  #draw(state) {
    this.charts.draw(chartData(state));
    this.drawPath();
    const lost = isTracing(state) ? [] : lostRuns(Object.fromEntries(tracedFrames(state).map((frame) => [frame, state.frames[frame]])));
    show(byId('lost-markers'), lost.length > 0);
    keyed(byId('lost-list'), lost.slice(0, MOST_LOST), (run) => `${run.label} ${run.from}`,
      (run) => make('li', {}, make('span', {}), make('button', { type: 'button', class: 'quiet', text: `Go to frame ${run.from}`, onclick: () => this.onFrame(run.from) })),
      (item, run) => setText(item.querySelector('span'), lostSentence(run)));
    setText(byId('lost-more'), lost.length > MOST_LOST ? `And ${lost.length - MOST_LOST} more; “Next doubtful” goes through all of them.` : '');
    if (byId('positions').open) this.#fillTable(state);
  }

  /** @param {State} state */
  #drawMeasures(state) {
    const told = state.results;
    keyed(byId('measures'), groups(told), ({ name }) => name,
      ({ name, question }) => make('section', { 'aria-label': name }, make('h3', { text: name }), make('p', { class: 'muted', text: question }), make('div', { class: 'measure-list' })),
      (section, { measures }) => keyed(section.querySelector('.measure-list'), measures, ({ name }) => name,
        ({ name }) => make('details', { class: 'measure' },
          make('summary', {}, make('span', { text: name }), make('b')), make('p', { class: 'formula' }), make('p', { class: 'meaning' })),
        (item, { value, formula, meaning }) => {
          const said = item.querySelector('b');
          setText(said, value ?? 'not measured');
          said.classList.toggle('none', value === null);
          setText(item.querySelector('.formula'), formula);
          setText(item.querySelector('.meaning'), meaning);
        }));
    setText(byId('basis'), basis(told, trimStart(state), trimEnd(state)));
    setText(byId('scale-words'), told?.scale ?? '');
    setText(byId('scale-doubts'), (told?.warnings ?? []).join(' '));
  }

  /** @param {State} state */
  #offerFiles(state) {
    const { table, movie, words } = offered(state);
    for (const format of FORMATS) setLink(byId(`download-${format}`), table ? exportAddress(state.movieId, format) : null);
    setLink(byId('download-movie'), movie);
    byId('download-png').disabled = !table || !this.charts.ready;
    setText(byId('download-words'), words);
  }

  async #savePicture() {
    const { data, series, shown } = this.charts;
    if (!data || this.#saving) return;
    const title = this.store.state.metadata?.title || 'Untitled movie';
    this.#saving = true;
    try {
      download(await chartPicture(title, data, series, shown), fileName(title, 'charts.png'));
    } catch (thrown) {
      console.error(thrown);
      setText(byId('download-words'), 'The picture could not be made. Try again.');
    } finally {
      this.#saving = false;
    }
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

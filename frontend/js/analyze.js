// @ts-check
/** The Analyze page put together: one state, the panels that show it, the readings that keep it true. */
import * as api from './api.js';
import { FrameCanvas, trails } from './canvas.js';
import { announce, byId, freshKey, make, now, setAttribute, setText, show } from './dom.js';
import { analysisSize, rulerMillimetres } from './geometry.js';
import { History } from './history.js';
import { listenToKeys } from './keys.js';
import { LeaseKeeper } from './lease.js';
import { MarkerList } from './markers.js';
import { Player } from './player.js';
import { Poller, repeated } from './poll.js';
import { asProblem } from './problem.js';
import { Results } from './results.js';
import { Saver } from './saver.js';
import { ScrubBar } from './scrub.js';
import { goToSignIn, openSession } from './session.js';
import { Settings } from './settings.js';
import * as model from './state.js';
import { openTabs } from './tabs.js';
import { TracePanel } from './trace.js';
import { TrimHandles } from './trim.js';
import { banner, clockInFull, facts, trimOffer } from './words.js';

/** @typedef {model.State} State */

const CHUNK = 300; // frames read beside one poll while a trace runs
const MOST_FRAMES = 10_000; // that the server gives at once

const movieId = new URLSearchParams(location.search).get('movie_id') ?? '';
const store = model.createStore(model.initialState(movieId));
/** @type {ImageBitmap | null} */
let picture = null;
/** @type {{frames: any, trails: import('./canvas.js').Trail[]}} */
let drawn = { frames: null, trails: [] };

const goTo = (/** @type {number} */ frame) => {
  player.pause();
  store.dispatch({ type: 'frame/shown', frame });
};

const player = new Player({
  movieId,
  onPicture: (_, shown) => {
    picture = shown;
    store.dispatch({ type: 'movie/sized', size: { width: shown.width, height: shown.height } });
    render(store.state, null);
  },
  onWaiting: (waiting, problem) => {
    byId('stage').classList.toggle('waiting', waiting);
    setText(byId('picture-problem'), problem ? `This frame cannot be shown: ${problem.message}` : '');
    show(byId('picture-problem'), problem !== null);
  },
});
const canvas = new FrameCanvas(byId('frame'), {
  onSelect: (label) => store.dispatch({ type: 'marker/selected', label }),
  onMove: (label, stored, gesture) => store.dispatch({ type: 'marker/moved', label, ...stored, gesture }),
});
const poller = new Poller({
  task: read,
  interval: pace,
  onProblem: (problem, failures) => {
    if (problem.kind === 'signed-out') goToSignIn();
    else if (problem.retryable) store.dispatch({ type: 'connection/failed', failures });
    else store.dispatch({ type: 'movie/failed', message: problem.message });
  },
});
const lease = new LeaseKeeper({ store, reread: () => void poller.poke() });
const saver = new Saver({ store, onLost: () => lease.lost() });
const markerList = new MarkerList({ store, onRename: rename, onStep: step });
const scrub = new ScrubBar({ onFrame: goTo, onPlay: play, state: () => store.state });
const settings = new Settings({ store, onLost: () => lease.lost(), reread: readAll });
const trimHandles = new TrimHandles({ state: () => store.state, onFrame: goTo, onTrim: (edge, frame) => settings.trim(edge, frame) });
const results = new Results({ store, onFrame: goTo });
const movieHistory = new History(movieId);
const tracePanel = new TracePanel({
  store,
  saver,
  onAccepted: () => void poller.poke(),
  onLost: () => lease.lost(),
  onStopped: () => poller.poke(),
});

/** Seconds until the movie is read again; null while this page is the only one that changes it. */
function pace() {
  const { state } = store;
  if (state.fatal || model.isUnusable(state)) return null;
  if (model.isTracing(state)) return document.hidden ? 10 : 1;
  if (model.isWaiting(state)) return document.hidden ? 10 : 2;
  return state.lease.kind === 'held' ? null : 10;
}

/** @param {any} metadata @returns {import('./geometry.js').Size | null} */
function sizeOf(metadata) {
  const width = Number(metadata.frame_width ?? metadata.inspection?.frame_width ?? 0);
  const height = Number(metadata.frame_height ?? metadata.inspection?.frame_height ?? 0);
  if (width && height) return { width, height };
  return metadata.width && metadata.height ? analysisSize(Number(metadata.width), Number(metadata.height)) : null;
}

/** @param {any} reply @param {boolean} replace */
function take(reply, replace) {
  const frames = reply.frames
    ? Object.fromEntries(
        Object.entries(reply.frames)
          .filter(([, held]) => held.markers.length && !held.untouched) // the defaults are nobody's work
          .map(([frame, held]) => [frame, held.markers]),
      )
    : null;
  const times = Object.fromEntries(
    Object.entries(reply.frames ?? {}).filter(([, held]) => held.time !== undefined).map(([frame, held]) => [frame, held.time]),
  );
  const { metadata } = reply;
  store.dispatch({ type: 'movie/loaded', metadata, frames, times, replace, size: sizeOf(metadata), now: now() });
}

/** One reading: what is new while a trace runs, everything when it has ended. */
async function read() {
  const { state } = store;
  if (!state.metadata || !model.isTracing(state)) return readAll();
  const from = state.loadedTo + 1;
  const reply = await api.movieMetadata(movieId, { frame_start: from, frame_count: CHUNK });
  take(reply, false);
  if (!model.isTracing(store.state)) return readAll();
  const reached = store.state.progress?.frame ?? from - 1;
  store.dispatch({ type: 'movie/read-to', frame: Math.max(from - 1, Math.min(from + CHUNK - 1, reached)) });
}

async function readAll() {
  let frame_start = 0;
  do {
    take(await api.movieMetadata(movieId, { frame_start, frame_count: MOST_FRAMES }), frame_start === 0);
    frame_start += MOST_FRAMES;
  } while (frame_start < model.totalFrames(store.state));
  await lease.takeIfFree();
  poller.reschedule();
  await readResults();
}

async function readResults() {
  const { state } = store;
  if (model.isTracing(state)) return;
  const found = model.hasResults(state) ? (await api.results(movieId).catch(() => null))?.results : null;
  store.dispatch({ type: 'results/loaded', results: found ?? null });
}

/** @param {string} from @param {string} to */
async function rename(from, to) {
  if (!to) throw new Error('A marker needs a name.');
  await renameOnServer(from, to);
  store.dispatch({ type: 'marker/renamed', from, to });
}

/** A name the server does not know yet needs no telling. @param {string} from @param {string} to */
async function renameOnServer(from, to) {
  const { lease: held } = store.state;
  await saver.flush();
  const known = Object.values(store.state.frames).some((markers) => markers.some((marker) => marker.label === from));
  if (!known || held.kind !== 'held') return;
  try {
    const wish = { movie_id: movieId, old_label: from, new_label: to, analysis_lease_id: held.id, request_key: freshKey() };
    await repeated(() => api.renameMarker(wish));
  } catch (thrown) {
    if (asProblem(thrown).kind === 'conflict') lease.lost();
    throw thrown;
  }
}

/** Undo or redo, on the server too where it was told. @param {'undone' | 'redone'} type */
async function step(type) {
  const { state } = store;
  const last = (type === 'undone' ? state.undo : state.redo).at(-1);
  if (!last || !model.canEdit(state)) return;
  try {
    if (last.kind === 'rename') await renameOnServer(last.to, last.from);
    store.dispatch({ type });
    announce(type === 'undone' ? 'Undone.' : 'Done again.');
  } catch (thrown) {
    store.dispatch({ type: 'save/failed', message: asProblem(thrown).message });
  }
}

function play() {
  const { state } = store;
  if (player.playing) player.pause();
  else {
    const last = model.trimEnd(state);
    const first = state.frame >= last ? model.trimStart(state) : state.frame;
    player.play(first, last, (frame) => store.dispatch({ type: 'frame/shown', frame }), () => render(store.state, null));
  }
  render(store.state, null);
}

/** @type {Record<string, () => void>} */
const ACTIONS = {
  'continue-here': () => void lease.acquire({ takeOver: true }).then(() => poller.poke()),
  'go-on': () => lease.touched(),
  'take-over': () => void lease.acquire({ takeOver: true }).then(() => poller.poke()),
  'take-back': () => void lease.acquire({ takeOver: true }).then(() => poller.poke()),
  discard: () => {
    store.dispatch({ type: 'edits/discarded' });
    lease.lost();
  },
  'trim-to-scene': () => void trimToScene(),
  'keep-all': () => store.dispatch({ type: 'trim/refused' }),
  movies: () => location.assign(new URL('./', document.baseURI)),
  upload: () => location.assign(new URL('upload', document.baseURI)),
};

/** Both ends, one after the other: each is an edit of its own. */
async function trimToScene() {
  const offer = trimOffer(store.state);
  if (!offer) return;
  if (offer.end < model.trimEnd(store.state)) await settings.trim('trim_end_frame', offer.end);
  if (offer.start > model.trimStart(store.state)) await settings.trim('trim_start_frame', offer.start);
}

/** @param {State} state */
function renderBanner(state) {
  const said = banner(state, now());
  const box = byId('banner');
  show(box, said !== null);
  if (!said) return;
  box.dataset.tone = said.tone;
  setText(byId('banner-text'), said.text);
  setAttribute(byId('banner-text'), 'title', said.at ? clockInFull(said.at) : null);
  const wanted = said.actions.map(({ id, label }) => `${id} ${label}`).join();
  if (box.dataset.actions === wanted) return;
  box.dataset.actions = wanted;
  byId('banner-actions').replaceChildren(
    ...said.actions.map(({ id, label }) => make('button', { type: 'button', text: label, onclick: ACTIONS[id] })),
  );
}

/** @param {State} state @param {State | null} before */
function render(state, before) {
  const title = state.metadata?.title || 'Untitled movie';
  if (state.metadata) {
    setText(byId('movie-title'), title);
    document.title = `${title} · tiptrace`;
  }
  if (state.fatal && !state.metadata) setText(byId('movie-title'), 'No movie');
  setText(byId('facts'), facts(state));
  byId('facts').dataset.status = state.metadata?.status ?? '';
  renderBanner(state);
  markerList.render(state);
  scrub.render(state, before, player.playing);
  settings.render(state, before);
  trimHandles.render(state);
  results.render(state, before);
  tracePanel.render(state);
  if (!state.size) return;
  if (drawn.frames !== state.frames) {
    drawn = { frames: state.frames, trails: trails(state.frames, state.size.height, (label) => rulerMillimetres(label) === null) };
  }
  byId('stage').style.setProperty('--ratio', `${state.size.width} / ${state.size.height}`);
  canvas.draw({
    picture, size: state.size, markers: model.markersAt(state, state.frame), trails: drawn.trails,
    frame: state.frame, selected: state.selected, editable: model.canEdit(state),
  });
}

store.subscribe((state, before) => {
  render(state, before);
  const shown = model.totalFrames(state) > 0;
  const newlyShown = shown && model.totalFrames(before) === 0;
  if (shown && (state.frame !== before.frame || newlyShown)) void player.show(state.frame, model.totalFrames(state));
  if (model.isTracing(before) && !model.isTracing(state)) announce(`Tracing has ended: ${facts(state)}.`);
  if (model.isTracing(before) !== model.isTracing(state)) movieHistory.changed();
});

for (const sign of ['pointerdown', 'pointermove', 'keydown', 'wheel']) {
  addEventListener(sign, () => lease.touched(), { passive: true, capture: true });
}
addEventListener('pagehide', () => lease.leave());
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
addEventListener('beforeunload', (event) => {
  if (model.unsavedFrames(store.state).length && store.state.lease.kind !== 'none') event.preventDefault();
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && pace() !== null) void poller.poke();
});

openTabs();
listenToKeys({ goTo, play, step, nextDoubtful: () => byId('next-doubtful').click(), frame: () => store.state.frame });
render(store.state, null);
void openSession().then((user) => store.dispatch({ type: 'session/opened', user }));
if (movieId) void poller.poke().then(() => saver.restore());
else store.dispatch({ type: 'movie/failed', message: 'No movie was named. Choose one from the list of movies.' });

// @ts-check
/** The Analyze page put together: one state, the panels that show it, the readings that keep it true. */
import * as api from './api.js';
import { FrameArchive } from './archive.js';
import { FrameCanvas } from './canvas.js';
import { announce, byId, freshKey, make, now, setAttribute, setText, show } from './dom.js';
import { analysisSize } from './geometry.js';
import { History } from './history.js';
import { listenToKeys } from './keys.js';
import { LeaseKeeper } from './lease.js';
import { MarkerList } from './markers.js';
import { Pictures } from './pictures.js';
import { Player } from './player.js';
import { Poller, repeated } from './poll.js';
import { asProblem } from './problem.js';
import { MovieReader } from './reader.js';
import { Results } from './results.js';
import { Rotation } from './rotate.js';
import { Saver } from './saver.js';
import { ScrubBar } from './scrub.js';
import { goToSignIn, openSession } from './session.js';
import { Settings } from './settings.js';
import * as model from './state.js';
import { openTabs } from './tabs.js';
import { TracePanel } from './trace.js';
import { Tracks } from './tracks.js';
import { TrimHandles } from './trim.js';
import { banner, clockInFull, facts, trimOffer } from './words.js';

/** @typedef {model.State} State */

const RATE = 'tiptrace.rate';
const NO_MOVIE = 'This address names no movie. Choose one from the list of movies.';

const movieId = new URLSearchParams(location.search).get('movie_id') ?? '';
const store = model.createStore(model.initialState(movieId));
const tracks = new Tracks();
/** @type {{picture: ImageBitmap | null, shown: number}} */
let onScreen = { picture: null, shown: -1 };

const goTo = (/** @type {number} */ frame) => {
  player.pause();
  store.dispatch({ type: 'frame/shown', frame });
};

const player = new Player({
  pictures: new Pictures(movieId, null),
  onPicture: (shown, picture) => {
    onScreen = { picture, shown };
    if (!store.state.size) store.dispatch({ type: 'movie/sized', size: { width: picture.width, height: picture.height } });
    drawFrame(store.state);
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
  onHold: (held) => store.dispatch({ type: held ? 'marker/taken' : 'marker/let-go' }),
  onZoom: (by, most) => {
    setText(byId('nearness-level'), `${Math.round(by * 100)} %`);
    byId('closer').disabled = !store.state.size || by >= most;
    byId('farther').disabled = byId('fit').disabled = by === 1;
  },
});
byId('closer').addEventListener('click', () => canvas.step(1));
byId('farther').addEventListener('click', () => canvas.step(-1));
byId('fit').addEventListener('click', () => canvas.fit());
const reader = new MovieReader({ store, onFirst: beginEditing });
const poller = new Poller({
  task: read,
  interval: pace,
  onProblem: (problem, failures) => {
    if (problem.kind === 'signed-out') goToSignIn();
    else if (problem.retryable) store.dispatch({ type: 'connection/failed', failures });
    else store.dispatch({ type: 'movie/failed', message: problem.status === 400 && !store.state.metadata ? NO_MOVIE : problem.message });
  },
});
const lease = new LeaseKeeper({ store, reread: () => void poller.poke() });
const saver = new Saver({ store, onLost: () => lease.lost(), onRefused: (message) => lease.refused(message) });
const markerList = new MarkerList({ store, onRename: rename, onStep: step });
const scrub = new ScrubBar({ onFrame: goTo, onPlay: play, state: () => store.state });
const settings = new Settings({ store, onLost: () => lease.lost(), onSet: wasSet });
const rotation = new Rotation({ store, saver, onTurned: () => void poller.poke(), onLost: () => lease.lost() });
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

/** One reading: what is new while a trace runs, everything when it has ended. */
async function read() {
  if (!store.state.metadata || !model.isTracing(store.state)) return readAll();
  await reader.readNew();
  return model.isTracing(store.state) ? undefined : readAll();
}

async function readAll() {
  await reader.readAll();
  await lease.takeIfFree();
  poller.reschedule();
  await readResults();
}

/** The movie is there: what an earlier life of this tab could not save is on it again, and the right to save it asked for. */
function beginEditing() {
  saver.restore();
  return lease.takeIfFree();
}

/** Frames or time were set: no frame has changed by it but the one that the trim begins with now. @param {any} metadata */
async function wasSet(metadata) {
  const start = model.trimStart(store.state);
  store.dispatch({ type: 'movie/changed', metadata });
  if (model.trimStart(store.state) !== start) await reader.readFrame(model.trimStart(store.state));
  await readResults();
}

async function readResults() {
  const { state } = store;
  if (model.isTracing(state)) return;
  const found = model.hasResults(state) ? await api.results(movieId).catch(() => null) : null;
  store.dispatch({ type: 'results/loaded', results: found });
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
    reader.renamed();
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

/** Run the film, or stop it if it runs that way already. @param {1 | -1} step */
function play(step) {
  const { state } = store;
  const [first, last] = [model.trimStart(state), model.trimEnd(state)];
  const running = player.playing;
  player.pause();
  if (running !== step) {
    const within = step === 1 ? state.frame < last : state.frame > first;
    const from = within ? state.frame : step === 1 ? first : last;
    void player.play({
      from, to: step === 1 ? last : first, total: model.totalFrames(state), rate: () => Number(byId('rate').value),
      onFrame: (frame) => store.dispatch({ type: 'frame/shown', frame }),
      onEnd: () => scrub.renderPlaying(player.playing),
    });
  }
  scrub.renderPlaying(player.playing);
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
  if (state.inHand) return; // it stands above the frame and would move it away under the hand
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
  rotation.render(state);
  trimHandles.render(state);
  results.render(state, before);
  tracePanel.render(state);
  tracks.update(state.frames, model.totalFrames(state));
  drawFrame(state);
}

/** The frame alone: a picture that came changes nothing else. @param {State} state */
function drawFrame(state) {
  if (!state.size) return;
  byId('stage').style.setProperty('--ratio', `${state.size.width} / ${state.size.height}`);
  canvas.draw({
    ...onScreen, size: state.size, markers: model.markersAt(state, state.frame), tracks,
    frame: state.frame, selected: state.selected, editable: model.canEdit(state),
  });
}

/** Which pictures a movie has; empty while they are being made. @param {State} state */
const edition = (state) => {
  const { metadata } = state;
  if (!metadata || model.isWaiting(state) || model.totalFrames(state) === 0) return '';
  return [metadata.rotation ?? 0, metadata.uploaded_at, model.totalFrames(state)].join();
};

/** @param {boolean} fresh */
async function archiveAddress(fresh) {
  const metadata = fresh ? (await api.movieMetadata(movieId)).metadata : store.state.metadata;
  return metadata?.movie_zipfile_url ?? null;
}

store.subscribe((state, before) => {
  render(state, before);
  if (edition(state) !== edition(before)) {
    const there = edition(state) !== '' && Boolean(state.metadata.movie_zipfile_url);
    player.forget(there ? new FrameArchive({ address: archiveAddress, total: model.totalFrames(state) }) : null);
    onScreen = { picture: null, shown: -1 };
    drawFrame(state);
  }
  const other = state.frame !== before.frame || edition(state) !== edition(before);
  if (other && edition(state) !== '') void player.show(state.frame, model.totalFrames(state));
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
listenToKeys({
  goTo, play, step, toggle: () => play(player.playing || 1), frame: () => store.state.frame,
  first: () => model.trimStart(store.state), last: () => model.trimEnd(store.state), nextDoubtful: () => byId('next-doubtful').click(),
  closer: (direction) => canvas.step(direction), fit: () => canvas.fit(), pan: (right, down) => canvas.pan(right, down),
});
byId('rate').value = localStorage.getItem(RATE) ?? '10';
if (!byId('rate').value) byId('rate').value = '10';
byId('rate').addEventListener('change', () => localStorage.setItem(RATE, byId('rate').value));
render(store.state, null);
void openSession().then((user) => store.dispatch({ type: 'session/opened', user }));
if (movieId) void poller.poke();
else store.dispatch({ type: 'movie/failed', message: NO_MOVIE });

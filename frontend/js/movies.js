// @ts-check
/** The list of movies: what each one is, who is at it, and the one thing to do with it next. */
import * as api from './api.js';
import { byId, keyed, make, now, setAttribute, setText, show } from './dom.js';
import { Poller } from './poll.js';
import { asProblem } from './problem.js';
import { goToSignIn, openSession } from './session.js';
import { clock, clockInFull, plural, statusWord, wasCancelled } from './words.js';

const FEW = 6; // so many are seen at a glance

/** @type {any[]} */
let movies = [];
/** @type {any} */
let me = null;
/** @type {string | null} */
let renaming = null;
/** @type {any} */
let toastTimer = null;

const poller = new Poller({
  task: read,
  interval: () => (document.hidden ? 60 : movies.some((movie) => ['tracing', 'processing'].includes(movie.status)) ? 3 : 15),
  onProblem: (problem, failures) => {
    if (problem.kind === 'signed-out') goToSignIn();
    else say(problem.retryable && failures > 1 ? 'Connection is slow. Trying again.' : problem.message);
  },
});

async function read() {
  const reply = await api.listMovies();
  movies = reply.movies.filter((/** @type {any} */ movie) => !movie.deleted);
  movies.sort((a, b) => Number(b.created_at ?? 0) - Number(a.created_at ?? 0));
  say('');
  render();
}

/** @param {string} sentence */
function say(sentence) {
  setText(byId('problem'), sentence);
  show(byId('problem'), sentence !== '');
}

/** @param {any} movie */
const address = (movie) => api.address('analyze', { movie_id: movie.movie_id });

/** Who is at a movie, and since when. @param {any} movie @returns {string} */
export function lockLine(movie) {
  const { tracking_lock: tracking, analysis_lock: analysis } = movie;
  if (movie.status === 'tracing') {
    const first = Number(tracking?.frame_start ?? 0);
    const last = Number(tracking?.frame_end ?? Number(tracking?.total_frames ?? movie.total_frames ?? 0) - 1);
    const done = Number(tracking?.last_frame_tracked ?? movie.last_frame_tracked ?? 0) - first;
    const part = last > first ? `, ${Math.round((100 * Math.max(0, done)) / (last - first))} %` : '';
    return tracking?.started_by_user_name ? `${tracking.started_by_user_name} started a trace at ${clock(tracking.acquired_at, now())}${part}` : `Tracing${part}`;
  }
  if (analysis?.active) {
    const who = analysis.own_user ? 'You are' : `${analysis.started_by_user_name || 'Someone'} is`;
    return `${who} editing since ${clock(analysis.acquired_at, now())}`;
  }
  if (movie.status === 'tracing failed') return movie.tracing_failure_summary ?? '';
  if (movie.status === 'unusable') return movie.status_reason ?? 'This file cannot be used.';
  if (movie.status === 'uploading') return 'The file has not arrived. Upload it again.';
  return movie.needs_retracing && movie.status === 'tracing completed' ? 'Markers were moved since the last trace' : '';
}

/** Does a movie have all the words in its title, owner or status? @param {any} movie @param {string} wanted lower case */
export function fits(movie, wanted) {
  const text = [movie.title, movie.user_name, statusWord(movie), movie.description].join(' ').toLowerCase();
  return wanted.split(/\s+/).every((word) => text.includes(word));
}

/** What this person may do about who sees a movie: its owner may hide it, an admin of the course may do both. @param {any} movie @returns {'Publish' | 'Hide' | null} */
function publishing(movie) {
  const admin = me?.roles?.some((/** @type {string} */ role) => role === 'course_admin' || role === 'superadmin');
  if (movie.published) return admin || movie.user_id === me?.user_id ? 'Hide' : null;
  return admin ? 'Publish' : null;
}

/** @param {any} movie @returns {{label: string, href: string}} */
export function primaryAction(movie) {
  if (movie.status === 'unusable' || movie.status === 'uploading') return { label: 'Upload again', href: 'upload' };
  const other = movie.analysis_lock?.active && !movie.analysis_lock.own_user;
  if (other || movie.status === 'tracing' || movie.can_edit === false) return { label: 'Watch', href: address(movie) };
  return { label: movie.status === 'tracing failed' && !wasCancelled(movie) ? 'Try again' : 'Analyze', href: address(movie) };
}

function render() {
  const list = byId('movies');
  setAttribute(list, 'aria-busy', 'false');
  const wanted = byId('filter').value.trim().toLowerCase();
  const found = movies.filter((movie) => fits(movie, wanted));
  keyed(list, found, (movie) => movie.movie_id, build, update);
  show(byId('none-found'), movies.length > 0 && found.length === 0);
  show(byId('search'), movies.length > FEW);
  show(byId('empty'), movies.length === 0);
  show(byId('upload'), movies.length > 0);
  setText(byId('summary'), movies.length ? plural(movies.length, 'movie') : '');
}

/** @param {any} movie */
function build(movie) {
  const find = (/** @type {Event} */ event) => {
    const id = /** @type {any} */ (event.currentTarget).closest('.movie').dataset.key;
    return movies.find((other) => other.movie_id === id);
  };
  const picture = make('img', { alt: '', loading: 'lazy', width: 320, height: 240,
    onerror: (/** @type {Event} */ event) => /** @type {any} */ (event.target).classList.add('missing') });
  const menu = make('details', { class: 'menu' },
    make('summary', { class: 'button icon quiet', 'aria-label': `More for ${movie.title}` }, '⋯'),
    make('div', { class: 'menu-items' },
      make('button', { type: 'button', text: 'Rename', onclick: (/** @type {Event} */ event) => startRenaming(find(event)) }),
      make('a', { class: 'csv', text: 'Download CSV', download: true }),
      make('button', { type: 'button', class: 'publish', onclick: (/** @type {Event} */ event) => void publish(find(event)) }),
      make('button', { type: 'button', class: 'danger', text: 'Delete', onclick: (/** @type {Event} */ event) => void remove(find(event)) })));
  return make('li', { class: 'movie' },
    make('a', { class: 'thumb', tabindex: -1, 'aria-hidden': 'true' }, picture),
    make('div', { class: 'movie-body' },
      make('h2', {}, make('a', { class: 'title' })),
      make('form', { class: 'rename', hidden: true, onsubmit: (/** @type {Event} */ event) => void finishRenaming(event, find(event)) },
        make('input', { type: 'text', maxlength: 200, required: true, 'aria-label': 'New title' }),
        make('button', { type: 'submit', text: 'Rename' }),
        make('button', { type: 'button', class: 'quiet', text: 'Keep', onclick: () => { renaming = null; render(); } })),
      make('p', { class: 'status' }, make('span', { class: 'status-dot', 'aria-hidden': 'true' }), make('span', { class: 'status-word' }), make('span', { class: 'facts' })),
      make('p', { class: 'lock' }),
      make('div', { class: 'row' }, make('a', { class: 'button go' }), make('span', { class: 'spring' }), menu)));
}

/** @param {any} card @param {any} movie */
function update(card, movie) {
  const go = primaryAction(movie);
  const picture = card.querySelector('img');
  const pictured = !['uploading', 'processing', 'unusable'].includes(movie.status);
  if (pictured) setAttribute(picture, 'src', api.thumbnailAddress(movie.movie_id));
  card.dataset.status = wasCancelled(movie) ? 'cancelled' : movie.status;
  picture.classList.toggle('missing', !pictured);
  setAttribute(card.querySelector('.thumb'), 'href', go.href);
  const title = card.querySelector('.title');
  setText(title, movie.title || 'Untitled movie');
  setAttribute(title, 'href', go.href);
  setText(card.querySelector('.status-word'), statusWord(movie));
  const facts = [
    movie.total_frames ? plural(Number(movie.total_frames), 'frame') : '',
    movie.user_id !== me?.user_id ? (movie.user_name ?? '') : '',
    movie.published ? 'shown to the course' : '',
    clock(Number(movie.created_at ?? 0), now()),
  ];
  setText(card.querySelector('.facts'), facts.filter(Boolean).join(' · '));
  if (movie.created_at) setAttribute(card.querySelector('.facts'), 'title', `Uploaded ${clockInFull(Number(movie.created_at))}`);
  const line = lockLine(movie);
  setText(card.querySelector('.lock'), line);
  show(card.querySelector('.lock'), line !== '');
  const button = card.querySelector('.go');
  setText(button, go.label);
  setAttribute(button, 'href', go.href);
  setAttribute(button, 'aria-label', `${go.label}: ${movie.title || 'Untitled movie'}`);
  const traced = movie.status === 'tracing completed';
  setAttribute(card.querySelector('.csv'), 'href', traced ? api.exportAddress(movie.movie_id, 'csv') : null);
  show(card.querySelector('.csv'), traced);
  const may = publishing(movie);
  const publishButton = card.querySelector('.publish');
  show(publishButton, may !== null);
  setText(publishButton, may === 'Hide' ? 'Hide from the course' : 'Show to the course');
  for (const button of card.querySelectorAll('.menu-items button:not(.publish)')) show(button, movie.can_edit !== false);
  show(card.querySelector('form'), renaming === movie.movie_id);
  show(card.querySelector('h2'), renaming !== movie.movie_id);
}

/** @param {any} movie */
function startRenaming(movie) {
  renaming = movie.movie_id;
  render();
  const card = /** @type {any} */ (document.querySelector(`[data-key="${movie.movie_id}"]`));
  card.querySelector('.menu').open = false;
  const input = card.querySelector('.rename input');
  input.value = movie.title;
  input.focus();
  input.select();
}

/** @param {Event} event @param {any} movie */
async function finishRenaming(event, movie) {
  event.preventDefault();
  const title = /** @type {any} */ (event.target).querySelector('input').value.trim();
  renaming = null;
  await tell(async () => {
    if (title && title !== movie.title) await api.setMovieProperty(movie.movie_id, 'title', title);
    await poller.poke();
  });
  render();
}

/** @param {any} movie */
async function publish(movie) {
  await tell(async () => {
    await api.setMovieProperty(movie.movie_id, 'published', movie.published ? '0' : '1');
    await poller.poke();
  });
}

/** @param {any} movie */
async function remove(movie) {
  await tell(async () => {
    await api.deleteMovie(movie.movie_id, true);
    toast(`${movie.title} was deleted.`, () => tell(async () => {
      await api.deleteMovie(movie.movie_id, false);
      await poller.poke();
    }));
    await poller.poke();
  });
}

/** Do it, and say so if it did not work. @param {() => Promise<void>} work */
async function tell(work) {
  try {
    await work();
  } catch (thrown) {
    say(asProblem(thrown).message);
  }
}

/** @param {string} sentence @param {() => void} undo */
function toast(sentence, undo) {
  setText(byId('toast-text'), sentence);
  show(byId('toast'), true);
  byId('toast-undo').onclick = () => {
    show(byId('toast'), false);
    undo();
  };
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => show(byId('toast'), false), 15_000);
}

byId('filter').addEventListener('input', render);
document.addEventListener('click', (event) => {
  for (const menu of document.querySelectorAll('.menu[open]')) {
    if (!menu.contains(/** @type {Node} */ (event.target))) /** @type {any} */ (menu).open = false;
  }
});
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  const menu = /** @type {any} */ (document.querySelector('.menu[open]'));
  if (!menu) return;
  menu.open = false;
  menu.querySelector('summary').focus();
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void poller.poke();
});

void openSession().then((user) => {
  me = user;
  void poller.poke();
});

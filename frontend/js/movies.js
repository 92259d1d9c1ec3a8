// @ts-check
/** The list of movies: found by course and by word, live while something moves. */
import * as api from './api.js';
import { byId, keyed, make, setAttribute, setText, show } from './dom.js';
import { buildCard, fits, moving, updateCard } from './movie_card.js';
import { Poller } from './poll.js';
import { asProblem } from './problem.js';
import { goToSignIn, openSession } from './session.js';
import { plural } from './words.js';

const FEW = 6; // so many are seen at a glance
const PACE = { often: 3, sometimes: 15 };

/** @type {any[]} newest first, deleted ones among them */
let movies = [];
/** @type {any} */
let me = null;
/** @type {string | null} */
let renaming = null;
/** @type {any} */
let toastTimer = null;
/** @type {'deed' | 'reading'} what the sentence above the list is about */
let saidOf = 'reading';

const poller = new Poller({
  task: read,
  // Nothing is asked while nothing moves: coming back to the page reads the list again.
  interval: () => {
    if (document.hidden) return null;
    const paces = movies.map(moving);
    return paces.includes('often') ? PACE.often : paces.includes('sometimes') ? PACE.sometimes : null;
  },
  onProblem: (problem, failures) => {
    if (problem.kind === 'signed-out') goToSignIn();
    else say(problem.retryable && failures > 1 ? 'Connection is slow. Trying again.' : problem.message, 'reading');
  },
});

async function read() {
  const reply = await api.listMovies();
  movies = reply.movies;
  movies.sort((a, b) => Number(b.created_at ?? 0) - Number(a.created_at ?? 0));
  offerCourses(reply.courses ?? []);
  if (saidOf === 'reading') say('');
  render();
}

/** What went wrong with a deed stays until the next one: the list may be read again in a moment. @param {string} sentence @param {'deed' | 'reading'} of */
function say(sentence, of = 'deed') {
  saidOf = of;
  setText(byId('problem'), sentence);
  show(byId('problem'), sentence !== '');
}

/** @param {{course_id: string, course_name: string}[]} courses */
function offerCourses(courses) {
  const select = byId('course');
  const offered = [{ course_id: '', course_name: 'All courses' }, ...courses];
  if (offered.map((one) => one.course_id).join() !== [...select.options].map((one) => one.value).join()) {
    const chosen = select.value;
    select.replaceChildren(...offered.map((one) => make('option', { value: one.course_id, text: one.course_name })));
    select.value = offered.some((one) => one.course_id === chosen) ? chosen : '';
  }
  show(byId('courses'), courses.length > 1);
}

function render() {
  const list = byId('movies');
  setAttribute(list, 'aria-busy', 'false');
  const there = movies.filter((movie) => !movie.deleted);
  const gone = movies.filter((movie) => movie.deleted);
  const putAway = byId('deleted').checked && gone.length > 0;
  const wanted = byId('filter').value.trim().toLowerCase();
  const course = byId('course').value;
  const found = (putAway ? gone : there).filter((movie) => fits(movie, wanted) && (!course || movie.course_id === course));
  keyed(list, found, (movie) => movie.movie_id, () => buildCard(find, deeds), (card, movie) =>
    updateCard(card, movie, { me, renaming: renaming === movie.movie_id }));
  show(byId('none-found'), movies.length > 0 && found.length === 0 && (wanted !== '' || course !== ''));
  show(byId('search'), there.length > FEW || wanted !== '');
  show(byId('show-deleted'), gone.length > 0);
  setText(byId('deleted-count'), `Deleted (${gone.length})`);
  show(byId('empty'), there.length === 0 && !putAway);
  show(byId('upload'), there.length > 0);
  setText(byId('summary'), there.length ? plural(there.length, 'movie') : '');
}

/** @param {Event} event */
const find = (event) => {
  const id = /** @type {any} */ (event.currentTarget).closest('.movie').dataset.key;
  return movies.find((other) => other.movie_id === id);
};

/** @type {import('./movie_card.js').Deeds} */
const deeds = {
  rename: (movie) => {
    renaming = movie.movie_id;
    render();
    const card = /** @type {any} */ (document.querySelector(`[data-key="${movie.movie_id}"]`));
    card.querySelector('.menu').open = false;
    const input = card.querySelector('.rename input');
    input.value = movie.title;
    input.focus();
    input.select();
  },
  named: async (event, movie) => {
    event.preventDefault();
    const title = /** @type {any} */ (event.target).querySelector('input').value.trim();
    renaming = null;
    if (title && title !== movie.title) await done(() => api.setMovieProperty(movie.movie_id, 'title', title));
    render();
  },
  keep: () => {
    renaming = null;
    render();
  },
  publish: (movie) => done(() => api.setMovieProperty(movie.movie_id, 'published', movie.published ? '0' : '1')),
  remove: async (movie) => {
    if (await done(() => api.deleteMovie(movie.movie_id, true))) toast(`${movie.title} was deleted.`, () => void deeds.restore(movie));
  },
  restore: async (movie) => void (await done(() => api.deleteMovie(movie.movie_id, false))),
  play: async (movie, traced) => {
    const link = await linkOf(movie, traced ? 'movie_traced_url' : 'movie_data_url');
    if (!link) return;
    setText(byId('player-title'), movie.title);
    setText(byId('player-problem'), '');
    byId('video').src = link;
    byId('player').showModal();
  },
  download: async (movie) => {
    const link = await linkOf(movie, 'movie_traced_url');
    if (link) make('a', { href: link, download: '' }).click();
  },
};

/** A signed link, fresh: it holds for an hour only. @param {any} movie @param {string} name @returns {Promise<string | null>} */
async function linkOf(movie, name) {
  closeMenus();
  say('');
  try {
    const { metadata } = await api.movieMetadata(movie.movie_id);
    if (metadata[name]) return metadata[name];
    say(`There is no such file of ${movie.title}. Trace it again.`);
  } catch (thrown) {
    say(asProblem(thrown).message);
  }
  return null;
}

/** Do it, say so if it did not work, and read the list again: it may be another one by now. @param {() => Promise<unknown>} work @returns {Promise<boolean>} */
async function done(work) {
  closeMenus();
  say('');
  const worked = await work().then(() => true, (thrown) => {
    say(asProblem(thrown).message);
    return false;
  });
  await poller.poke();
  return worked;
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

/** @param {Node | null} [but] what stays open */
function closeMenus(but = null) {
  for (const menu of document.querySelectorAll('.menu[open]')) {
    if (!but || !menu.contains(but)) /** @type {any} */ (menu).open = false;
  }
}

for (const id of ['filter', 'course', 'deleted']) byId(id).addEventListener('input', render);
byId('player').addEventListener('close', () => {
  byId('video').pause();
  byId('video').removeAttribute('src');
  byId('video').load();
});
byId('video').addEventListener('error', () => {
  if (byId('video').hasAttribute('src')) setText(byId('player-problem'), 'This browser cannot play the file as it was uploaded. Analyze shows its frames one by one.');
});
document.addEventListener('click', (event) => closeMenus(/** @type {Node} */ (event.target)));
document.addEventListener('keydown', (event) => {
  const menu = /** @type {any} */ (document.querySelector('.menu[open]'));
  if (event.key !== 'Escape' || !menu) return;
  menu.open = false;
  menu.querySelector('summary').focus();
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void poller.poke();
});
addEventListener('pageshow', (event) => {
  if (event.persisted) void poller.poke();
});

void openSession().then((user) => {
  me = user;
  void poller.poke();
});

// @ts-check
/** What has happened in a course, in words, narrowed to a person, a movie or some days. The address keeps the choice. */
import * as api from './api.js';
import { courseChoice } from './courses.js';
import { byId, make, setAttribute, setText, show } from './dom.js';
import { spanOf } from './days.js';
import { asProblem } from './problem.js';
import { openSession } from './session.js';
import { Trail } from './trail.js';

const FIELDS = /** @type {const} */ (['person', 'movie', 'from', 'to']);

/** @type {Map<string, string>} */
let titles = new Map();
let courseId = '';

const trail = new Trail(byId('events'), {
  empty: 'Nothing of this kind has happened.',
  heading: 'h2',
  titleOf: (movieId) => titles.get(movieId) ?? null,
  href: (movieId) => api.address('analyze', { movie_id: movieId }),
});

/** @param {string} sentence */
function say(sentence) {
  setText(byId('problem'), sentence);
  show(byId('problem'), sentence !== '');
}

/** What is asked for now; the address says it too, so that it can be kept and sent. */
function narrowed() {
  const [person, movie, from, to] = FIELDS.map((name) => byId(name).value);
  const kept = new URL(location.href);
  for (const name of FIELDS) {
    if (byId(name).value) kept.searchParams.set(name, byId(name).value);
    else kept.searchParams.delete(name);
  }
  history.replaceState(null, '', kept);
  show(byId('clear'), [person, movie, from, to].some(Boolean));
  byId('to').setCustomValidity(from && to && to < from ? 'This day is before the first one.' : '');
  return { course_id: courseId || null, log_user_id: person || null, movie_id: movie || null, ...spanOf(from, to) };
}

function read() {
  const filter = narrowed();
  if (byId('filters').reportValidity()) void trail.read(filter);
}

/** A choice that is not among the options is added, so that an address never silently asks for something else.
 * @param {string} field @param {[string, string][]} found value and label */
function offer(field, found) {
  const select = byId(field);
  const wanted = new URLSearchParams(location.search).get(field) ?? '';
  const all = wanted && !found.some(([value]) => value === wanted) ? [...found, [wanted, field === 'movie' ? 'Another movie' : 'Somebody else']] : found;
  select.append(...all.map(([value, label]) => make('option', { value, text: label })));
  select.value = wanted;
}

/** The people whom this person may know: members for their teachers, else those whose movies he sees. 
 * @param {any} me @param {any[]} movies @param {boolean} mayOversee @returns {Promise<[string, string][]>} */
async function people(me, movies, mayOversee) {
  const found = new Map(movies.map((movie) => [movie.user_id, movie.user_name || 'Somebody']));
  found.set(me.user_id, me.user_name || me.email);
  const { users } = mayOversee ? await api.listUsers({ course_id: courseId, count: 1000 }) : { users: [] };
  for (const user of users) found.set(user.user_id, user.user_name || user.email);
  return [...found].sort((one, other) => one[1].localeCompare(other[1]));
}

/** @param {any} me */
async function open(me) {
  const choice = await courseChoice(me);
  courseId = choice.courseId;
  choice.offer(byId('of-course'), byId('course'));
  setAttribute(byId('to-course'), 'href', api.address('course', { course_id: courseId }));
  if (choice.mayOversee) setText(byId('what'), 'What happened in the course: uploads, traces, who took over, who administers it.');
  const { movies } = await api.listMovies(courseId || undefined);
  titles = new Map(movies.filter((/** @type {any} */ movie) => movie.title).map((/** @type {any} */ movie) => [movie.movie_id, movie.title]));
  offer('movie', [...titles].sort((one, other) => one[1].localeCompare(other[1])));
  offer('person', await people(me, movies, choice.mayOversee));
  for (const name of /** @type {const} */ (['from', 'to'])) byId(name).value = new URLSearchParams(location.search).get(name) ?? '';
  read();
}

byId('filters').addEventListener('change', (/** @type {Event} */ event) => {
  if (event.target !== byId('course')) read();
});
byId('filters').addEventListener('submit', (/** @type {Event} */ event) => event.preventDefault());
byId('filters').addEventListener('reset', (/** @type {Event} */ event) => {
  event.preventDefault(); // the course stays, and nothing goes back to what the address said at first
  for (const name of FIELDS) byId(name).value = '';
  read();
});

void openSession().then(async (me) => {
  if (!me) return say('The server cannot be reached just now. Load the page again in a moment.');
  try {
    await open(me);
  } catch (thrown) {
    say(asProblem(thrown).message);
  }
});

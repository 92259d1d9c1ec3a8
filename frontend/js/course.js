// @ts-check
/** The teachers' page put together: who is at work now, who belongs to the course, how others come in. */
import * as api from './api.js';
import { courseChoice, courseName } from './courses.js';
import { byId, keyed, make, now, setAttribute, setText, show } from './dom.js';
import { Enrolment } from './enrol.js';
import { openKey, openNewCourse } from './letin.js';
import { atWork, sentenceOf, shares } from './live.js';
import { Members } from './members.js';
import { Poller } from './poll.js';
import { asProblem } from './problem.js';
import { goToSignIn, openSession } from './session.js';
import { clock, clockInFull } from './words.js';

/** @typedef {import('./live.js').AtWork} AtWork */

/** @param {string} sentence */
function say(sentence) {
  setText(byId('problem'), sentence);
  show(byId('problem'), sentence !== '');
}

/** How full the course is. @param {import('./courses.js').Course} course */
function renderPlaces({ enrolled, max_enrollment: most }) {
  const full = most !== undefined && enrolled !== undefined && enrolled >= most;
  setText(byId('places'), enrolled === undefined ? '' : most === undefined ? `${enrolled} in the course`
    : full ? `Full: ${enrolled} of ${most} places are taken` : `${enrolled} of ${most} places taken`);
  byId('places').dataset.tone = full ? 'warn' : 'calm';
}

/** @param {AtWork} one */
function build(one) {
  return make('li', {},
    make('span', { class: 'mark', 'aria-hidden': 'true' }),
    make('p', {}, make('strong'), ' ', make('a', { href: api.address('analyze', { movie_id: one.movieId }) })),
    make('span', { class: 'since' }),
    make('progress', { max: 1, 'aria-label': `Frames of ${one.title} traced` }));
}

/** @param {any} line @param {AtWork} one */
function update(line, one) {
  line.dataset.doing = one.doing;
  setText(line.querySelector('strong'), sentenceOf(one));
  setText(line.querySelector('a'), one.title);
  const since = line.querySelector('.since');
  setText(since, [`since ${clock(one.since, now())}`, one.frames].filter(Boolean).join(' · '));
  setAttribute(since, 'title', clockInFull(one.since));
  const bar = line.querySelector('progress');
  show(bar, one.part !== null);
  if (one.part !== null) bar.value = one.part;
}

/** @param {any} me @param {Awaited<ReturnType<typeof courseChoice>>} choice */
async function open(me, { course, courseId }) {
  const members = new Members({ courseId, me });
  /** @type {AtWork[]} */
  let working = [];
  const poller = new Poller({
    task: async () => {
      const { movies } = await api.listMovies(courseId);
      working = atWork(movies);
      keyed(byId('now'), working, (one) => one.movieId, build, update);
      show(byId('nobody'), working.length === 0);
      setText(byId('now-said'), working.length ? `${working.length} at work` : '');
      members.share(shares(movies));
      say('');
    },
    interval: () => (document.hidden ? null : working.some((one) => one.part !== null) ? 3 : 10),
    onProblem: (problem, failures) => {
      if (problem.kind === 'signed-out') goToSignIn();
      else say(problem.retryable && failures > 1 ? 'Connection is slow. Trying again.' : problem.message);
    },
  });
  /** The members are told to those alone whose page this is. */
  const readMembers = () => members.read().then(renderPlaces).catch((thrown) => {
    const problem = asProblem(thrown);
    if (problem.kind !== 'refused') return say(problem.message);
    poller.stop();
    show(byId('page'), false);
    show(byId('not-yours'), true);
  });
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return poller.reschedule(); // to rest
    void poller.poke();
    void readMembers(); // who comes back after a while may find others here, or his own right gone
  });
  if (course?.course_admin) {
    show(byId('enrol'), true);
    openKey(course);
    new Enrolment({ courseId, onRegistered: readMembers });
  }
  await Promise.all([readMembers(), poller.poke()]);
}

void openSession().then(async (me) => {
  if (!me) return say('The server cannot be reached just now. Load the page again in a moment.');
  try {
    const choice = await courseChoice(me, { onlyOverseen: true });
    if (!choice.course) return show(byId('not-yours'), true);
    openNewCourse(me);
    const title = courseName(choice.course);
    setText(byId('title'), title);
    document.title = `${title} · tiptrace`;
    choice.offer(byId('of-course'), byId('course'));
    setAttribute(byId('to-activity'), 'href', api.address('activity', { course_id: choice.courseId }));
    show(byId('page'), true);
    await open(me, choice);
  } catch (thrown) {
    say(asProblem(thrown).message);
  }
});

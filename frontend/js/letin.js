// @ts-check
/** How students come in by themselves: the key of the course, shown when somebody asks for it; and new courses. */
import * as api from './api.js';
import { byId, setAttribute, setText, show } from './dom.js';
import { asProblem } from './problem.js';

/** The card with the key. @param {import('./courses.js').Course} course */
export function openKey(course) {
  show(byId('key-card'), Boolean(course.course_key));
  if (!course.course_key) return;
  byId('show-key').addEventListener('click', () => {
    const open = byId('key-shown').hidden;
    byId('key').value = open ? course.course_key : '';
    // Behind the #, so that the key reaches no server's log.
    byId('key-link').value = open ? `${api.address('signin')}#course_key=${encodeURIComponent(course.course_key ?? '')}` : '';
    show(byId('key-shown'), open);
    setText(byId('copied'), '');
    setAttribute(byId('show-key'), 'aria-expanded', String(open));
    setText(byId('show-key'), open ? 'Hide the key' : 'Show the key');
  });
  byId('copy-key').addEventListener('click', () => void copy(byId('key'), 'The key'));
  byId('copy-link').addEventListener('click', () => void copy(byId('key-link'), 'The address'));
}

/** @param {HTMLInputElement} field @param {string} what */
async function copy(field, what) {
  try {
    await navigator.clipboard.writeText(field.value);
    setText(byId('copied'), `${what} is copied.`);
  } catch { // not allowed, or not over https: then by hand
    field.select();
    setText(byId('copied'), `${what} is marked: copy it with Ctrl+C.`);
  }
}

/** The card in which a superadmin makes a course. @param {any} me */
export function openNewCourse(me) {
  show(byId('new-course-card'), me.roles.includes('superadmin'));
  const [title, id] = [byId('course-title'), byId('course-id')];
  let typed = false;
  id.addEventListener('input', () => { typed = true; });
  title.addEventListener('input', () => {
    if (!typed) id.value = shortName(title.value);
  });
  byId('new-course').addEventListener('submit', async (/** @type {Event} */ event) => {
    event.preventDefault();
    setText(byId('course-problem'), '');
    try {
      const { course } = await api.newCourse({ course_id: id.value, course_name: title.value, max_enrollment: Number(byId('course-limit').value) });
      location.assign(api.address('course', { course_id: course.course_id }));
    } catch (thrown) {
      setText(byId('course-problem'), asProblem(thrown).message);
    }
  });
}

/** What can stand in an address. @param {string} title */
const shortName = (title) => title.trim().toLowerCase().replaceAll(/[\s/\\?#]+/g, '-').slice(0, 100).replaceAll(/^-+|-+$/g, '');

// @ts-check
/** Which course a page is about: the one in its address, else the person's own, among those that he knows. */
import * as api from './api.js';
import { make, show } from './dom.js';
import { oversees } from './head.js';

/**
 * @typedef {{course_id: string, course_name: string, course_admin: boolean, course_key?: string, max_enrollment?: number, enrolled?: number}} Course
 *   its key, its limit and its count are there for those who administer it
 */

/** What people call a course. @param {Course} course */
export const courseName = (course) => course.course_name || course.course_id;

/** The courses whose people this person may see, of all that were told. @param {any} me @param {Course[]} courses */
export const overseen = (me, courses) =>
  courses.filter((course) => course.course_admin || me.roles.some((/** @type {string} */ role) => role.startsWith('super')));

/**
 * Which one, out of several. @param {Course[]} courses @param {(string | null)[]} wishes the first that is there counts
 * @returns {Course | null}
 */
export const chosen = (courses, wishes) =>
  wishes.map((wish) => courses.find((course) => course.course_id === wish)).find(Boolean) ?? courses[0] ?? null;

/**
 * The course that the page's address names or this person works in.
 * @param {any} me @param {{onlyOverseen?: boolean}} [options]
 */
export async function courseChoice(me, { onlyOverseen = false } = {}) {
  const { courses: told } = await api.listUsers({ count: 1 });
  const courses = onlyOverseen ? overseen(me, told) : told;
  const course = chosen(courses, [new URLSearchParams(location.search).get('course_id'), me.course_id]);
  return {
    courses,
    course,
    courseId: course?.course_id ?? '',
    mayOversee: oversees(me) && course !== null && overseen(me, [course]).length > 0,
    /** Lets the person turn to another course, if there is one. @param {HTMLElement} field @param {HTMLSelectElement} select */
    offer(field, select) {
      select.replaceChildren(...courses.map((one) => make('option', { value: one.course_id, text: courseName(one) })));
      select.value = course?.course_id ?? '';
      show(field, courses.length > 1);
      select.addEventListener('change', () => location.assign(api.address(location.pathname, { course_id: select.value })));
    },
  };
}

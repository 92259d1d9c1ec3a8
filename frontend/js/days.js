// @ts-check
/** Calendar days as people count them, in their own time zone. Pure. */

/** @param {Date} date midnight at which its day begins */
const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());

/** What a person calls the day of an instant. @param {number} epoch seconds @param {number} now seconds */
export function dayWord(epoch, now) {
  const [day, today] = [midnight(new Date(epoch * 1000)), midnight(new Date(now * 1000))];
  const ago = Math.round((today.getTime() - day.getTime()) / 86_400_000); // rounded: a day of a clock change is shorter
  if (ago === 0) return 'Today';
  if (ago === 1) return 'Yesterday';
  const year = day.getFullYear() === today.getFullYear() ? undefined : 'numeric';
  return day.toLocaleDateString([], { weekday: 'long', day: 'numeric', month: 'long', year });
}

/** Hours and minutes. @param {number} epoch seconds */
export const timeOfDay = (epoch) => new Date(epoch * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });

/**
 * The first and the last second of some days, as the audit trail takes them. What is empty or no date is left open.
 * @param {string} first `2026-11-30`, as a date field holds it @param {string} last
 * @returns {{start_time?: number, end_time?: number}}
 */
export function spanOf(first, last) {
  const [start, end] = [startOf(first, 0), startOf(last, 1)];
  return { ...(start === null ? {} : { start_time: start }), ...(end === null ? {} : { end_time: end - 1 }) };
}

/** @param {string} day @param {number} later days @returns {number | null} seconds */
function startOf(day, later) {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day);
  if (!parts) return null;
  const start = new Date(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3]) + later).getTime() / 1000;
  return Number.isNaN(start) || start < 0 ? null : start;
}

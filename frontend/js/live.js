// @ts-check
/** Who is at which movie now. Pure: the list of movies in, what a teacher wants to know out. */

/**
 * @typedef {'editing' | 'tracing' | 'waiting' | 'checking'} Doing
 * @typedef {{movieId: string, title: string, doing: Doing, who: string, own: boolean, since: number, part: number | null, frames: string}} AtWork
 *   `since` in epoch seconds; `part` of the work that is done, 0 to 1, where that is known
 */

/** Movies that somebody edits or that a worker has, the latest first. @param {any[]} movies @returns {AtWork[]} */
export function atWork(movies) {
  return movies
    .filter((movie) => !movie.deleted)
    .flatMap((movie) => {
      const { tracking_lock: job, analysis_lock: editor } = movie;
      const held = job?.active ? job : editor?.active ? editor : null;
      if (!held) return [];
      return [{
        movieId: movie.movie_id,
        title: movie.title || 'Untitled movie',
        doing: held === editor ? /** @type {Doing} */ ('editing') : doingOf(job),
        who: held.started_by_user_name || 'Somebody',
        own: Boolean(held === editor && editor.own_user),
        since: Number(held.acquired_at),
        ...(held === job ? progressOf(job) : { part: null, frames: '' }),
      }];
    })
    .sort((one, other) => other.since - one.since || one.title.localeCompare(other.title));
}

/** @param {any} job @returns {Doing} */
function doingOf(job) {
  if (job.kind === 'inspect') return 'checking';
  return job.state === 'queued' ? 'waiting' : 'tracing';
}

/** @param {any} job @returns {{part: number | null, frames: string}} */
function progressOf(job) {
  if (doingOf(job) !== 'tracing' || typeof job.backward_frame === 'number') return { part: null, frames: '' };
  const first = Number(job.frame_start ?? 0);
  const last = Number(job.frame_end ?? job.total_frames - 1);
  const reached = Math.min(last, Math.max(first, Number(job.last_frame_tracked)));
  return last > first ? { part: (reached - first) / (last - first), frames: `frame ${reached} of ${last}` } : { part: null, frames: '' };
}

/** @param {AtWork} one */
export function sentenceOf(one) {
  switch (one.doing) {
    case 'editing': return one.own ? 'You are editing' : `${one.who} is editing`;
    case 'tracing': return `Tracing for ${one.who}`;
    case 'waiting': return `Waiting for a worker, for ${one.who}`;
    default: return `Being checked, for ${one.who}`;
  }
}

/**
 * How much each person has in the course.
 * @param {any[]} movies @returns {Map<string, {movies: number, last: number}>} by user id; `last`: when one was last worked on
 */
export function shares(movies) {
  const found = new Map();
  for (const movie of movies) {
    if (movie.deleted) continue;
    const { movies: count, last } = found.get(movie.user_id) ?? { movies: 0, last: 0 };
    found.set(movie.user_id, { movies: count + 1, last: Math.max(last, Number(movie.last_activity_at ?? movie.created_at ?? 0)) });
  }
  return found;
}

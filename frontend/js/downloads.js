// @ts-check
/** Which files there are to take away, and why not. Pure. */
import { tracedFrames } from './chart_data.js';
import { hasPositions, hasResults, isTracing } from './state.js';

/** @typedef {import('./state.js').State} State */

/**
 * `table`: CSV, Excel and JSON; `movie`: its address; `words`: what to know about them, empty if all are there and fresh.
 * @param {State} state @returns {{table: boolean, movie: string | null, words: string}}
 */
export function offered(state) {
  if (!state.metadata) return { table: false, movie: null, words: '' };
  if (isTracing(state)) return { table: false, movie: null, words: 'The files are there when the trace has ended.' };
  const failed = state.metadata.status === 'tracing failed';
  const movie = state.metadata.movie_traced_url ?? null;
  if (!hasResults(state)) {
    if (hasPositions(state) && !failed) return { table: true, movie: null, words: 'The movie is not traced yet: the tables hold what was placed by hand.' };
    const gone = failed ? 'The last trace ended early, and it had taken the place of what was there before. Trace the movie again.' : 'There is nothing to download before the movie is traced.';
    return { table: false, movie: null, words: gone };
  }
  if (failed) {
    const frames = tracedFrames(state);
    const tables = `The last trace ended early: the tables reach frame ${frames[frames.length - 1]}.`;
    return { table: true, movie, words: `${tables} ${movie ? 'The labelled movie is that of the trace before.' : 'There is no labelled movie of it.'}` };
  }
  return { table: true, movie, words: movie ? '' : 'The labelled movie is made by the next trace.' };
}

/** A file's name that every system takes, after what somebody called a movie. @param {string} title @param {string} ending */
export function fileName(title, ending) {
  const plain = title.normalize('NFC').replace(/[\p{C}"*/:<>?\\|]+/gu, ' ').replace(/\s+/g, ' ').trim().slice(0, 80).replace(/^[\s.]+|[\s.]+$/g, '');
  return `${plain || 'movie'} ${ending}`;
}

// @ts-check
/** What happened to the movie on the Analyze page: read when somebody opens it, and not before. */
import { byId } from './dom.js';
import { Trail } from './trail.js';

export class History {
  #box = byId('history');
  #trail = new Trail(byId('history-trail'), { empty: 'Nothing has happened to this movie yet.' });

  /** @param {string} movieId */
  constructor(movieId) {
    this.#box.addEventListener('toggle', () => {
      if (this.#box.open) void this.#trail.read({ movie_id: movieId });
    });
  }

  /** Something has happened that the trail tells of. */
  changed() {
    if (this.#box.open) void this.#trail.again();
  }
}

// @ts-check
/** Turn a movie by a quarter without opening it: take the editing lease, spend it on the rotation. */
import { acquireLease, releaseLease, rotateMovie } from './api.js';
import { freshKey } from './dom.js';
import { repeated } from './poll.js';
import { Problem } from './problem.js';

/**
 * One intent, whatever is lost on the way: both requests carry keys of their own and may be repeated.
 * @param {string} movie_id @param {number} rotation degrees clockwise from how the file lies
 */
export async function turn(movie_id, rotation) {
  const [lease_request_key, request_key] = [freshKey(), freshKey()];
  const taken = await repeated(() => acquireLease({ movie_id, lease_request_key }));
  if (!taken.lease_id) throw new Problem({ kind: 'conflict', message: taken.message ?? 'Somebody is editing this movie.' });
  try {
    await repeated(() => rotateMovie({ movie_id, rotation, analysis_lease_id: taken.lease_id, request_key }));
  } catch (thrown) {
    releaseLease(movie_id, taken.lease_id); // nobody holds on to a movie that was not turned
    throw thrown;
  }
}

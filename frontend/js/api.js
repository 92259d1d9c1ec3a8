// @ts-check
/**
 * Every request a page makes. The key travels in an HttpOnly cookie, so no page ever sees it. Addresses are relative
 * to the page: all pages lie side by side, so the same files work below any mount point.
 */
import { Problem, asProblem, problemOf } from './problem.js';

const CLIENT_VERSION = 'page-1';
const PATIENCE = 20_000;
const LONG_PATIENCE = 300_000;

/** Of this page load. Not randomUUID, which a page over plain HTTP does not have. */
const PAGE_ID = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
let asked = 0;

/**
 * What every request says of itself. Its id is in the log of the server, and of the worker whose job it started; the
 * page's id joins all that one page asked.
 * @returns {Record<string, string>}
 */
function named() {
  asked += 1;
  return { 'X-Client-Version': CLIENT_VERSION, 'X-Page-Id': PAGE_ID, 'X-Request-Id': `${PAGE_ID}-${asked}` };
}

/** @param {string} path @param {Record<string, any>} [query] */
export function address(path, query = {}) {
  const url = new URL(path, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
  }
  return url.href;
}

/** @param {Record<string, any>} fields without those that are null or undefined @returns {Record<string, string>} */
function given(fields) {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [name, String(value)]),
  );
}

/**
 * @param {string} url @param {RequestInit} init @param {{retry?: string | null}} [options]  `retry`: why it is asked again
 * @returns {Promise<any>} the envelope, when it says error: false
 */
async function ask(url, init, { retry = null } = {}) {
  let response;
  let body = null;
  try {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(named())) headers.set(name, value);
    if (retry) headers.set('X-Retry-Reason', retry);
    response = await fetch(url, { credentials: 'same-origin', signal: AbortSignal.timeout(PATIENCE), ...init, headers });
    const text = await response.text();
    body = text ? JSON.parse(text) : null;
  } catch (thrown) {
    if (!response) throw asProblem(thrown);
    if (!(thrown instanceof SyntaxError)) throw asProblem(thrown);
  }
  if (!response.ok || !body || body.error) throw problemOf(response, body);
  return body;
}

/** @param {string} path @param {Record<string, any>} [query] */
const get = (path, query) => ask(address(path, query), { method: 'GET' });

/** @param {string} path @param {Record<string, any>} [fields] */
const post = (path, fields = {}) => ask(address(path), { method: 'POST', body: new URLSearchParams(given(fields)) });

/** @param {string} path @param {Record<string, any>} fields @param {{retry?: string | null}} [options] */
const postJson = (path, fields, options) =>
  ask(
    address(path),
    { method: 'POST', body: JSON.stringify(fields), headers: { 'Content-Type': 'application/json' } },
    options,
  );

export const whoAmI = () => post('api/check-api_key');
export const signOut = () => fetch(address('signout'), { method: 'POST', credentials: 'same-origin', headers: named() });
/** Uses a sign-in link up; the answer sets the cookie. @param {string} token @returns {Promise<void>} */
export async function signIn(token) {
  let response;
  try {
    response = await fetch(address('signin'), { method: 'POST', body: new URLSearchParams({ token }), credentials: 'same-origin', headers: named() });
    if (response.ok) return;
  } catch (thrown) {
    throw asProblem(thrown);
  }
  throw problemOf(response, await response.json().catch(() => null));
}
/** @param {string} email */
export const resendLink = (email) => post('api/resend-link', { email });
/** @param {{course_key: string, name: string, email: string}} fields */
export const register = (fields) => post('api/register', fields);

/** Of one course, or of all that the person may see. @param {string} [course_id] */
export const listMovies = (course_id) => post('api/list-movies', { course_id });
/** @param {string} movie_id @param {string} property @param {string} value */
export const setMovieProperty = (movie_id, property, value) =>
  post('api/set-metadata', { set_movie_id: movie_id, property, value });
/** @param {string} movie_id @param {boolean} gone */
export const deleteMovie = (movie_id, gone) => post('api/delete-movie', { movie_id, delete: gone ? 1 : 0 });

/** Newest first. @param {Record<string, any>} filter of the audit trail: course_id, movie_id, log_user_id, start_time, end_time, count, offset */
export const events = (filter) => get('api/get-logs', filter);
/** People and courses. @param {{course_id?: string, offset?: number, count?: number}} asked */
export const listUsers = (asked) => get('api/list-users', asked);
/** @param {string} course_id @param {string[]} emails `Name <address>` each */
export const bulkRegister = (course_id, emails) => postJson('api/bulk-register', { course_id, emails });
/** @param {string} course_id @param {string} user_id @param {boolean} administers */
export const setAdministrator = (course_id, user_id, administers) =>
  ask(address(`api/admin/courses/${encodeURIComponent(course_id)}/administrators/${encodeURIComponent(user_id)}`), { method: administers ? 'PUT' : 'DELETE' });
/** @param {{course_id: string, course_name: string, max_enrollment: number}} fields */
export const newCourse = (fields) => post('api/admin/courses', fields);

/** @param {Record<string, any>} fields */
export const newMovie = (fields) => post('api/new-movie', fields);
/** @param {string} movie_id */
export const processUpload = (movie_id) => postJson('resize-api/v1/process-upload', { movie_id });

/** @param {string} movie_id @param {{frame_start?: number, frame_count?: number}} [range] */
export const movieMetadata = (movie_id, range = {}) => get('api/get-movie-metadata', { movie_id, ...range });

/** @param {{movie_id: string, lease_request_key: string, analysis_lease_id?: string | null, take_over?: number}} fields */
export const acquireLease = (fields) => post('api/acquire-movie-analysis-lease', fields);
/** @param {string} movie_id @param {string} analysis_lease_id */
export const heartbeatLease = (movie_id, analysis_lease_id) =>
  post('api/heartbeat-movie-analysis-lease', { movie_id, analysis_lease_id });
/** Works while the page is being closed. @param {string} movie_id @param {string} analysis_lease_id */
export const releaseLease = (movie_id, analysis_lease_id) =>
  navigator.sendBeacon(
    address('api/release-movie-analysis-lease'),
    new URLSearchParams({ movie_id, analysis_lease_id }),
  );

/** @param {{movie_id: string, frame_number: number, trackpoints: string, analysis_lease_id: string}} fields */
export const putTrackpoints = (fields) => post('api/put-frame-trackpoints', fields);
/** @param {{movie_id: string, old_label: string, new_label: string, analysis_lease_id: string, request_key: string}} fields */
export const renameMarker = (fields) => post('api/rename-marker', fields);
/** @param {Record<string, any>} fields movie_id, analysis_lease_id and one of trim_start_frame, trim_end_frame */
export const setTrim = (fields) => post('api/set-movie-trim', fields);
/** @param {{movie_id: string, fpm: number, analysis_lease_id: string}} fields */
export const setFpm = (fields) => post('api/set-movie-fpm', fields);

/** Turned clockwise from how the file lies; the lease is spent on it. @param {{movie_id: string, rotation: number, analysis_lease_id: string, request_key: string}} fields */
export const rotateMovie = (fields) => post('api/rotate-movie', fields);

/** A procedural plant, made by the server to be tried out. @returns {Promise<File>} */
export async function sampleMovie() {
  let response;
  try {
    response = await fetch(address('resize-api/v1/sample-movie'), { credentials: 'same-origin', headers: named() });
    if (response.ok) return new File([await response.blob()], 'sample bean.mp4', { type: 'video/mp4' });
  } catch (thrown) {
    throw asProblem(thrown);
  }
  throw problemOf(response, await response.json().catch(() => null));
}

/** @param {Record<string, any>} fields @param {string | null} retry why the same intent is sent again, or null */
export const traceMovie = (fields, retry) => postJson('resize-api/v1/trace-movie', fields, { retry });
/** Only the job that the page shows: a request that comes late must not stop the next one. @param {string} movie_id @param {string | undefined} job_id */
export const cancelTrace = (movie_id, job_id) => postJson('resize-api/v1/cancel-trace', { movie_id, job_id });

/** What was measured. Of a long movie it takes its time: all positions are read for it, though none is told. @param {string} movie_id @returns {Promise<any>} */
export async function results(movie_id) {
  const place = address('api/get-movie-trackpoints', { movie_id, format: 'json', points: 0 });
  return (await ask(place, { method: 'GET', signal: AbortSignal.timeout(LONG_PATIENCE) })).results;
}
/** @param {string} movie_id @param {string} format */
export const exportAddress = (movie_id, format) => address('api/get-movie-trackpoints', { movie_id, format });
/** @param {string} movie_id */
export const thumbnailAddress = (movie_id) => address('resize-api/v1/first-frame', { movie_id });

/** One picture, as the analysis sees it. @param {string} movie_id @param {number} frame_number @param {AbortSignal} signal */
export async function framePicture(movie_id, frame_number, signal) {
  let response;
  try {
    response = await fetch(address('resize-api/v1/frame', { movie_id, frame_number }), { signal, headers: named() });
    if (response.ok) return await response.blob();
  } catch (thrown) {
    throw asProblem(thrown);
  }
  throw problemOf(response, await response.json().catch(() => null));
}

/**
 * Send a file to the object store by a presigned form. XHR, since fetch tells nothing of an upload's progress.
 * @param {{url: string, fields: Record<string, string>}} form @param {Blob} file
 * @param {(part: number) => void} onProgress 0 to 1 @param {AbortSignal} signal @returns {Promise<void>}
 */
export function uploadFile(form, file, onProgress, signal) {
  const body = new FormData();
  for (const [name, value] of Object.entries(form.fields)) body.append(name, value);
  body.append('file', file); // the store wants the file last
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', form.url);
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) onProgress(event.loaded / event.total);
    };
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve();
      else {
        const kind = request.status === 429 || request.status >= 500 ? 'unreachable' : 'invalid'; // busy, or never
        reject(new Problem({ kind, message: 'The store did not take the file. Try again.', status: request.status }));
      }
    };
    request.onerror = () => reject(new Problem({ kind: 'unreachable', message: 'The connection broke while the file was being sent.' }));
    request.onabort = () => reject(new DOMException('Stopped', 'AbortError'));
    signal.addEventListener('abort', () => request.abort());
    request.send(body);
  });
}

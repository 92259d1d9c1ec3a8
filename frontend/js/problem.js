// @ts-check
/**
 * What can go wrong with a request, told apart by what a page should do about it.
 *
 *   unreachable  nobody answered, or the server asked for patience: try again, lose nothing
 *   conflict     somebody else holds the movie: the lease is lost
 *   signed-out   no valid key: sign in
 *   refused      no right to this
 *   missing      no such movie
 *   invalid      this very request will never work
 *
 * @typedef {'unreachable' | 'conflict' | 'signed-out' | 'refused' | 'missing' | 'invalid'} Kind
 */

/** @type {Record<Kind, string>} */
const FALLBACK = {
  unreachable: 'The server cannot be reached just now.',
  conflict: 'Another page is editing this movie.',
  'signed-out': 'You are not signed in.',
  refused: 'You have no right to do this.',
  missing: 'This movie does not exist, or it was deleted.',
  invalid: 'The server could not use this request.',
};

export class Problem extends Error {
  /** @param {{kind: Kind, message?: string, code?: string, status?: number, retryAfter?: number | null}} facts */
  constructor({ kind, message, code = kind, status = 0, retryAfter = null }) {
    super(message || FALLBACK[kind]);
    this.name = 'Problem';
    this.kind = kind;
    this.code = code;
    this.status = status;
    /** Seconds the server asked to wait, or null. */
    this.retryAfter = retryAfter;
  }

  /** Would the same request make sense later? */
  get retryable() {
    return this.kind === 'unreachable';
  }
}

/** @param {number} status @param {string} [code] @returns {Kind} */
export function kindOf(status, code) {
  if (code === 'invalid_api_key' || status === 401) return 'signed-out';
  if (status === 403) return 'refused';
  if (status === 404) return 'missing';
  if (code === 'edited_meanwhile') return 'unreachable'; // two writes crossed: the same one works a moment later
  if (status === 409) return 'conflict';
  if (status === 0 || status === 408 || status === 429 || status >= 500) return 'unreachable';
  return 'invalid';
}

/** Seconds from a Retry-After header, in either of its forms. @param {string | null} header @param {number} now ms @returns {number | null} */
export function retryAfterSeconds(header, now) {
  if (!header) return null;
  if (/^\d+$/.test(header.trim())) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, (date - now) / 1000);
}

/** @param {Response} response @param {any} body parsed JSON, or null if it was none @returns {Problem} */
export function problemOf(response, body) {
  const code = typeof body?.code === 'string' ? body.code : undefined;
  return new Problem({
    kind: kindOf(response.status, code),
    code,
    status: response.status,
    message: typeof body?.message === 'string' ? body.message : undefined,
    retryAfter: retryAfterSeconds(response.headers.get('Retry-After'), Date.now()),
  });
}

/** Why a request is made again, in the words that the server counts. @param {Problem} problem */
export function retryReason({ status, code }) {
  if (status === 429) return 'throttled';
  if (status > 0) return 'unavailable';
  return code === 'timeout' ? 'timeout' : 'network';
}

/** Whatever was thrown, as a Problem. @param {unknown} thrown @returns {Problem} */
export function asProblem(thrown) {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof DOMException || thrown instanceof TypeError) {
    return new Problem({ kind: 'unreachable', code: thrown.name === 'TimeoutError' ? 'timeout' : 'network' });
  }
  return new Problem({ kind: 'invalid', message: thrown instanceof Error ? thrown.message : String(thrown) });
}

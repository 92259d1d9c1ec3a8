// @ts-check
/**
 * The results out of the JSON export without its positions: those the page has already, and of a long movie they are
 * tens of megabytes, which no page takes apart without a halt. The export tells its results last.
 */

const ENOUGH = 1 << 20; // bytes; results are some kilobytes

/** The end of an answer, while the rest is thrown away as it comes. @param {ReadableStream<Uint8Array>} body @param {number} bytes at least so many, if there are */
export async function endOf(body, bytes) {
  /** @type {Uint8Array[]} */
  const kept = [];
  let size = 0;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    kept.push(value);
    size += value.length;
    while (size - kept[0].length >= bytes) size -= /** @type {Uint8Array} */ (kept.shift()).length;
  }
  return new Blob(/** @type {any} */ (kept)).text();
}

/** @param {string} end of an export @returns {any | null} */
export function resultsOf(end) {
  // Quotes inside a text are escaped, so these are no part of a name that a person gave.
  const at = end.lastIndexOf('"results":');
  return at < 0 ? null : JSON.parse(`{${end.slice(at)}`).results;
}

/** @param {Response} response a JSON export @returns {Promise<any | null>} */
export const resultsIn = async (response) => (response.body ? resultsOf(await endOf(response.body, ENOUGH)) : null);

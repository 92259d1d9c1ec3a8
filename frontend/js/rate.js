// @ts-check
/** How fast something goes and how long it will still take, from what was seen of it lately. Pure. */

const WINDOW = 8; // seconds: long enough to be calm, short enough to notice another network
const SOONEST = 1; // seconds to look on before anything is said

export class Rate {
  /** @type {{at: number, done: number}[]} oldest first */
  #seen = [];

  /** @param {number} at seconds of any clock that only goes forward @param {number} done of whatever is counted */
  note(at, done) {
    const last = this.#seen[this.#seen.length - 1];
    if (last && (done < last.done || at < last.at)) this.#seen = []; // begun again
    this.#seen.push({ at, done });
    while (this.#seen.length > 2 && at - this.#seen[1].at >= WINDOW) this.#seen.shift();
  }

  /** Per second, or null before anything can be said. @returns {number | null} */
  get perSecond() {
    const [first] = this.#seen;
    const last = this.#seen[this.#seen.length - 1];
    if (!first || last.at - first.at < SOONEST) return null;
    return (last.done - first.done) / (last.at - first.at);
  }

  /** Seconds until `total`, or null while that is not known. @param {number} total @returns {number | null} */
  left(total) {
    const speed = this.perSecond;
    if (!speed) return null;
    return Math.max(0, total - this.#seen[this.#seen.length - 1].done) / speed;
  }
}

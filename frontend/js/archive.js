// @ts-check
/**
 * A movie's frames out of its archive, by HTTP ranges: the directory once, then as many pictures in one request as lie
 * beside each other. The archive's address is signed and ends after a while; then a fresh one is asked for, once.
 */
import { NotAnArchive, cut, directoryLength, directoryOf, pieces, tailLength } from './zip.js';

const MOST_BYTES = 1 << 20;

/** There is no archive that could be read, so pictures must come one by one. */
export class ArchiveGone extends Error {}

/** @param {Uint8Array} bytes @param {number} from @param {import('./zip.js').Entry} entry */
function pictureIn(bytes, from, entry) {
  try {
    return cut(bytes, from, entry);
  } catch (thrown) {
    throw thrown instanceof NotAnArchive ? new ArchiveGone(thrown.message) : thrown;
  }
}

export class FrameArchive {
  /** @type {Promise<import('./zip.js').Directory> | null} */
  #directory = null;
  /** @type {string | null} */
  #address = null;
  /** Whether the directory is here, so that a picture costs one request. */
  opened = false;

  /**
   * @param {{address: (fresh: boolean) => Promise<string | null>, total: number, get?: typeof fetch}} options
   *   `address`: where the archive is, or null; `fresh`: the one told before does not work any more
   */
  constructor({ address, total, get = (...asked) => fetch(...asked) }) {
    this.address = address;
    this.total = total;
    this.get = get;
  }

  /**
   * Pictures of these frames; those that the archive lacks are left out. Rejects with ArchiveGone, or as fetch does.
   * @param {number[]} frames @param {AbortSignal} [signal]
   * @param {(frame: number, picture: Blob) => void} [onPicture] called as soon as each piece is here
   * @returns {Promise<Map<number, Blob>>}
   */
  async read(frames, signal, onPicture = () => {}) {
    const directory = await this.open();
    const entries = frames.flatMap((frame) => directory.get(frame) ?? []);
    /** @type {Map<number, Blob>} */
    const found = new Map();
    await Promise.all(pieces(entries, MOST_BYTES).map(async (piece) => {
      const from = piece[0].from;
      const bytes = await this.#bytes(`bytes=${from}-${piece[piece.length - 1].to - 1}`, piece[piece.length - 1].to - from, signal);
      for (const entry of piece) {
        const picture = new Blob([/** @type {any} */ (pictureIn(bytes, from, entry))], { type: 'image/jpeg' });
        found.set(entry.frame, picture);
        onPicture(entry.frame, picture);
      }
    }));
    return found;
  }

  /** Read the directory, once. @returns {Promise<import('./zip.js').Directory>} rejects as `read` does */
  open() {
    this.#directory ??= this.#readDirectory().catch((thrown) => {
      this.#directory = null;
      throw thrown instanceof NotAnArchive ? new ArchiveGone(thrown.message) : thrown;
    });
    return this.#directory;
  }

  async #readDirectory() {
    let length = tailLength(this.total);
    let tail = await this.#bytes(`bytes=-${length}`, length);
    length = directoryLength(tail);
    if (length > tail.length) tail = await this.#bytes(`bytes=-${length}`, length);
    const directory = directoryOf(tail);
    this.opened = true;
    return directory;
  }

  /** @param {string} range @param {number} most bytes that were asked for @param {AbortSignal} [signal] @returns {Promise<Uint8Array>} */
  async #bytes(range, most, signal) {
    for (const fresh of [false, true]) {
      if (fresh || this.#address === null) this.#address = await this.address(fresh);
      if (this.#address === null) throw new ArchiveGone('no address');
      // Nothing is kept by the browser: parallel ranges of one address would wait for each other in its cache.
      const reply = await this.get(this.#address, { headers: { Range: range }, signal, credentials: 'omit', cache: 'no-store' });
      if (reply.status >= 500) throw new TypeError(`the store answered ${reply.status}`);
      if (!reply.ok) continue;
      // A store that does not know ranges would send hundreds of megabytes.
      if (reply.status !== 206 && !(Number(reply.headers.get('Content-Length') ?? Infinity) <= most)) {
        await reply.body?.cancel();
        throw new ArchiveGone('no ranges');
      }
      return new Uint8Array(await reply.arrayBuffer());
    }
    throw new ArchiveGone('the address does not work');
  }
}

// @ts-check
/**
 * Where the pictures lie in a frame archive: a ZIP file of JPEGs that are stored, not deflated. Pure.
 * Source of the layout: PKWARE's APPNOTE, sections 4.3.7 (local header), 4.3.12 (directory), 4.3.16 (its end).
 *
 * The directory stands at the file's end and tells its own place, so the file's length need not be known.
 *
 * @typedef {{frame: number, from: number, to: number, size: number}} Entry  the member's bytes of the file are `from`
 *   to `to` - 1, with its header before the picture; `size` is the picture's alone
 * @typedef {Map<number, Entry>} Directory
 */

const END = 0x06054b50;
const RECORD = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
const RECORD_BYTES = 46;
const LOCAL_BYTES = 30;
const STORED = 0;
const TOO_LARGE = 0xffffffff; // what a file beyond 4 GiB writes here, and keeps its truth elsewhere
const MOST_DIRECTORY = 16 << 20; // bytes: a quarter of a million frames
const MOST_MEMBER = 16 << 20; // bytes: a picture of 640 pixels has some ten thousand

/** The file is not an archive of pictures that this page can read. */
export class NotAnArchive extends Error {}

/** Bytes at a file's end that surely hold the directory of so many frames. @param {number} frames */
export const tailLength = (frames) => END_BYTES + frames * (RECORD_BYTES + 'frame_00000.jpeg'.length) + 256;

/** @param {Uint8Array} bytes */
const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** @param {DataView} view @returns {number} where the end record begins */
function endOf(view) {
  for (let at = view.byteLength - END_BYTES; at >= 0; at -= 1) {
    if (view.getUint32(at, true) === END) return at;
  }
  throw new NotAnArchive('no end of a directory');
}

/**
 * How many of a file's last bytes hold the whole directory, judged by any piece of its end that holds the end record.
 * @param {Uint8Array} tail
 */
export function directoryLength(tail) {
  const view = viewOf(tail);
  const end = endOf(view);
  const length = view.getUint32(end + 12, true);
  if (length > MOST_DIRECTORY) throw new NotAnArchive('a directory that nobody would write');
  return length + view.byteLength - end;
}

/**
 * Every member told of lies before the directory, does not overlap its neighbour and has the length of a picture, so
 * that whatever a file says of itself, no more is asked for than pictures.
 * @param {Uint8Array} tail the file's end, the whole directory in it @returns {Directory}
 */
export function directoryOf(tail) {
  const view = viewOf(tail);
  const end = endOf(view);
  const start = view.getUint32(end + 16, true);
  let at = end - view.getUint32(end + 12, true);
  if (at < 0 || start === TOO_LARGE) throw new NotAnArchive('a directory out of reach');
  /** @type {Entry[]} */
  const entries = [];
  while (at < end) {
    if (at + RECORD_BYTES > end || view.getUint32(at, true) !== RECORD) throw new NotAnArchive('a broken directory');
    const name = view.getUint16(at + 28, true);
    const label = String.fromCharCode(...tail.subarray(at + RECORD_BYTES, at + RECORD_BYTES + name));
    const frame = /^frame_(\d+)\.jpeg$/.exec(label);
    const from = view.getUint32(at + 42, true);
    if (view.getUint16(at + 10, true) !== STORED || from === TOO_LARGE) throw new NotAnArchive('a member that is not stored');
    const size = view.getUint32(at + 20, true);
    if (size !== view.getUint32(at + 24, true)) throw new NotAnArchive('a member of two lengths');
    entries.push({ frame: frame ? Number(frame[1]) : -1, from, to: start, size });
    at += RECORD_BYTES + name + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  entries.sort((a, b) => a.from - b.from);
  for (let n = 1; n < entries.length; n += 1) entries[n - 1].to = entries[n].from;
  if (entries.some(({ frame, from, to, size }) => to - from < LOCAL_BYTES + size || (frame >= 0 && to - from > MOST_MEMBER))) {
    throw new NotAnArchive('members that lie where they cannot');
  }
  return new Map(entries.filter(({ frame }) => frame >= 0).map((entry) => [entry.frame, entry]));
}

/**
 * A picture out of a piece of the file.
 * @param {Uint8Array} piece @param {number} base where the piece begins in the file @param {Entry} entry
 */
export function cut(piece, base, entry) {
  const at = entry.from - base;
  const view = viewOf(piece);
  if (at < 0 || at + LOCAL_BYTES > piece.length || view.getUint32(at, true) !== LOCAL) throw new NotAnArchive('no member here');
  const begin = at + LOCAL_BYTES + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
  if (begin + entry.size > piece.length) throw new NotAnArchive('half a member');
  return piece.subarray(begin, begin + entry.size);
}

/**
 * Neighbours in the file as one piece each, so that many frames cost one request.
 * @param {Entry[]} entries @param {number} most bytes in a piece, if it is more than one member
 * @returns {Entry[][]} in the order of the file
 */
export function pieces(entries, most) {
  /** @type {Entry[][]} */
  const found = [];
  for (const entry of [...entries].sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last && last[last.length - 1].to === entry.from && entry.to - last[0].from <= most) last.push(entry);
    else found.push([entry]);
  }
  return found;
}

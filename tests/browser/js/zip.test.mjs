import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { ArchiveGone, FrameArchive } from '../../../frontend/js/archive.js';
import { NotAnArchive, cut, directoryLength, directoryOf, pieces, tailLength } from '../../../frontend/js/zip.js';

const text = (bytes) => new TextDecoder().decode(bytes);

/** A stored ZIP as the service writes it: [name, content] in this order. */
function zip(members, comment = '') {
  const parts = [];
  const records = [];
  let at = 0;
  const number = (value, bytes) => Buffer.from(Array.from({ length: bytes }, (_, n) => (value / 2 ** (8 * n)) & 255));
  for (const [name, content] of members) {
    const sizes = Buffer.concat([number(0, 4), number(content.length, 4), number(content.length, 4), number(name.length, 2)]);
    const local = Buffer.concat([number(0x04034b50, 4), number(20, 2), number(0, 8), sizes, number(0, 2), Buffer.from(name), Buffer.from(content)]);
    records.push(Buffer.concat([number(0x02014b50, 4), number(20, 2), number(20, 2), number(0, 8), sizes, number(0, 12), number(at, 4), Buffer.from(name)]));
    parts.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(records);
  const end = Buffer.concat([number(0x06054b50, 4), number(0, 4), number(members.length, 2), number(members.length, 2), number(directory.length, 4), number(at, 4), number(comment.length, 2), Buffer.from(comment)]);
  return new Uint8Array(Buffer.concat([...parts, directory, end]));
}
const frames = (count) => Array.from({ length: count }, (_, n) => [`frame_${String(n).padStart(4, '0')}.jpeg`, `picture ${n}`]);

/** A store that answers ranges, and remembers what it was asked. */
function store(file, { status = () => 0 } = {}) {
  const asked = [];
  const get = async (url, { headers }) => {
    asked.push(headers.Range);
    const refused = status(url, asked.length);
    if (refused) return new Response('', { status: refused });
    const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(headers.Range);
    const piece = from === '' ? file.slice(Math.max(0, file.length - Number(to))) : file.slice(Number(from), Number(to) + 1);
    return new Response(piece, { status: 206 });
  };
  return { asked, get };
}
const shown = async (found) => Object.fromEntries(await Promise.all([...found].map(async ([frame, blob]) => [frame, await blob.text()])));

test('the directory of an archive tells where each frame lies, and the piece gives its picture', () => {
  const file = zip(frames(12));
  const directory = directoryOf(file.subarray(file.length - directoryLength(file)));
  assert.equal(directory.size, 12);
  const seven = directory.get(7);
  assert.equal(text(cut(file.subarray(seven.from, seven.to), seven.from, seven)), 'picture 7');
  assert.equal(directory.get(11).to, file.length - directoryLength(file), 'the last member ends where the directory begins');
});

test('an archive that Python wrote is read as well: the service writes them so (B08)', () => {
  const script = `
import io, sys, zipfile
out = io.BytesIO()
with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
    for n in range(10050):
        archive.writestr(zipfile.ZipInfo(f"frame_{n:04d}.jpeg", (1980, 1, 1, 0, 0, 0)), b"jpeg %d" % n)
sys.stdout.buffer.write(out.getvalue())`;
  const file = new Uint8Array(execFileSync('python3', ['-c', script], { maxBuffer: 1 << 26 }));
  assert.ok(directoryLength(file) <= tailLength(10050), 'one request brings the directory');
  const directory = directoryOf(file.subarray(file.length - tailLength(10050)));
  for (const frame of [0, 999, 10049]) {
    const entry = directory.get(frame);
    assert.equal(text(cut(file.subarray(entry.from, entry.to), entry.from, entry)), `jpeg ${frame}`);
  }
});

test('members that are no frames are passed over, and a comment at the end does not hide the directory', () => {
  const directory = directoryOf(zip([['notes.txt', 'x'], ...frames(2)], 'made by hand'));
  assert.deepEqual([...directory.keys()], [0, 1]);
});

test('what is no archive, or one cut off, is refused', () => {
  const file = zip(frames(3));
  assert.throws(() => directoryOf(new Uint8Array(500)), NotAnArchive);
  assert.throws(() => directoryOf(file.subarray(file.length - 40)), NotAnArchive, 'half a directory');
  const [entry] = directoryOf(file).values();
  assert.throws(() => cut(file.subarray(entry.from + 1, entry.to), entry.from, entry), NotAnArchive);
  assert.throws(() => cut(file.subarray(entry.from, entry.to - 3), entry.from, entry), NotAnArchive);
});

test('neighbours are one piece, up to a size; others are pieces of their own', () => {
  const directory = directoryOf(zip(frames(10)));
  const of = (wanted, most) => pieces(wanted.map((frame) => directory.get(frame)), most).map((piece) => piece.map(({ frame }) => frame));
  assert.deepEqual(of([3, 1, 2, 7], 1e6), [[1, 2, 3], [7]]);
  assert.deepEqual(of([1, 2, 3], 120), [[1, 2], [3]]);
  assert.deepEqual(of([4], 1), [[4]], 'a member larger than the limit comes all the same');
});

test('thirty neighbours cost one request beside the one for the directory', async () => {
  const { asked, get } = store(zip(frames(40)));
  const archive = new FrameArchive({ address: async () => 'a', total: 40, get });
  const found = await archive.read(Array.from({ length: 30 }, (_, n) => n + 5));
  assert.equal(found.size, 30);
  assert.equal((await shown(found))[34], 'picture 34');
  assert.equal(asked.length, 2);
  await archive.read([1]);
  assert.equal(asked.length, 3, 'the directory is read once');
});

test('a directory longer than expected is asked for once more, whole', async () => {
  const file = zip(frames(400));
  const { asked, get } = store(file);
  const archive = new FrameArchive({ address: async () => 'a', total: 1, get });
  assert.deepEqual(await shown(await archive.read([399])), { 399: 'picture 399' });
  assert.equal(asked.length, 3);
});

test('an address that has ended is replaced by a fresh one, once', async () => {
  const fresh = [];
  const { asked, get } = store(zip(frames(5)), { status: (url) => (url === 'old' ? 403 : 0) });
  const archive = new FrameArchive({ address: async (again) => (fresh.push(again), again ? 'new' : 'old'), total: 5, get });
  assert.deepEqual(await shown(await archive.read([2])), { 2: 'picture 2' });
  assert.deepEqual(fresh, [false, true]);
  assert.equal(asked.length, 3);
});

test('an archive that is gone says so, whatever its address', async () => {
  for (const address of [async () => 'a', async () => null]) {
    const archive = new FrameArchive({ address, total: 5, get: store(new Uint8Array(), { status: () => 404 }).get });
    await assert.rejects(archive.read([1]), ArchiveGone);
  }
});

test('a store without ranges is not asked for a whole archive', async () => {
  let cancelled = false;
  const body = { cancel: async () => { cancelled = true; } };
  const get = async () => ({ ok: true, status: 200, headers: new Headers({ 'Content-Length': '90000000' }), body });
  await assert.rejects(new FrameArchive({ address: async () => 'a', total: 5, get }).read([1]), ArchiveGone);
  assert.ok(cancelled);
});

test('a store in trouble is not taken for a missing archive', async () => {
  const archive = new FrameArchive({ address: async () => 'a', total: 5, get: store(zip(frames(5)), { status: (_, n) => (n === 1 ? 503 : 0) }).get });
  await assert.rejects(archive.read([1]), TypeError);
  assert.deepEqual(await shown(await archive.read([1])), { 1: 'picture 1' }, 'it is asked again');
});

/** The same archive with some of its directory's numbers written over: [offset in the first record or in the end, value]. */
function forged(file, { record = [], end = [] }) {
  const view = new DataView(file.buffer);
  const last = file.length - 22;
  const first = last - view.getUint32(last + 12, true);
  for (const [offset, value] of record) view.setUint32(first + offset, value, true);
  for (const [offset, value] of end) view.setUint32(last + offset, value, true);
  return file;
}

const FORGED = {
  'a directory of four gigabytes': { end: [[12, 0xfffffff0]] },
  'a directory said to be longer than the file': { end: [[12, 100_000]] },
  'a directory half a record off': { end: [[12, 62 * 5 - 30]] },
  'a directory beyond four gigabytes': { end: [[16, 0xffffffff]] },
  'a directory far behind the members': { end: [[16, 0xf0000000]] },
  'a member behind the directory': { record: [[42, 0x7fffffff]] },
  'a member on top of its neighbour': { record: [[42, 50]] },
  'a member longer than its place': { record: [[20, 5000], [24, 5000]] },
  'a member longer than a file may be': { record: [[20, 0xffffffff], [24, 0xffffffff], [42, 0xffffffff]] },
  'a member of two lengths': { record: [[24, 1 << 30]] },
};

for (const [what, numbers] of Object.entries(FORGED)) {
  test(`${what} is no archive, and little is asked for`, async () => {
    const file = forged(zip(frames(5)), numbers);
    const { asked, get } = store(file);
    const archive = new FrameArchive({ address: async () => 'a', total: 5, get });
    await assert.rejects(archive.read([0, 1, 2, 3, 4]), ArchiveGone);
    assert.ok(asked.length <= 2 && asked.every((range) => Number(range.split('-')[1]) < 1 << 24), asked.join());
  });
}

test('an archive of no frames has none, and one whose members are elsewhere is gone', async () => {
  const none = new FrameArchive({ address: async () => 'a', total: 0, get: store(zip([])).get });
  assert.equal((await none.read([0])).size, 0);
  const file = zip(frames(5));
  file.fill(0, 0, 100);
  const torn = new FrameArchive({ address: async () => 'a', total: 5, get: store(file).get });
  await assert.rejects(torn.read([0, 1]), ArchiveGone);
});

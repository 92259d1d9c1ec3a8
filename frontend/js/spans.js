// @ts-check
/**
 * Where a trace can be trusted: runs of frames that are tracked, doubtful, lost or empty. Pure.
 *
 * @typedef {import('./geometry.js').Marker} Marker
 * @typedef {'tracked' | 'doubtful' | 'lost' | 'empty'} Quality
 * @typedef {{from: number, to: number, quality: Quality}} Span
 */

/** An estimated error beyond this many pixels is worth a look. */
export const DOUBTFUL_PX = 2;

/** @param {Marker} marker */
export const isLost = (marker) => marker.status === 0;

/** @param {Marker[] | undefined} markers @returns {Quality} */
export function qualityOf(markers) {
  if (!markers?.length) return 'empty';
  if (markers.some(isLost)) return 'lost';
  return markers.some((marker) => (marker.err ?? 0) > DOUBTFUL_PX) ? 'doubtful' : 'tracked';
}

/** Runs of equal quality that cover 0 to total - 1. @param {Record<number, Marker[]>} frames @param {number} total @returns {Span[]} */
export function spans(frames, total) {
  /** @type {Span[]} */
  const found = [];
  for (let frame = 0; frame < total; frame += 1) {
    const quality = qualityOf(frames[frame]);
    const last = found[found.length - 1];
    if (last?.quality === quality) last.to = frame;
    else found.push({ from: frame, to: frame, quality });
  }
  return found;
}

/** The next frame after `frame` where a doubtful or lost run begins, going round; null if there is none. @param {Span[]} runs @param {number} frame */
export function nextDoubtful(runs, frame) {
  const starts = runs.filter((run) => run.quality === 'lost' || run.quality === 'doubtful').map((run) => run.from);
  return starts.find((start) => start > frame) ?? starts[0] ?? null;
}

/** For each marker the runs of frames in which it was lost. @param {Record<number, Marker[]>} frames @returns {{label: string, from: number, to: number}[]} */
export function lostRuns(frames) {
  /** @type {{label: string, from: number, to: number}[]} */
  const runs = [];
  /** @type {Map<string, {label: string, from: number, to: number}>} */
  const open = new Map();
  for (const frame of Object.keys(frames).map(Number).sort((a, b) => a - b)) {
    for (const marker of frames[frame]) {
      const run = open.get(marker.label);
      if (!isLost(marker)) open.delete(marker.label);
      else if (run && run.to === frame - 1) run.to = frame;
      else {
        const begun = { label: marker.label, from: frame, to: frame };
        open.set(marker.label, begun);
        runs.push(begun);
      }
    }
  }
  return runs;
}

/** @param {{label: string, from: number, to: number}} run */
export function lostSentence({ label, from, to }) {
  const where = from === to ? `in frame ${from}` : `from frame ${from} to ${to}`;
  return `${label} could not be followed ${where}. Move it where it should be and retrace from there.`;
}

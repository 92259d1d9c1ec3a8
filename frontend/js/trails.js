// @ts-check
/**
 * The ways that markers went, drawn over the frame: the whole way faint, the way just gone strong.
 *
 * The faint part does not depend on the frame shown, so it lies on a sheet of its own, which is drawn anew when the
 * ways or the view change: some thousand points in each refresh, while the old sheet, moved and scaled, stands in.
 *
 * @typedef {import('./geometry.js').View} View
 * @typedef {import('./tracks.js').Track} Track
 * @typedef {{tracks: import('./tracks.js').Tracks, height: number, frame: number}} Ways  `height` of the frame, pixels
 * @typedef {{view: View, width: number, height: number, ratio: number}} Sheet  sizes in CSS pixels
 */
import { rulerMillimetres } from './geometry.js';
import { SEEN } from './tracks.js';

const SLICE = 4000; // points drawn on the faint sheet at a time
const PIECE = 500; // frames of one way, without a pause
const STRONG = 2000; // frames times markers that are drawn anew at every picture
const NEAR = 0.75; // CSS pixels: two places so close to each other look like one
const FAINT_LINES = /** @type {const} */ ([['#fff', 2.5, 0.25], ['', 1.25, 0.55]]);
const STRONG_LINES = /** @type {const} */ ([['#fff', 4, 0.7], ['', 2, 1]]);

/**
 * A stretch of one way. @param {CanvasRenderingContext2D} pen @param {Track} track @param {number} from @param {number} to
 * @param {View} view @param {number} height @param {readonly (readonly [string, number, number])[]} lines colour ('' is the marker's own), width, opacity
 * @returns {number} how many points it took
 */
function stretch(pen, { x, y, state, color }, from, to, view, height, lines) {
  const { scale, left, top } = view;
  const start = Math.max(0, from);
  const end = Math.min(to, state.length - 1);
  let open = false;
  let points = 0;
  let [lastX, lastY] = [0, 0];
  pen.beginPath();
  for (let frame = start; frame <= end; frame += 1) {
    if (state[frame] !== SEEN) {
      open = false;
      continue;
    }
    const atX = left + (x[frame] + 0.5) * scale;
    const atY = top + (height - y[frame] + 0.5) * scale;
    if (!open) pen.moveTo(atX, atY);
    else if (frame < end && Math.abs(atX - lastX) + Math.abs(atY - lastY) < NEAR) continue;
    else pen.lineTo(atX, atY);
    open = true;
    points += 1;
    [lastX, lastY] = [atX, atY];
  }
  for (const [fixed, width, opacity] of lines) {
    pen.globalAlpha = opacity;
    pen.strokeStyle = fixed || color;
    pen.lineWidth = width;
    pen.stroke();
  }
  return points;
}

export class Trails {
  /** @type {{canvas: HTMLCanvasElement, sheet: Sheet} | null} what is drawn and whole */
  #whole = null;
  /** @type {{key: string, canvas: HTMLCanvasElement, sheet: Sheet, track: number, frame: number} | null} */
  #work = null;
  #key = '';

  /** @param {CanvasRenderingContext2D} pen in CSS pixels @param {Ways} ways @param {Sheet} sheet @returns {boolean} whether it wants to be called again soon */
  paint(pen, ways, sheet) {
    const tracks = ways.tracks.all.filter(({ label }) => rulerMillimetres(label) === null);
    const unfinished = this.#faint(tracks, ways, sheet);
    pen.save();
    if (unfinished && this.#work) {
      // A browser notes what is drawn on a sheet and does it when the sheet is looked at: look at it, lest all of it is
      // done at once in the end.
      pen.globalAlpha = 0.004;
      pen.drawImage(this.#work.canvas, 0, 0, 1, 1, 0, 0, 1, 1);
      pen.globalAlpha = 1;
    }
    if (this.#whole) {
      const { canvas, sheet: drawn } = this.#whole;
      const by = sheet.view.scale / drawn.view.scale;
      pen.drawImage(canvas, sheet.view.left - drawn.view.left * by, sheet.view.top - drawn.view.top * by, drawn.width * by, drawn.height * by);
    }
    pen.lineJoin = 'round';
    const reach = Math.floor(STRONG / Math.max(1, tracks.length));
    for (const track of tracks) stretch(pen, track, ways.frame - reach, ways.frame, sheet.view, ways.height, STRONG_LINES);
    pen.restore();
    return unfinished;
  }

  /** @param {Track[]} tracks @param {Ways} ways @param {Sheet} sheet @returns {boolean} */
  #faint(tracks, ways, sheet) {
    const { view, width, height, ratio } = sheet;
    const key = [ways.tracks.version, ways.height, view.scale, view.left, view.top, width, height, ratio].join();
    if (key === this.#key) return false;
    if (this.#work?.key !== key) {
      const canvas = this.#work?.canvas ?? document.createElement('canvas');
      Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
      this.#work = { key, canvas, sheet, track: 0, frame: 0 };
    }
    const work = this.#work;
    const pen = /** @type {CanvasRenderingContext2D} */ (work.canvas.getContext('2d'));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.lineJoin = 'round';
    for (let points = 0; work.track < tracks.length; ) {
      if (points > SLICE) return true;
      const track = tracks[work.track];
      // Each piece begins where the last one ended, so that the line is whole.
      points += stretch(pen, track, work.frame - 1, work.frame + PIECE - 1, view, ways.height, FAINT_LINES);
      work.frame += PIECE;
      if (work.frame >= track.state.length) Object.assign(work, { track: work.track + 1, frame: 0 });
    }
    const spare = this.#whole?.canvas;
    this.#whole = { canvas: work.canvas, sheet };
    this.#key = key;
    this.#work = spare ? { key: '', canvas: spare, sheet, track: 0, frame: 0 } : null;
    return false;
  }
}

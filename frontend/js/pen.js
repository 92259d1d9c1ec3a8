// @ts-check
/**
 * What is drawn over the frame: markers with their names, the magnifier, the small map of a frame that is looked at
 * closely. All places are CSS pixels of the canvas.
 *
 * @typedef {import('./geometry.js').Marker} Marker
 * @typedef {import('./geometry.js').Point} Point
 * @typedef {import('./geometry.js').Size} Size
 * @typedef {CanvasRenderingContext2D} Pen
 */
import { PALETTE } from './geometry.js';

const MOST_NAME = 160; // px of a marker's name in the frame: some twenty letters
const MOST_FITTED = 500;
const RING = 8;
const LOUPE_RADIUS = 62;
const LOUPE_MARGIN = LOUPE_RADIUS + 12;
const LOUPE_ZOOM = 4;
const MAP_WIDTH = 112;
const MAP_MARGIN = 12;
const CROSS = [[1, 0], [-1, 0], [0, 1], [0, -1]];

/** A ring with a gap for what is under it; a lost marker is dashed and red. @param {Pen} pen @param {Marker} marker @param {Point} at @param {{selected: boolean, named: boolean, width: number}} how `width` of the canvas */
export function paintMarker(pen, marker, at, { selected, named, width }) {
  const lost = marker.status === 0;
  const color = lost ? '#ff5449' : (marker.color ?? PALETTE[0]);
  pen.save();
  if (lost) pen.setLineDash([4, 3]);
  for (const [style, line] of /** @type {[string, number][]} */ ([['rgba(0,0,0,.55)', 5], ['#fff', 3.6], [color, 2.2]])) {
    pen.strokeStyle = style;
    pen.lineWidth = line;
    pen.beginPath();
    pen.arc(at.x, at.y, RING, 0, Math.PI * 2);
    pen.stroke();
    if (selected) cross(pen, at, RING, RING + 5);
  }
  pen.setLineDash([]);
  if (!lost) {
    pen.fillStyle = '#fff';
    pen.beginPath();
    pen.arc(at.x, at.y, 1.6, 0, Math.PI * 2);
    pen.fill();
  }
  if (named) paintName(pen, at, marker.label, lost, selected, color, width);
  pen.restore();
}

/** @param {Pen} pen @param {Point} at @param {number} from @param {number} to */
function cross(pen, at, from, to) {
  pen.beginPath();
  for (const [x, y] of CROSS) {
    pen.moveTo(at.x + x * from, at.y + y * from);
    pen.lineTo(at.x + x * to, at.y + y * to);
  }
  pen.stroke();
}

/** Names that have been made to fit, by font and room. @type {Map<string, string>} */
const fitted = new Map();

/** A text that is no wider than this, its end left out where it must be. @param {Pen} pen @param {string} text @param {number} most px */
export function fitting(pen, text, most) {
  const key = `${pen.font} ${most} ${text}`;
  let found = fitted.get(key);
  if (found === undefined) {
    const letters = Array.from(text);
    let [fits, over] = pen.measureText(text).width <= most ? [letters.length, letters.length] : [0, letters.length];
    while (over - fits > 1) {
      const tried = (fits + over) >> 1;
      if (pen.measureText(`${letters.slice(0, tried).join('')}…`).width <= most) fits = tried;
      else over = tried;
    }
    found = fits === letters.length ? text : `${letters.slice(0, fits).join('').trimEnd()}…`;
    if (fitted.size >= MOST_FITTED) fitted.clear();
    fitted.set(key, found);
  }
  return found;
}

/** @param {Pen} pen @param {Point} at @param {string} name @param {boolean} lost @param {boolean} selected @param {string} color @param {number} canvasWidth */
function paintName(pen, at, name, lost, selected, color, canvasWidth) {
  pen.font = `${selected ? 600 : 500} 12px system-ui, sans-serif`;
  const text = fitting(pen, name, MOST_NAME) + (lost ? ' · lost' : ''); // the list beside the frame has it whole
  const width = pen.measureText(text).width + 22;
  const right = at.x + RING + 8 + width < canvasWidth;
  const x = right ? at.x + RING + 8 : at.x - RING - 8 - width;
  pen.fillStyle = selected ? 'rgba(10,16,12,.92)' : 'rgba(10,16,12,.68)';
  pen.beginPath();
  pen.roundRect(x, at.y - 10, width, 20, 10);
  pen.fill();
  pen.fillStyle = color;
  pen.beginPath();
  pen.arc(x + 10, at.y, 3.5, 0, Math.PI * 2);
  pen.fill();
  pen.fillStyle = '#fff';
  pen.textBaseline = 'middle';
  pen.fillText(text, x + 17, at.y + 0.5);
}

/**
 * What lies under the finger, in the corner where the finger is not.
 * @param {Pen} pen @param {ImageBitmap} picture @param {Size} size of the frame @param {Point} image what is magnified
 * @param {Point} place where the finger is @param {number} scale at which the frame is drawn @param {number} width of the canvas
 */
export function paintLoupe(pen, picture, size, image, place, scale, width) {
  const center = { x: place.x < width / 2 ? width - LOUPE_MARGIN : LOUPE_MARGIN, y: LOUPE_MARGIN };
  // Always closer than what is seen around it.
  const zoom = Math.max(LOUPE_ZOOM, scale * 2);
  pen.save();
  pen.beginPath();
  pen.arc(center.x, center.y, LOUPE_RADIUS, 0, Math.PI * 2);
  pen.fillStyle = '#0d110f';
  pen.fill();
  pen.save();
  pen.clip();
  pen.imageSmoothingEnabled = false;
  pen.drawImage(picture, center.x - (image.x + 0.5) * zoom, center.y - (image.y + 0.5) * zoom, size.width * zoom, size.height * zoom);
  pen.restore();
  outline(pen, 3, 1, 'rgba(0,0,0,.6)');
  pen.strokeStyle = 'rgba(0,0,0,.55)';
  pen.lineWidth = 3;
  cross(pen, center, 6, 26);
  pen.strokeStyle = '#fff';
  pen.lineWidth = 1.5;
  cross(pen, center, 6, 26);
  pen.restore();
}

/** The path drawn twice: white, and over it a thin line. @param {Pen} pen @param {number} wide @param {number} thin @param {string} color */
function outline(pen, wide, thin, color) {
  pen.lineWidth = wide;
  pen.strokeStyle = '#fff';
  pen.stroke();
  pen.lineWidth = thin;
  pen.strokeStyle = color;
  pen.stroke();
}

/** Where the small map lies: in the lower left corner. @param {Size} size of the frame @param {Size} box of the canvas @returns {{left: number, top: number, scale: number}} */
export function mapPlace(size, box) {
  const scale = Math.min(MAP_WIDTH, box.width / 4.5) / Math.max(size.width, size.height);
  return { left: MAP_MARGIN, top: box.height - MAP_MARGIN - size.height * scale, scale };
}

/** The whole frame, small, and on it what is seen of it. @param {Pen} pen @param {ImageBitmap} picture @param {Size} size @param {Size} box @param {{left: number, top: number, width: number, height: number}} part in image pixels */
export function paintMap(pen, picture, size, box, part) {
  const { left, top, scale } = mapPlace(size, box);
  pen.save();
  pen.globalAlpha = 0.92;
  pen.drawImage(picture, left, top, size.width * scale, size.height * scale);
  pen.globalAlpha = 1;
  pen.fillStyle = 'rgba(10,16,12,.45)';
  pen.beginPath();
  pen.rect(left, top, size.width * scale, size.height * scale);
  pen.rect(left + part.left * scale, top + part.top * scale, part.width * scale, part.height * scale);
  pen.fill('evenodd');
  pen.beginPath();
  pen.rect(left - 1, top - 1, size.width * scale + 2, size.height * scale + 2);
  outline(pen, 3, 1, 'rgba(10,16,12,.8)');
  pen.beginPath();
  pen.rect(left + part.left * scale, top + part.top * scale, part.width * scale, part.height * scale);
  pen.strokeStyle = '#fff';
  pen.lineWidth = 2;
  pen.stroke();
  pen.restore();
}

// @ts-check
/** The charts as a picture for a report: white paper, large letters, what is looked at, with all that names it. */
import { loadBokeh } from './bokeh.js';
import { viewOf } from './chart_view.js';
import { timeTitle } from './chart_words.js';
import { make } from './dom.js';
import { paperLook } from './look.js';
import { Panel, newRange, openPanels } from './panel.js';
import { fitting } from './pen.js';

export const WIDTH = 1600;
const PANEL = 440;
const MARGIN = 40;
const TITLE = 34;
const ROW = 36;
const MOST_LABEL = WIDTH - 2 * MARGIN - 38;

/**
 * A PNG, 1600 px wide, of both panels, their title and legend.
 * @param {string} title @param {import('./chart_data.js').ChartData} data @param {import('./chart_data.js').Series[]} series
 * @param {import('./zooming.js').Stretch} shown @returns {Promise<Blob>}
 */
export async function chartPicture(title, data, series, shown) {
  const bokeh = await loadBokeh();
  const font = getComputedStyle(document.body).fontFamily;
  const look = paperLook(font);
  const xRange = newRange(bokeh);
  xRange.setv({ start: shown.start, end: shown.end });
  const panels = (/** @type {('x' | 'y')[]} */ (['x', 'y'])).map((axis, at) => {
    const panel = new Panel(bokeh, {
      xRange, height: PANEL, width: WIDTH - 2 * MARGIN, left: 110, right: 20,
      yLabel: `${axis} (${data.unit})`, xLabel: at ? timeTitle(data) : undefined,
    });
    panel.dress(look);
    panel.show(viewOf(data, series, axis, shown, WIDTH));
    return { panel, host: make('div') };
  });
  const workshop = make('div', { class: 'workshop', 'aria-hidden': 'true', inert: true }, ...panels.map(({ host }) => host));
  document.body.append(workshop);
  try {
    const { idle, close } = await openPanels(bokeh, panels);
    try {
      await idle;
      return await composed(title, data, series, look, panels.map(({ panel }) => panel.picture()));
    } finally {
      close();
    }
  } finally {
    workshop.remove();
  }
}

/**
 * @param {string} title @param {import('./chart_data.js').ChartData} data @param {import('./chart_data.js').Series[]} series
 * @param {import('./panel.js').Look} look @param {HTMLCanvasElement[]} pictures @returns {Promise<Blob>}
 */
function composed(title, data, series, look, pictures) {
  const canvas = make('canvas');
  const pen = canvas.getContext('2d');
  const rows = legendRows(pen, look, series);
  const top = MARGIN + TITLE + 16 + rows.length * ROW + 12;
  Object.assign(canvas, { width: WIDTH, height: top + pictures.length * PANEL + MARGIN });
  pen.fillStyle = '#ffffff';
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.textBaseline = 'middle';
  pen.fillStyle = look.ink;
  pen.font = `650 ${TITLE}px ${look.font}`;
  pen.fillText(fitting(pen, title, WIDTH - 2 * MARGIN), MARGIN, MARGIN + TITLE / 2);
  pen.font = legendFont(look);
  rows.forEach((row, at) => {
    const middle = MARGIN + TITLE + 16 + at * ROW + ROW / 2;
    for (const { left, one } of row) {
      pen.fillStyle = one.color;
      pen.fillRect(MARGIN + left, middle - 3, 28, 6);
      pen.fillStyle = look.ink;
      pen.fillText(fitting(pen, one.label, MOST_LABEL), MARGIN + left + 38, middle);
    }
  });
  pictures.forEach((picture, at) => pen.drawImage(picture, MARGIN, top + at * PANEL));
  return new Promise((resolve, reject) => {
    canvas.toBlob((/** @type {Blob | null} */ blob) => (blob ? resolve(blob) : reject(new Error('The picture could not be made.'))), 'image/png');
  });
}

/** @param {import('./panel.js').Look} look */
const legendFont = (look) => `400 ${look.size + 2}px ${look.font}`;

/** Who stands where in the legend. @param {CanvasRenderingContext2D} pen @param {import('./panel.js').Look} look @param {import('./chart_data.js').Series[]} series */
function legendRows(pen, look, series) {
  pen.font = legendFont(look);
  /** @type {{left: number, one: import('./chart_data.js').Series}[][]} */
  const rows = [];
  let left = WIDTH;
  for (const one of series) {
    const wide = 38 + pen.measureText(fitting(pen, one.label, MOST_LABEL)).width + 32;
    if (left + wide > WIDTH - 2 * MARGIN) {
      rows.push([]);
      left = 0;
    }
    rows[rows.length - 1].push({ left, one });
    left += wide;
  }
  return rows;
}

/** @param {Blob} blob @param {string} name */
export function download(blob, name) {
  const href = URL.createObjectURL(blob);
  make('a', { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

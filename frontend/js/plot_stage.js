// @ts-check
/** The place of one panel in the page: the drawing, and above it what moves with the frame and with the hand. */
import { make, show } from './dom.js';
import { listenToHands } from './gestures.js';

/** @typedef {import('./zooming.js').Stretch} Stretch */

export class PlotStage {
  /** @param {HTMLElement} host @param {import('./panel.js').Panel} panel */
  constructor(host, panel) {
    this.host = host;
    this.panel = panel;
    // The library's own element takes the focus and the wheel; neither is wanted, so it only draws.
    this.drawing = make('div', { class: 'plot-drawing', inert: true });
    this.cursor = make('div', { class: 'plot-cursor', hidden: true });
    this.selection = make('div', { class: 'plot-selection', hidden: true });
    this.point = make('div', { class: 'plot-point', hidden: true });
    this.layer = make('div', { class: 'plot-layer' }, this.selection, this.cursor, this.point);
    host.replaceChildren(this.drawing, this.layer);
  }

  /** @param {import('./gestures.js').Hands} hands */
  listen(hands) {
    listenToHands(this.layer, hands);
  }

  /** The time under a place, at most the ends of what is shown. @param {number} left CSS px @param {Stretch} shown */
  timeAt(left, { start, end }) {
    const box = this.panel.box;
    if (!box) return start;
    return start + Math.min(1, Math.max(0, (left - box.left) / box.width)) * (end - start);
  }

  /** How long a pixel is. @param {Stretch} shown */
  perPixel({ start, end }) {
    return (end - start) / (this.panel.box?.width ?? 1);
  }

  /** @param {number} time @param {Stretch} shown @returns {number} CSS px */
  leftOf(time, { start, end }) {
    const box = this.panel.box;
    return box ? box.left + ((time - start) / (end - start)) * box.width : 0;
  }

  /** @param {number} value @returns {number} CSS px */
  topOf(value) {
    const box = this.panel.box;
    const { start, end } = this.panel.yRange;
    return box ? box.top + (1 - (value - start) / (end - start)) * box.height : 0;
  }

  /** A line over the whole height at one time. @param {number} time @param {Stretch} shown */
  placeCursor(time, shown) {
    const box = this.panel.box;
    const inside = box !== null && time >= shown.start && time <= shown.end;
    show(this.cursor, inside);
    if (!box || !inside) return;
    this.cursor.style.transform = `translate(${this.leftOf(time, shown)}px, ${box.top}px)`;
    this.cursor.style.height = `${box.height}px`;
  }

  /** What a drag has marked so far; null: nothing. @param {[number, number] | null} span CSS px */
  placeSelection(span) {
    const box = this.panel.box;
    show(this.selection, span !== null && box !== null);
    if (!span || !box) return;
    const [from, to] = span.map((left) => Math.min(Math.max(left, box.left), box.left + box.width)).sort((a, b) => a - b);
    this.selection.style.transform = `translate(${from}px, ${box.top}px)`;
    Object.assign(this.selection.style, { width: `${to - from}px`, height: `${box.height}px` });
  }

  /** The point that is spoken of; null: none. @param {{left: number, top: number, color: string} | null} at CSS px */
  placePoint(at) {
    show(this.point, at !== null);
    if (!at) return;
    this.point.style.transform = `translate(${at.left}px, ${at.top}px)`;
    this.point.style.setProperty('--color', at.color);
  }
}

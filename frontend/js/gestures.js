// @ts-check
/**
 * What hands do on a chart: point, click, drag, pinch, turn the wheel. Places are CSS px from the layer's left edge.
 * Vertical swipes and the plain wheel stay the page's own.
 *
 * @typedef {{
 *   onPoint: (x: number, y: number) => void, onLeave: () => void, onTap: (x: number) => void,
 *   onSelecting: (from: number, to: number) => void, onSelected: (from: number, to: number) => void, onDropped: () => void,
 *   onMove: (by: number) => boolean, onScale: (x: number, factor: number) => void, onWhole: () => void,
 * }} Hands  `onMove`: by how far the picture follows the hand, answers whether it could; `onScale`: a factor below 1 shows less, larger
 */

/** A hand that trembles still clicks. */
const STILL = 5;
const PER_WHEEL_PIXEL = 0.002;

/** @param {HTMLElement} layer @param {Hands} hands */
export function listenToHands(layer, hands) {
  /** @type {Map<number, {x: number, from: number}>} */
  const down = new Map();
  /** @type {'still' | 'select' | 'move' | 'pinch' | 'none'} */
  let doing = 'none';
  /** @param {MouseEvent} event @returns {[number, number]} */
  const place = (event) => {
    const box = layer.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const spread = () => {
    const [one, other] = [...down.values()].map(({ x }) => x);
    return { middle: (one + other) / 2, apart: Math.max(20, Math.abs(one - other)) };
  };

  layer.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'mouse' && event.button !== 0) return;
    layer.setPointerCapture(event.pointerId);
    const [x] = place(event);
    down.set(event.pointerId, { x, from: x });
    if (down.size === 1) doing = 'still';
    else {
      doing = down.size === 2 ? 'pinch' : 'none';
      hands.onDropped();
    }
  });
  layer.addEventListener('pointermove', (event) => {
    const [x, y] = place(event);
    const held = down.get(event.pointerId);
    if (!held) return hands.onPoint(x, y);
    if (doing === 'still' && Math.abs(x - held.from) > STILL) {
      doing = event.shiftKey ? 'move' : 'select';
      hands.onLeave();
    }
    if (doing === 'pinch') {
      const before = spread();
      held.x = x;
      const after = spread();
      hands.onMove(after.middle - before.middle);
      hands.onScale(after.middle, before.apart / after.apart);
      return;
    }
    if (doing === 'move') hands.onMove(x - held.x);
    if (doing === 'select') hands.onSelecting(held.from, x);
    held.x = x;
  });
  layer.addEventListener('pointerup', (event) => {
    const held = down.get(event.pointerId);
    if (!held) return;
    down.delete(event.pointerId);
    if (doing === 'still') hands.onTap(held.x);
    if (doing === 'select') hands.onSelected(held.from, held.x);
    doing = 'none';
  });
  layer.addEventListener('pointercancel', (event) => { // the page took the swipe over
    down.delete(event.pointerId);
    doing = 'none';
    hands.onDropped();
  });
  layer.addEventListener('pointerleave', () => hands.onLeave());
  layer.addEventListener('dblclick', () => hands.onWhole());
  layer.addEventListener('wheel', (event) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.shiftKey ? event.deltaY : 0;
    if (event.ctrlKey || event.metaKey) hands.onScale(place(event)[0], Math.exp(event.deltaY * PER_WHEEL_PIXEL));
    else if (!sideways || !hands.onMove(-sideways)) return;
    event.preventDefault();
  }, { passive: false });
}

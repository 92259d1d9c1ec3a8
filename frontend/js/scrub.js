// @ts-check
/** The bar under the frame: which frame is shown, where the trace can be trusted, what the trim leaves out. */
import { byId, setAttribute, setText, show } from './dom.js';
import { nextDoubtful, spans } from './spans.js';
import { totalFrames, trimEnd, trimStart } from './state.js';

/** @typedef {import('./state.js').State} State */

const QUALITIES = ['tracked', 'doubtful', 'lost', 'empty'];

export class ScrubBar {
  /** @type {import('./spans.js').Span[]} */
  #runs = [];
  #doubts = false;

  /** @param {{onFrame: (frame: number) => void, onPlay: (step: 1 | -1) => void, state: () => State}} options */
  constructor({ onFrame, onPlay, state }) {
    this.state = state;
    this.slider = byId('scrub');
    this.number = byId('frame-number');
    this.strip = byId('strip');
    /** @param {string} id @param {() => number | null} target */
    const on = (id, target) =>
      byId(id).addEventListener('click', () => {
        const frame = target();
        if (frame !== null) onFrame(frame);
      });
    on('first', () => trimStart(state()));
    on('back-ten', () => state().frame - 10);
    on('back', () => state().frame - 1);
    on('forward', () => state().frame + 1);
    on('forward-ten', () => state().frame + 10);
    on('last', () => trimEnd(state()));
    on('next-doubtful', () => nextDoubtful(this.#runs, state().frame));
    byId('play').addEventListener('click', () => onPlay(1));
    byId('play-back').addEventListener('click', () => onPlay(-1));
    this.slider.addEventListener('input', () => onFrame(Number(this.slider.value)));
    this.number.addEventListener('change', () => onFrame(Number(this.number.value)));
    new ResizeObserver(() => this.#paint(state())).observe(this.strip);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#paint(state()));
  }

  /** @param {State} state @param {State | null} before @param {1 | -1 | 0} playing the direction of the film that runs */
  render(state, before, playing) {
    const total = totalFrames(state);
    this.slider.max = String(Math.max(0, total - 1));
    this.number.max = this.slider.max;
    this.slider.value = String(state.frame);
    if (document.activeElement !== this.number || before?.frame !== state.frame) this.number.value = String(state.frame);
    this.slider.setAttribute('aria-valuetext', `Frame ${state.frame} of ${Math.max(0, total - 1)}`);
    setText(byId('frame-total'), total ? `of ${total - 1}` : '');
    for (const id of ['first', 'back-ten', 'back', 'forward', 'forward-ten', 'last', 'play', 'play-back', 'scrub', 'frame-number']) {
      byId(id).disabled = total === 0;
    }
    this.renderPlaying(playing);
    if (before?.frames !== state.frames || before?.metadata !== state.metadata) {
      this.#runs = spans(state.frames, total);
      this.#doubts = nextDoubtful(this.#runs, -1) !== null;
      this.#paint(state);
    }
    show(byId('next-doubtful'), this.#doubts);
  }

  /** @param {1 | -1 | 0} playing */
  renderPlaying(playing) {
    for (const [id, step, name] of /** @type {const} */ ([['play', 1, 'Play'], ['play-back', -1, 'Play backwards']])) {
      setAttribute(byId(id), 'data-playing', String(playing === step));
      setAttribute(byId(id), 'aria-label', playing === step ? 'Pause' : name);
    }
  }

  /** @param {State} state */
  #paint(state) {
    const total = totalFrames(state);
    const { clientWidth: width, clientHeight: height } = this.strip;
    const ratio = window.devicePixelRatio || 1;
    Object.assign(this.strip, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const pen = this.strip.getContext('2d');
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (!total || !width) return;
    const style = getComputedStyle(this.strip);
    const left = (/** @type {number} */ frame) => (frame / total) * width;
    const colors = Object.fromEntries(QUALITIES.map((quality) => [quality, style.getPropertyValue(`--${quality}`)]));
    for (const { from, to, quality } of this.#runs) {
      pen.fillStyle = colors[quality];
      // A single lost frame of ten thousand must still be seen.
      pen.fillRect(left(from), 0, Math.max(quality === 'empty' ? 0 : 1.5, left(to + 1) - left(from)), height);
    }
    pen.fillStyle = style.getPropertyValue('--outside');
    pen.fillRect(0, 0, left(trimStart(state)), height);
    pen.fillRect(left(trimEnd(state) + 1), 0, width, height);
  }
}

// @ts-check
/** What a person sees of one transfer: how far it is, what was found, what to do next. */
import * as api from './api.js';
import { announce, make, setAttribute, setText, show } from './dom.js';
import { asProblem } from './problem.js';
import { turn } from './turn.js';
import { duration, megabytes, plural } from './words.js';

/** @typedef {import('./transfer.js').Transfer} Transfer */

const STEPS = /** @type {const} */ (['hash', 'send', 'check']);
const NAMES = { hash: 'Read', send: 'Sent', check: 'Checked' };

export class TransferCard {
  #turning = false;
  #turns = 0; // pictures of a turned movie come from another address, since the old one may be kept

  /**
   * @param {{transfer: Transfer, onAgain: (transfer: Transfer) => void}} options
   */
  constructor({ transfer, onAgain }) {
    this.transfer = transfer;
    this.steps = make('ol', { class: 'steps' }, ...STEPS.map((step) => make('li', { 'data-step': step, text: NAMES[step] })));
    this.bar = make('progress', { max: 1, 'aria-label': `Progress of ${transfer.details.title}` });
    this.said = make('p', { class: 'said', role: 'status' });
    this.warnings = make('ul', { class: 'warnings' });
    this.picture = make('img', { class: 'first-picture', alt: '', width: 320, height: 240, hidden: true });
    this.open = make('a', { class: 'button primary open', hidden: true, text: 'Analyze it' });
    this.rotate = make('button', { type: 'button', class: 'rotate', hidden: true, text: 'Rotate by 90°', onclick: () => void this.#turn() });
    this.again = make('button', { type: 'button', class: 'again', hidden: true, text: 'Try again', onclick: () => onAgain(transfer) });
    this.stop = make('button', { type: 'button', class: 'quiet stop', text: 'Stop', onclick: () => transfer.stop() });
    const body = make('div', { class: 'transfer-body' }, this.said, this.warnings, make('div', { class: 'row' }, this.open, this.again, this.rotate, this.stop));
    this.element = make('li', { class: 'card transfer' },
      make('h2', { text: transfer.details.title }), this.steps, this.bar, make('div', { class: 'transfer-found' }, this.picture, body));
  }

  render() {
    const { transfer } = this;
    const { stage, problem, metadata } = transfer;
    const settled = this.element.dataset.stage !== stage;
    this.element.dataset.stage = stage;
    this.#renderSteps(stage === 'failed' || stage === 'stopped' ? null : stage);
    const said = sentence(transfer);
    setText(this.said, said);
    show(this.bar, ['hash', 'send', 'check'].includes(stage));
    if (stage === 'send') this.bar.value = transfer.file.size ? transfer.sent / transfer.file.size : 1;
    else this.bar.removeAttribute('value');
    const ready = stage === 'ready';
    this.warnings.replaceChildren(...(ready ? (metadata.inspection?.warnings ?? []) : []).map((/** @type {string} */ text) => make('li', { text })));
    show(this.open, ready);
    show(this.rotate, ready);
    this.rotate.disabled = this.#turning;
    show(this.picture, ready);
    if (ready) {
      setAttribute(this.open, 'href', api.address('analyze', { movie_id: transfer.movieId }));
      setAttribute(this.picture, 'src', api.address('resize-api/v1/first-frame', { movie_id: transfer.movieId, turns: this.#turns || null }));
      setAttribute(this.picture, 'alt', 'The first picture');
    }
    show(this.again, stage === 'stopped' || (stage === 'failed' && (problem?.retryable === true || (problem?.status ?? 0) >= 400)));
    show(this.stop, transfer.stoppable);
    if (settled && (ready || stage === 'failed')) announce(`${transfer.details.title}: ${said}`);
  }

  /** @param {import('./transfer.js').Stage | null} stage null: it stands where it stood */
  #renderSteps(stage) {
    if (stage === null) return;
    const place = stage === 'ready' ? STEPS.length : STEPS.indexOf(/** @type {any} */ (stage));
    [...this.steps.children].forEach((item, index) => {
      item.dataset.state = index < place ? 'done' : index === place ? 'now' : 'later';
      setAttribute(item, 'aria-current', index === place ? 'step' : null);
    });
  }

  async #turn() {
    const { transfer } = this;
    if (this.#turning || !transfer.movieId) return;
    this.#turning = true;
    this.rotate.disabled = true;
    try {
      await turn(transfer.movieId, (Number(transfer.metadata?.rotation ?? 0) + 90) % 360);
      this.#turns += 1;
      this.#turning = false;
      transfer.watch();
    } catch (thrown) {
      this.#turning = false;
      this.render();
      setText(this.said, asProblem(thrown).message);
    }
  }
}

/** Where a transfer stands. @param {Transfer} transfer @returns {string} */
export function sentence({ stage, problem, metadata, sent, file, rate }) {
  if (stage === 'waiting') return 'Waiting for its turn.';
  if (stage === 'stopped') return 'Stopped. Nothing was kept.';
  if (stage === 'failed') return problem?.message ?? '';
  if (stage === 'ready') return `It has ${plural(Number(metadata.total_frames), 'frame')} and is ready.`;
  if (problem) return 'Connection is slow. Trying again; nothing is lost.';
  if (stage === 'hash') return `Reading ${megabytes(file.size)}.`;
  if (stage === 'send') {
    const left = rate.left(file.size);
    const speed = rate.perSecond;
    return [`${megabytes(sent)} of ${megabytes(file.size)}`, speed ? `${megabytes(speed)} a second` : '',
      left !== null && sent < file.size ? `${duration(left)} left` : ''].filter(Boolean).join(' · ');
  }
  const seen = Number(metadata?.tracking_lock?.last_frame_tracked ?? 0);
  const looked = seen > 0 ? `Frame ${seen + 1} has been looked at.` : 'Every frame is looked at once.';
  return `${looked} You may leave; the movie will be in your list.`;
}

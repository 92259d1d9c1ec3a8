// @ts-check
/** The upload page: a file is chosen, summed, sent, checked; each step can fail in words and be tried again. */
import * as api from './api.js';
import { byId, freshKey, setAttribute, setText, show } from './dom.js';
import { Poller } from './poll.js';
import { Problem, asProblem } from './problem.js';
import { goToSignIn, openSession } from './session.js';
import { fpmOf } from './settings.js';
import { tidy } from './words.js';

const MOST_BYTES = 268_435_456;
const STEPS = ['hash', 'send', 'check'];

/** @type {File | null} */
let file = null;
/** One intent to upload, however often it is tried. */
let requestKey = freshKey();
let stop = new AbortController();
/** @type {Poller | null} */
let watcher = null;

/** @param {number} bytes */
export const megabytes = (bytes) => (bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${tidy(bytes / 1e6)} MB`);

/** Why this file need not even be sent, or null. @param {{size: number, type: string, name: string}} chosen @returns {string | null} */
export function objection({ size, type, name }) {
  if (size === 0) return 'This file is empty. Choose the movie itself.';
  if (size > MOST_BYTES) return `This file has ${megabytes(size)}; up to ${megabytes(MOST_BYTES)} can be taken. Export it with smaller frames or fewer pictures.`;
  if (/^(image|text|audio)\//.test(type)) return `${name} is not a movie. Choose the movie itself.`;
  return null;
}

/** @param {File} chosen @returns {Promise<string>} */
function sha256(chosen) {
  const worker = new Worker(new URL('./hasher.js', import.meta.url), { type: 'module' });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => {
      worker.terminate();
      if (data.hex) resolve(data.hex);
      else reject(new Problem({ kind: 'invalid', message: 'This file cannot be read. Is it still where it was?' }));
    };
    worker.onerror = () => reject(new Problem({ kind: 'invalid', message: 'This file cannot be read.' }));
    worker.postMessage(chosen);
  });
}

/** @param {File | undefined | null} chosen */
function choose(chosen) {
  if (!chosen) return;
  file = chosen;
  requestKey = freshKey();
  const problem = objection(chosen);
  setText(byId('form-problem'), problem ?? '');
  setText(byId('drop-text'), chosen.name);
  setText(byId('drop-facts'), `${megabytes(chosen.size)} · choose another`);
  byId('drop').classList.add('chosen');
  byId('send').disabled = problem !== null;
  const title = byId('title');
  if (!title.value) title.value = chosen.name.replace(/\.[^.]+$/, '').replace(/[_]+/g, ' ');
}

/** @param {string} step @param {string} title */
function enter(step, title) {
  setText(byId('progress-title'), title);
  for (const item of byId('steps').children) {
    const place = STEPS.indexOf(item.dataset.step) - STEPS.indexOf(step);
    item.dataset.state = place < 0 ? 'done' : place === 0 ? 'now' : 'later';
    setAttribute(item, 'aria-current', place === 0 ? 'step' : null);
  }
  byId('bar').removeAttribute('value');
}

/** @param {string} sentence @param {'busy' | 'done' | 'failed'} state @param {{retry?: boolean}} [options] */
function say(sentence, state, { retry = false } = {}) {
  setText(byId('said'), sentence);
  byId('progress').dataset.state = state;
  show(byId('bar'), state === 'busy');
  show(byId('stop'), state === 'busy');
  show(byId('again'), state === 'failed' && retry);
  show(byId('another'), state !== 'busy');
}

async function send() {
  if (!file) return;
  const chosen = file;
  stop = new AbortController();
  show(byId('upload-form'), false);
  show(byId('progress'), true);
  show(byId('open-movie'), false);
  const title = byId('title').value.trim() || chosen.name;
  try {
    enter('hash', title);
    say('', 'busy');
    const digest = await sha256(chosen);
    enter('send', title);
    const count = Number(byId('interval-count').value);
    const { movie_id, presigned_post } = await api.newMovie({
      title,
      description: byId('description').value.trim(),
      movie_data_sha256: digest,
      movie_data_length: chosen.size,
      research_use: byId('research-use').checked ? 1 : 0,
      credit_by_name: byId('credit-by-name').checked ? 1 : 0,
      attribution_name: byId('attribution-name').value.trim() || undefined,
      fpm: count > 0 ? fpmOf(count, byId('interval-unit').value) : undefined,
      request_key: requestKey,
    });
    await api.uploadFile(presigned_post, chosen, (part) => {
      byId('bar').value = part;
      setText(byId('said'), `${megabytes(part * chosen.size)} of ${megabytes(chosen.size)}`);
    }, stop.signal);
    enter('check', title);
    say('Every frame is looked at once. You may leave; the movie will be in your list.', 'busy');
    await api.processUpload(movie_id);
    watch(movie_id);
  } catch (thrown) {
    fail(thrown);
  }
}

/** @param {string} movie_id */
function watch(movie_id) {
  watcher = new Poller({
    task: async () => {
      const { metadata } = await api.movieMetadata(movie_id);
      if (['uploading', 'processing'].includes(metadata.status)) return;
      watcher?.stop();
      if (metadata.status === 'unusable') {
        say(metadata.status_reason ?? 'This file cannot be used.', 'failed');
        return;
      }
      for (const item of byId('steps').children) item.dataset.state = 'done';
      const warnings = metadata.inspection?.warnings ?? [];
      say([`It has ${metadata.total_frames} frames and is ready.`, ...warnings].join(' '), 'done');
      const link = byId('open-movie');
      link.href = api.address('analyze', { movie_id });
      show(link, true);
      link.focus();
    },
    interval: () => 1,
    onProblem: (problem, failures) => {
      if (!problem.retryable) fail(problem);
      else if (failures > 1) setText(byId('said'), 'Connection is slow. Trying again.');
    },
  });
  void watcher.poke();
}

/** @param {unknown} thrown */
function fail(thrown) {
  if (thrown instanceof DOMException && thrown.name === 'AbortError') {
    say('Stopped. Nothing was kept.', 'failed', { retry: true });
    return;
  }
  const problem = asProblem(thrown);
  if (problem.kind === 'signed-out') goToSignIn();
  say(problem.message, 'failed', { retry: problem.retryable || problem.status >= 400 });
}

function startOver() {
  watcher?.stop();
  show(byId('progress'), false);
  show(byId('upload-form'), true);
  byId('file').focus();
}

const drop = byId('drop');
byId('file').addEventListener('change', () => choose(byId('file').files?.[0]));
choose(byId('file').files?.[0]); // it may have been chosen before this script came
for (const kind of ['dragenter', 'dragover']) {
  drop.addEventListener(kind, (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
}
for (const kind of ['dragleave', 'drop']) drop.addEventListener(kind, () => drop.classList.remove('over'));
drop.addEventListener('drop', (/** @type {DragEvent} */ event) => {
  event.preventDefault();
  choose(event.dataTransfer?.files?.[0]);
});
// A file that misses its place must not replace the page.
for (const kind of ['dragover', 'drop']) addEventListener(kind, (event) => event.preventDefault());

byId('upload-form').addEventListener('submit', (/** @type {Event} */ event) => {
  event.preventDefault();
  if (!file) setText(byId('form-problem'), 'Choose a movie first.');
  else if (!objection(file)) void send();
});
byId('again').addEventListener('click', () => void send());
byId('another').addEventListener('click', startOver);
byId('stop').addEventListener('click', () => {
  stop.abort();
  if (watcher) startOver();
});
addEventListener('beforeunload', (event) => {
  const sending = /** @type {any} */ (document.querySelector('[data-step=send]')).dataset.state === 'now';
  if (sending && byId('progress').dataset.state === 'busy') event.preventDefault();
});
void openSession();

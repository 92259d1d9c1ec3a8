// @ts-check
/** The upload page: files are chosen and named, then each goes its way; several wait for each other. */
import { address, sampleMovie } from './api.js';
import { byId, make, setText, show } from './dom.js';
import { asProblem } from './problem.js';
import { goToSignIn, openSession } from './session.js';
import { fpmOf } from './settings.js';
import { Transfer } from './transfer.js';
import { TransferCard } from './transfer_card.js';
import { megabytes, plural } from './words.js';

const MOST_FILES = 50;
const DOUBLE_CLICK = 1000; // ms: the second half of one is no wish of its own
const KINDS = byId('drop-facts').textContent;

/** Bytes that the service takes; unknown until it has said so, and it checks them itself. */
let most = Infinity;
/** @type {{file: File, title: HTMLInputElement}[]} those that can be sent */
let chosen = [];
/** @type {Transfer[]} that have not been sent yet, in order */
const queue = [];
/** @type {Transfer | null} the one that is being sent */
let sending = null;
let sentAt = -Infinity;

/** Why this file need not even be sent, or null. @param {File} file @returns {string | null} */
function objection({ size, type, name }) {
  if (size === 0) return `${name} is empty. Choose the movie itself.`;
  if (size > most) return `${name} has ${megabytes(size)}; up to ${megabytes(most)} can be taken. Export it with smaller frames or fewer pictures.`;
  if (/^(image|text|audio)\//.test(type)) return `${name} is not a movie. Choose the movie itself.`;
  return null;
}

/** @param {string} name of a file */
const titleOf = (name) => name.replace(/\.[^.]+$/, '').replace(/_+/g, ' ').trim() || name;

/** @param {File[]} files */
function choose(files) {
  if (!files.length) return;
  const titles = new Map(chosen.map(({ file, title }) => [file.name, title.value]));
  const objections = files.map(objection).filter(Boolean);
  const usable = files.filter((file) => !objection(file));
  if (usable.length > MOST_FILES) objections.push(`Up to ${MOST_FILES} files can be chosen at once; the first ${MOST_FILES} were taken.`);
  chosen = usable.slice(0, MOST_FILES).map((file) => {
    const title = make('input', { type: 'text', maxlength: 200, autocomplete: 'off', required: true });
    title.value = titles.get(file.name) ?? titleOf(file.name);
    return { file, title };
  });
  setText(byId('form-problem'), objections.join(' '));
  byId('send').disabled = chosen.length === 0;
  byId('drop').classList.toggle('chosen', chosen.length > 0);
  const one = chosen.length === 1;
  byId('chosen').replaceChildren(...chosen.map(({ file, title }) =>
    make('li', {}, make('label', {}, one ? 'Title' : `Title of ${file.name}`, title), make('span', { class: 'muted', text: megabytes(file.size) }))));
  if (!chosen.length) return invite('Drop a movie here, or choose files');
  setText(byId('drop-text'), one ? chosen[0].file.name : plural(chosen.length, 'file'));
  setText(byId('drop-facts'), `${megabytes(chosen.reduce((sum, { file }) => sum + file.size, 0))} · choose others`);
}

/** Nothing is chosen: say what to do, and what is taken. @param {string} [sentence] */
function invite(sentence) {
  if (sentence) setText(byId('drop-text'), sentence);
  setText(byId('drop-facts'), most < Infinity ? `${KINDS}, up to ${megabytes(most)} each` : KINDS);
}

/** @param {string} title @returns {import('./transfer.js').Details} the form as it stands now: an intent does not change when it is tried again */
function details(title) {
  const count = Number(byId('interval-count').value);
  return {
    title,
    description: byId('description').value.trim(),
    research_use: byId('research-use').checked ? 1 : 0,
    credit_by_name: byId('credit-by-name').checked ? 1 : 0,
    attribution_name: byId('attribution-name').value.trim() || undefined,
    fpm: count > 0 ? fpmOf(count, byId('interval-unit').value) : undefined,
  };
}

/** @param {File} file @param {import('./transfer.js').Details} of */
function enqueue(file, of) {
  /** @type {TransferCard} */
  let card;
  const transfer = new Transfer({
    file,
    details: of,
    onChange: () => {
      card.render();
      if (transfer.problem?.kind === 'signed-out') goToSignIn();
    },
  });
  card = new TransferCard({ transfer, onAgain: () => start(transfer) });
  byId('transfers').append(card.element);
  card.render();
  start(transfer);
}

/** @param {Transfer} transfer */
function start(transfer) {
  transfer.stage = 'waiting';
  transfer.onChange(transfer);
  if (!queue.includes(transfer)) queue.push(transfer); // it may have been stopped while it waited
  void work();
}

/** One file after the other has the whole line; what was sent is inspected meanwhile. */
async function work() {
  while (!sending && queue.length) {
    sending = /** @type {Transfer} */ (queue.shift());
    await sending.run();
    sending = null;
  }
}

function clearForm() {
  chosen = [];
  byId('chosen').replaceChildren();
  byId('file').value = '';
  byId('drop').classList.remove('chosen');
  invite('Drop another movie here, or choose files');
  setText(byId('form-problem'), '');
}

async function trySample() {
  const making = byId('sample');
  show(byId('upload-form'), false);
  show(making, true);
  try {
    const file = await sampleMovie();
    history.replaceState(null, '', address('upload')); // a page that is loaded again must not take a second one
    enqueue(file, { title: 'Sample: a bean that nods', description: 'A procedural plant whose path is known.', research_use: 0, credit_by_name: 0, fpm: 0.5 });
    clearForm();
  } catch (thrown) {
    setText(byId('form-problem'), asProblem(thrown).message);
  } finally {
    show(making, false);
    show(byId('upload-form'), true);
  }
}

const drop = byId('drop');
byId('file').addEventListener('change', () => choose([...byId('file').files]));
choose([...(byId('file').files ?? [])]); // they may have been chosen before this script came
for (const kind of ['dragenter', 'dragover']) {
  drop.addEventListener(kind, (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
}
for (const kind of ['dragleave', 'drop']) drop.addEventListener(kind, () => drop.classList.remove('over'));
drop.addEventListener('drop', (/** @type {DragEvent} */ event) => {
  event.preventDefault();
  choose([...(event.dataTransfer?.files ?? [])]);
});
// A file that misses its place must not replace the page.
for (const kind of ['dragover', 'drop']) addEventListener(kind, (event) => event.preventDefault());

byId('upload-form').addEventListener('submit', (/** @type {Event} */ event) => {
  event.preventDefault();
  if (!chosen.length) {
    if (event.timeStamp - sentAt >= DOUBLE_CLICK) setText(byId('form-problem'), 'Choose a movie first.');
    return;
  }
  sentAt = event.timeStamp;
  for (const { file, title } of chosen) enqueue(file, details(title.value.trim() || file.name));
  clearForm();
  byId('transfers').lastElementChild?.scrollIntoView({ block: 'nearest' });
});
addEventListener('beforeunload', (event) => {
  if (sending?.busy || queue.length) event.preventDefault();
});
void openSession().then((user) => {
  most = user?.max_upload_bytes ?? Infinity;
  if (!chosen.length) invite();
  else if (chosen.some(({ file }) => objection(file))) choose(chosen.map(({ file }) => file));
  if (user && new URLSearchParams(location.search).has('sample')) void trySample();
});

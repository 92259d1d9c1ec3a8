// @ts-check
/** A whole list of people at once: seen before it is sent, and told afterwards line by line. */
import * as api from './api.js';
import { byId, make, setText, show } from './dom.js';
import { repeated } from './poll.js';
import { asProblem } from './problem.js';
import { asTyped, outcomeOf, readRoster, textOf } from './roster.js';
import { plural } from './words.js';

/** @typedef {import('./roster.js').Entry} Entry */

const AT_ONCE = 25; // the mail server may take a second for each; a page waits for no answer longer than twenty
const LONGEST_FILE = 1_000_000;

export class Enrolment {
  #sending = false;

  /** @param {{courseId: string, onRegistered: () => Promise<void>}} options */
  constructor({ courseId, onRegistered }) {
    this.courseId = courseId;
    this.onRegistered = onRegistered;
    const roster = byId('roster');
    roster.addEventListener('input', () => this.#preview());
    byId('roster-form').addEventListener('submit', (/** @type {Event} */ event) => {
      event.preventDefault();
      void this.#register();
    });
    const chooser = byId('roster-file');
    const taken = () => {
      void this.#take(chooser.files[0]);
      chooser.value = ''; // so that the same file, mended, can be chosen again
    };
    chooser.addEventListener('change', taken);
    const card = byId('enrol');
    card.addEventListener('dragover', (/** @type {DragEvent} */ event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      roster.classList.add('over');
    });
    card.addEventListener('dragleave', () => roster.classList.remove('over'));
    card.addEventListener('drop', (/** @type {DragEvent} */ event) => {
      roster.classList.remove('over');
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      void this.#take(event.dataTransfer.files[0]);
    });
    this.#preview();
    taken(); // it may have been chosen before this script came
  }

  /** @param {File | undefined} file */
  async #take(file) {
    if (!file || this.#sending) return;
    const text = file.size > LONGEST_FILE ? '\0' : textOf(await file.arrayBuffer());
    if (/[\0\uFFFD]/.test(text)) {
      this.#complain(`“${file.name}” is no list of people as text. Save the table as CSV and choose that file.`);
      return;
    }
    const before = byId('roster').value.trimEnd();
    byId('roster').value = before ? `${before}\n${text}` : text;
    this.#preview();
  }

  #preview() {
    this.#complain('');
    const entries = readRoster(byId('roster').value);
    const good = entries.filter((entry) => !entry.problem);
    show(byId('preview'), entries.length > 0);
    const wrong = entries.length - good.length;
    setText(byId('preview-said'), entries.length
      ? `${plural(good.length, 'person', 'people')} can be registered${wrong ? `, ${plural(wrong, 'line')} cannot` : ''}.` : '');
    byId('preview-lines').replaceChildren(...entries.map((entry) => line(entry, entry.problem, entry.problem ? 'error' : 'calm')));
    byId('register').disabled = this.#sending || good.length === 0;
    setText(byId('register'), good.length ? `Register ${plural(good.length, 'person', 'people')}` : 'Register');
  }

  /** What went wrong stays in the field, to be mended and sent again. */
  async #register() {
    const entries = readRoster(byId('roster').value);
    const good = entries.filter((entry) => !entry.problem);
    if (this.#sending || !good.length) return;
    this.#sending = true;
    byId('roster').readOnly = true;
    byId('register').disabled = true;
    /** @type {Map<Entry, any>} */
    const results = new Map();
    let problem = '';
    try {
      for (let from = 0; from < good.length; from += AT_ONCE) {
        const part = good.slice(from, from + AT_ONCE);
        setText(byId('register'), from ? `Registering… ${from} of ${good.length}` : 'Registering…');
        // Sent twice it does no harm: whoever came in by the first is a member for the second.
        const reply = await repeated(() => api.bulkRegister(this.courseId, part.map(asTyped)));
        part.forEach((entry, index) => results.set(entry, reply.results[index]));
      }
    } catch (thrown) {
      problem = asProblem(thrown).message;
    }
    this.#sending = false;
    byId('roster').readOnly = false;
    const left = entries.filter((entry) => !results.has(entry) || results.get(entry).outcome === 'refused');
    byId('roster').value = [...new Set(left.map((entry) => entry.text))].join('\n');
    this.#preview();
    if (!problem) show(byId('preview'), false); // the report tells the same, until the list is changed
    this.#report(entries.filter((entry) => entry.problem || results.has(entry)), results);
    this.#complain(problem);
    if (results.size) await this.onRegistered();
  }

  /** @param {Entry[]} entries @param {Map<Entry, any>} results */
  #report(entries, results) {
    show(byId('registered'), results.size > 0);
    if (!results.size) return;
    const came = [...results.values()].filter(({ outcome }) => outcome === 'registered' || outcome === 'joined').length;
    const wrong = entries.filter((entry) => entry.problem || results.get(entry).outcome === 'refused').length;
    byId('registered-lines').replaceChildren(...entries.map((entry) => {
      const told = entry.problem ? { tone: 'error', text: `Not sent. ${entry.problem}` } : outcomeOf(results.get(entry));
      return line(entry, told.text, told.tone);
    }));
    setText(byId('registered-said'), `${plural(came, 'person', 'people')} came into the course${wrong ? `, ${plural(wrong, 'line')} did not` : ''}.`);
    byId('registered-said').focus();
  }

  /** @param {string} sentence */
  #complain(sentence) {
    setText(byId('roster-problem'), sentence);
  }
}

/** @param {Entry} entry @param {string} said @param {string} tone */
function line(entry, said, tone) {
  const who = entry.email && !entry.problem ? [entry.name, entry.email].filter(Boolean).join(' · ') : entry.text;
  return make('li', { 'data-tone': tone },
    make('span', { class: 'number', text: String(entry.number) }),
    make('span', {}, who, said ? make('span', { class: 'said', text: said }) : null));
}

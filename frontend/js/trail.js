// @ts-check
/** Events of the audit trail as a list of sentences, newest first, by day; older ones on request. */
import { events } from './api.js';
import { dayWord, timeOfDay } from './days.js';
import { announce, make, now, setText, show } from './dom.js';
import { asProblem } from './problem.js';
import { clockInFull, plural } from './words.js';

const AT_ONCE = 50;

/** Whether something went wrong, as far as this person is told, or wants a second look. @param {any} event @returns {string | null} */
function toneOf({ event_type, error_type }) {
  if (event_type === 'movie.lease.taken-over') return 'warn';
  return error_type && error_type !== 'cancelled' ? 'error' : null;
}

export class Trail {
  /** @type {any[]} */
  #events = [];
  /** @type {Record<string, any>} */
  #filter = {};
  #next = 0;
  /** The reading whose answer counts: an answer to an earlier question comes too late. */
  #asked = 0;
  #more = /** @type {HTMLButtonElement} */ (make('button', { type: 'button', text: 'Show older', hidden: true, onclick: () => void this.#older() }));
  #list = /** @type {HTMLElement} */ (make('div', { class: 'trail' }));
  #said = /** @type {HTMLElement} */ (make('p', { class: 'muted', role: 'status', hidden: true }));

  /**
   * @param {HTMLElement} box
   * @param {{empty: string, titleOf?: (movieId: string) => string | null, href?: (movieId: string) => string, heading?: string}} options
   *   `titleOf`: movies that become links in the sentences; `heading`: the level of the days' headings
   */
  constructor(box, { empty, titleOf = () => null, href = () => '', heading = 'h3' }) {
    this.empty = empty;
    this.titleOf = titleOf;
    this.href = href;
    this.heading = heading;
    box.append(this.#list, this.#said, this.#more);
  }

  /** Shows the newest events that the filter takes. @param {Record<string, any>} filter */
  async read(filter) {
    this.#filter = filter;
    await this.#ask(0);
  }

  /** The same question again. */
  async again() {
    await this.#ask(0);
  }

  async #older() {
    const from = this.#events.length;
    await this.#ask(this.#next);
    const first = /** @type {HTMLElement | undefined} */ (this.#list.querySelectorAll('li')[from]);
    first?.focus(); // the button may be gone, and reading goes on here
    if (first) announce(`${plural(this.#events.length - from, 'older event')} shown.`);
  }

  /** @param {number} offset */
  async #ask(offset) {
    const asked = ++this.#asked;
    this.#more.disabled = true;
    this.#list.setAttribute('aria-busy', 'true');
    try {
      const reply = await events({ ...this.#filter, count: AT_ONCE, offset });
      if (asked !== this.#asked) return;
      // What happened meanwhile has moved the rest down: what is shown already comes again.
      const before = offset === 0 ? [] : this.#events;
      const shown = new Set(before.map((event) => event.log_id));
      this.#events = [...before, ...reply.logs.filter((/** @type {any} */ event) => !shown.has(event.log_id))];
      this.#next = reply.next_offset ?? 0;
      this.#say(reply.cut_short ? 'There are too many events to look through at once. Choose some days to see older ones.'
        : this.#events.length ? '' : this.empty);
      show(this.#more, reply.next_offset !== null && !reply.cut_short);
      this.#draw();
    } catch (thrown) {
      if (asked === this.#asked) this.#say(asProblem(thrown).message);
    } finally {
      if (asked === this.#asked) {
        this.#more.disabled = false;
        this.#list.setAttribute('aria-busy', 'false');
      }
    }
  }

  /** @param {string} sentence */
  #say(sentence) {
    setText(this.#said, sentence);
    show(this.#said, sentence !== '');
  }

  #draw() {
    /** @type {Map<string, any[]>} */
    const days = new Map();
    for (const event of this.#events) {
      const day = dayWord(event.time_t, now());
      days.set(day, [...(days.get(day) ?? []), event]);
    }
    this.#list.replaceChildren(...[...days].map(([day, ofDay]) =>
      make('section', {}, make(this.heading, { text: day }), make('ol', { role: 'list' }, ...ofDay.map((event) => this.#line(event))))));
  }

  /** @param {any} event */
  #line(event) {
    return make('li', { tabindex: -1, 'data-tone': toneOf(event) },
      make('time', { datetime: new Date(event.time_t * 1000).toISOString(), title: clockInFull(event.time_t), text: timeOfDay(event.time_t) }),
      make('p', {}, ...this.#sentence(event)));
  }

  /** The sentence, with the movie's title as the way to the movie. @param {any} event @returns {(Node | string)[]} */
  #sentence({ sentence, movie_id }) {
    const title = movie_id ? this.titleOf(movie_id) : null;
    const at = title ? sentence.indexOf(`“${title}”`) : -1;
    if (!title || at < 0) return [sentence];
    const end = at + title.length + 2;
    return [sentence.slice(0, at + 1), make('a', { href: this.href(movie_id), text: title }), sentence.slice(end - 1)];
  }
}

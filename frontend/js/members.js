// @ts-check
/** The people of a course: found by name, with what they have in it, their right, and a new link when they need one. */
import * as api from './api.js';
import { announce, byId, keyed, make, now, setAttribute, setText, show } from './dom.js';
import { asProblem } from './problem.js';
import { clock, clockInFull, plural } from './words.js';

const PAGE = 1000; // the most that the server gives at once
const SHOWN = 50; // at first, and at each press of the button

export class Members {
  /** @type {any[]} */
  #people = [];
  #shown = SHOWN;
  /** @type {ReturnType<typeof import('./live.js').shares>} */
  #shares = new Map();
  #known = false;

  /** @param {{courseId: string, me: any}} options */
  constructor({ courseId, me }) {
    this.courseId = courseId;
    this.mayName = me.roles.includes('superadmin');
    byId('find').addEventListener('input', () => {
      this.#shown = SHOWN;
      this.#render();
    });
    byId('more-people').addEventListener('click', () => {
      this.#shown += SHOWN;
      this.#render();
      byId('people').children[this.#shown - SHOWN]?.querySelector('a')?.focus();
    });
    setText(byId('people-note'), this.mayName ? '' : 'Only those who run this service make somebody an administrator of a course.');
  }

  /** Reads the members anew. @returns {Promise<import('./courses.js').Course>} the course as it stands now */
  async read() {
    /** @type {any[]} */
    const found = [];
    /** @type {any} */
    let reply;
    do {
      reply = await api.listUsers({ course_id: this.courseId, count: PAGE, offset: found.length });
      found.push(...reply.users);
    } while (reply.next_offset !== null && reply.users.length);
    this.#people = found;
    this.#known = true;
    this.#render();
    return reply.courses[0];
  }

  /** What each has in the course. @param {ReturnType<typeof import('./live.js').shares>} shares */
  share(shares) {
    this.#shares = shares;
    this.#render();
  }

  #render() {
    if (!this.#known) return; // nobody is not the same as not yet read
    const wanted = byId('find').value.trim().toLowerCase().split(/\s+/);
    const found = this.#people.filter(({ user_name, email }) => wanted.every((word) => `${user_name} ${email}`.toLowerCase().includes(word)));
    keyed(byId('people'), found.slice(0, this.#shown), (person) => person.user_id, (person) => this.#build(person), (line, person) => this.#update(line, person));
    setAttribute(byId('people'), 'aria-busy', 'false');
    setText(byId('people-count'), found.length === this.#people.length ? plural(found.length, 'person', 'people') : `${found.length} of ${this.#people.length}`);
    show(byId('no-people'), found.length === 0);
    setText(byId('no-people'), this.#people.length ? 'Nobody in this course has this name or address.' : 'Nobody is in this course yet. Register a list, or give students the key.');
    show(byId('more-people'), found.length > this.#shown);
  }

  /** @param {any} person */
  #build({ user_id, email }) {
    return make('li', {},
      make('div', { class: 'person' }, make('p', {}, make('strong'), make('span', { class: 'role' })), make('span', { class: 'email' })),
      make('p', { class: 'share' }),
      make('div', { class: 'row' },
        make('a', { class: 'button quiet activity', href: api.address('activity', { course_id: this.courseId, person: user_id }), text: 'Activity' }),
        make('button', { type: 'button', class: 'quiet link', text: 'New link', onclick: () => void this.#sendLink(email) }),
        make('button', { type: 'button', class: 'quiet name', onclick: (/** @type {Event} */ event) => void this.#name(user_id, /** @type {any} */ (event.currentTarget)) })));
  }

  /** @param {any} line @param {any} person */
  #update(line, person) {
    const called = person.user_name || person.email;
    const administers = person.admin_of.includes(this.courseId);
    const share = this.#shares.get(person.user_id);
    setText(line.querySelector('strong'), called);
    setText(line.querySelector('.email'), person.email);
    const role = line.querySelector('.role');
    setText(role, !person.enabled ? 'cannot sign in' : administers ? 'administrator' : '');
    setAttribute(role, 'data-tone', person.enabled ? null : 'warn');
    const facts = line.querySelector('.share');
    setText(facts, share ? `${plural(share.movies, 'movie')} · ${clock(share.last, now())}` : 'no movies');
    setAttribute(facts, 'title', share?.last ? `Last worked on ${clockInFull(share.last)}` : null);
    setAttribute(line.querySelector('.activity'), 'aria-label', `Activity of ${called}`);
    setAttribute(line.querySelector('.link'), 'aria-label', `New link for ${called}`);
    const name = line.querySelector('.name');
    show(name, this.mayName);
    setText(name, administers ? 'Remove administrator' : 'Make administrator');
    setAttribute(name, 'aria-label', `${name.textContent}: ${called}`);
  }

  /** @param {string} email */
  async #sendLink(email) {
    await this.#tell(async () => (await api.resendLink(email)).message.replace('this address', () => email));
  }

  /** @param {string} userId @param {HTMLButtonElement} button */
  async #name(userId, button) {
    const person = this.#people.find(({ user_id }) => user_id === userId);
    const administers = !person.admin_of.includes(this.courseId);
    button.disabled = true;
    await this.#tell(async () => {
      const { user } = await api.setAdministrator(this.courseId, userId, administers);
      this.#people = this.#people.map((one) => (one.user_id === userId ? user : one));
      this.#render();
      const called = user.user_name || user.email;
      return administers ? `${called} administers the course now.` : `${called} administers the course no more.`;
    });
    button.disabled = false;
    button.focus();
  }

  /** Do it, and say what came of it. @param {() => Promise<string>} work */
  async #tell(work) {
    const said = byId('people-said');
    show(said, false);
    let text;
    try {
      text = await work();
      said.dataset.tone = 'calm';
    } catch (thrown) {
      text = asProblem(thrown).message;
      said.dataset.tone = 'warn';
    }
    setText(said, text);
    show(said, true);
    announce(text);
  }
}

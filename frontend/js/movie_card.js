// @ts-check
/** One movie in the list: what it is, who is at it, and the one thing to do with it next. */
import * as api from './api.js';
import { make, now, setAttribute, setText, show } from './dom.js';
import { clock, clockInFull, plural, statusWord, wasCancelled } from './words.js';

/**
 * @typedef {{rename: (movie: any) => void, named: (event: Event, movie: any) => Promise<void>, keep: () => void,
 *   play: (movie: any, traced: boolean) => Promise<void>, download: (movie: any) => Promise<void>,
 *   publish: (movie: any) => Promise<void>, remove: (movie: any) => Promise<void>, restore: (movie: any) => Promise<void>}} Deeds
 */

const UNSEEN = ['uploading', 'processing', 'unusable']; // there is no picture of it (yet)

/** Who is at a movie, and since when. @param {any} movie @returns {string} */
export function lockLine(movie) {
  const { tracking_lock: tracking, analysis_lock: analysis } = movie;
  if (movie.deleted) return 'Deleted; it can be brought back.';
  if (movie.status === 'tracing') {
    const first = Number(tracking?.frame_start ?? 0);
    const last = Number(tracking?.frame_end ?? Number(tracking?.total_frames ?? movie.total_frames ?? 0) - 1);
    const done = Number(tracking?.last_frame_tracked ?? movie.last_frame_tracked ?? 0) - first;
    const part = last > first ? `, ${Math.round((100 * Math.max(0, done)) / (last - first))} %` : '';
    return tracking?.started_by_user_name ? `${tracking.started_by_user_name} started a trace at ${clock(tracking.acquired_at, now())}${part}` : `Tracing${part}`;
  }
  if (analysis?.active) {
    const who = analysis.own_user ? 'You are' : `${analysis.started_by_user_name || 'Someone'} is`;
    return `${who} editing since ${clock(analysis.acquired_at, now())}`;
  }
  if (movie.status === 'processing') return 'Every frame is being looked at; it can be analyzed when that has ended.';
  if (movie.status === 'tracing failed') return movie.tracing_failure_summary ?? '';
  if (movie.status === 'unusable') return movie.status_reason ?? 'This file cannot be used.';
  if (movie.status === 'uploading') return 'The file has not arrived. Upload it again.';
  return movie.needs_retracing && movie.status === 'tracing completed' ? 'Markers were moved since the last trace' : '';
}

/** Will a movie look different soon, without anything done here? `often` if by the second. @param {any} movie @returns {'often' | 'sometimes' | null} */
export function moving(movie) {
  if (movie.status === 'tracing' || movie.status === 'processing' || movie.resuming) return 'often';
  return movie.analysis_lock?.active ? 'sometimes' : null;
}

/** Does a movie have all the words in its title, owner or status? @param {any} movie @param {string} wanted lower case */
export function fits(movie, wanted) {
  const text = [movie.title, movie.user_name, statusWord(movie), movie.description].join(' ').toLowerCase();
  return wanted.split(/\s+/).every((word) => text.includes(word));
}

/** What this person may do about who sees a movie: its owner may hide it, an admin of the course may do both. @param {any} movie @param {any} me @returns {'Publish' | 'Hide' | null} */
export function publishing(movie, me) {
  const admin = me?.admin_of?.includes(movie.course_id) || me?.roles?.includes('superadmin');
  if (movie.deleted) return null;
  if (movie.published) return admin || movie.user_id === me?.user_id ? 'Hide' : null;
  return admin ? 'Publish' : null;
}

/** @param {any} movie @returns {{label: string, href: string | null}} `href` null: it cannot be opened now */
export function primaryAction(movie) {
  const address = api.address('analyze', { movie_id: movie.movie_id });
  if (movie.status === 'unusable' || movie.status === 'uploading') return { label: 'Upload again', href: 'upload' };
  if (movie.status === 'processing') return { label: 'Analyze', href: null };
  const other = movie.analysis_lock?.active && !movie.analysis_lock.own_user;
  if (other || movie.status === 'tracing' || movie.can_edit === false) return { label: 'Watch', href: address };
  return { label: movie.status === 'tracing failed' && !wasCancelled(movie) ? 'Try again' : 'Analyze', href: address };
}

/** @param {(event: Event) => any} find the movie of the card an event came from @param {Deeds} deeds */
export function buildCard(find, deeds) {
  /** @param {string} name @param {(movie: any, event: Event) => unknown} deed @param {string} text @param {string} [kind] */
  const item = (name, deed, text, kind = '') =>
    make('button', { type: 'button', class: `${name} ${kind}`.trim(), text, onclick: (/** @type {Event} */ event) => void deed(find(event), event) });
  const picture = make('img', { alt: '', loading: 'lazy', width: 320, height: 240,
    onerror: (/** @type {Event} */ event) => /** @type {any} */ (event.target).classList.add('missing') });
  const menu = make('details', { class: 'menu' },
    make('summary', { class: 'button icon quiet' }, '⋯'),
    make('div', { class: 'menu-items' },
      item('play', (movie) => deeds.play(movie, false), 'Play'),
      item('play-traced', (movie) => deeds.play(movie, true), 'Play with its trace'),
      make('a', { class: 'csv', text: 'Download CSV', download: true }),
      make('a', { class: 'xlsx', text: 'Download Excel', download: true }),
      item('download-movie', (movie) => deeds.download(movie), 'Download traced movie'),
      item('rename-it', (movie) => deeds.rename(movie), 'Rename'),
      item('publish', (movie) => deeds.publish(movie), ''),
      item('delete', (movie) => deeds.remove(movie), 'Delete', 'danger')));
  return make('li', { class: 'movie' },
    make('a', { class: 'thumb', tabindex: -1, 'aria-hidden': 'true' }, picture),
    make('div', { class: 'movie-body' },
      make('h2', {}, make('a', { class: 'title' })),
      make('form', { class: 'rename', hidden: true, onsubmit: (/** @type {Event} */ event) => void deeds.named(event, find(event)) },
        make('input', { type: 'text', maxlength: 200, required: true, 'aria-label': 'New title' }),
        make('button', { type: 'submit', text: 'Rename' }),
        make('button', { type: 'button', class: 'quiet', text: 'Keep', onclick: deeds.keep })),
      make('p', { class: 'status' }, make('span', { class: 'status-dot', 'aria-hidden': 'true' }), make('span', { class: 'status-word' }), make('span', { class: 'facts' })),
      make('p', { class: 'lock' }),
      make('div', { class: 'row' }, make('a', { class: 'button go', role: 'link' }), item('restore', (movie) => deeds.restore(movie), 'Bring back'), make('span', { class: 'spring' }), menu)));
}

/** @param {any} card @param {any} movie @param {{me: any, renaming: boolean}} facts */
export function updateCard(card, movie, { me, renaming }) {
  const name = movie.title || 'Untitled movie';
  const go = primaryAction(movie);
  const there = !movie.deleted;
  const pictured = !UNSEEN.includes(movie.status);
  const traced = there && movie.status === 'tracing completed';
  const picture = card.querySelector('img');
  if (!pictured) picture.classList.add('missing');
  else if (!picture.hasAttribute('src') || movie.status !== card.dataset.seen) {
    picture.classList.remove('missing'); // until it fails to come
    setAttribute(picture, 'src', api.thumbnailAddress(movie.movie_id));
  }
  card.dataset.seen = movie.status;
  card.dataset.status = wasCancelled(movie) ? 'cancelled' : movie.status;
  card.classList.toggle('deleted', !there);
  setAttribute(card.querySelector('.thumb'), 'href', there ? go.href : null);
  const title = card.querySelector('.title');
  setText(title, name);
  setAttribute(title, 'href', there ? go.href : null);
  setText(card.querySelector('.status-word'), statusWord(movie));
  const facts = [
    movie.total_frames ? plural(Number(movie.total_frames), 'frame') : '',
    movie.user_id !== me?.user_id ? (movie.user_name ?? '') : '',
    movie.published ? 'shown to the course' : '',
    clock(Number(movie.created_at ?? 0), now()),
  ];
  setText(card.querySelector('.facts'), facts.filter(Boolean).join(' · '));
  if (movie.created_at) setAttribute(card.querySelector('.facts'), 'title', `Uploaded ${clockInFull(Number(movie.created_at))}`);
  const line = lockLine(movie);
  setText(card.querySelector('.lock'), line);
  show(card.querySelector('.lock'), line !== '');
  const button = card.querySelector('.go');
  setText(button, go.label);
  setAttribute(button, 'href', go.href);
  setAttribute(button, 'aria-disabled', go.href ? null : 'true');
  setAttribute(button, 'aria-label', `${go.label}: ${name}`);
  show(button, there);
  const restore = card.querySelector('.restore');
  show(restore, !there);
  setAttribute(restore, 'aria-label', `Bring back: ${name}`);
  setAttribute(card.querySelector('summary'), 'aria-label', `More for ${name}`);
  for (const format of ['csv', 'xlsx']) {
    setAttribute(card.querySelector(`.${format}`), 'href', traced ? api.exportAddress(movie.movie_id, format) : null);
    show(card.querySelector(`.${format}`), traced);
  }
  const may = publishing(movie, me);
  setText(card.querySelector('.publish'), may === 'Hide' ? 'Hide from the course' : 'Show to the course');
  /** @type {Record<string, boolean>} */
  const offered = {
    play: there && pictured, 'play-traced': traced, 'download-movie': traced, publish: may !== null,
    'rename-it': there && movie.can_edit !== false, delete: there && movie.can_edit !== false,
  };
  for (const [deed, shown] of Object.entries(offered)) show(card.querySelector(`.${deed}`), shown);
  show(card.querySelector('.menu'), there && (pictured || may !== null || offered.delete));
  show(card.querySelector('form'), renaming);
  show(card.querySelector('h2'), !renaming);
}

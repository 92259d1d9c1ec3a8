// @ts-check
/**
 * What the pages say. Pure: facts in, plain sentences out. A sentence tells what happened, what it means, what to do.
 *
 * @typedef {import('./state.js').State} State
 * @typedef {{tone: 'calm' | 'busy' | 'warn' | 'error', text: string, actions: {id: string, label: string}[], at?: number | null}} Banner  `at`: the instant it speaks of
 */
import { isOnItsDefault, isPlausibleScale, pixelsPerMillimetre, rulerMillimetres } from './geometry.js';
import { canEdit, hasResults, isTracing, isUnusable, isWaiting, markersAt, mayTakeOver, totalFrames, trimEnd, trimStart, unsavedFrames } from './state.js';

const NEAR_ITS_END = 300; // seconds before a right that cannot be renewed ends, from when on its end is told

/** Local time of an instant. @param {number | null | undefined} epoch seconds @param {number} now seconds */
export function clock(epoch, now) {
  if (!epoch) return '';
  const date = new Date(epoch * 1000);
  const time = date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  if (new Date(now * 1000).toDateString() === date.toDateString()) return time;
  return `${date.toLocaleDateString([], { day: 'numeric', month: 'short' })}, ${time}`;
}

/** With the zone, for the pointer that rests on a time. @param {number} epoch seconds */
export const clockInFull = (epoch) =>
  new Date(epoch * 1000).toLocaleString([], { dateStyle: 'long', timeStyle: 'long' });

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 1) return 'under a second';
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Frames per minute as a person says it. @param {number} fpm */
export function interval(fpm) {
  const seconds = 60 / fpm;
  if (seconds < 60) return `one picture every ${tidy(seconds)} s`;
  if (seconds < 3600) return `one picture every ${tidy(seconds / 60)} min`;
  return `one picture every ${tidy(seconds / 3600)} h`;
}

/** Three digits that matter, no trailing zeros. @param {number} value */
export const tidy = (value) => String(Number(value.toPrecision(3)));

/** @param {number} bytes */
export const megabytes = (bytes) => (bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${tidy(bytes / 1e6)} MB`);

/** @param {number} count @param {string} one @param {string} [many] */
export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

/** @type {Record<string, string>} */
const STATUS = {
  uploading: 'waiting for the file',
  processing: 'being checked',
  ready: 'ready',
  tracing: 'tracing',
  'tracing completed': 'traced',
  'tracing failed': 'tracing failed',
  unusable: 'not usable',
};

/** @param {any} movie */
export function statusWord(movie) {
  if (movie.status !== 'tracing failed') return STATUS[movie.status] ?? movie.status;
  return movie.resuming ? 'tracing' : wasCancelled(movie) ? 'trace cancelled' : STATUS[movie.status];
}

/** Somebody stopped the trace on purpose, which is no fault. @param {any} movie */
export const wasCancelled = (movie) => movie.status === 'tracing failed' && movie.failure_code === 'cancelled';

/** @param {State} state */
export function facts(state) {
  const { metadata } = state;
  if (!metadata) return '';
  const parts = [statusWord(metadata)];
  if (totalFrames(state) > 0) parts.push(plural(totalFrames(state), 'frame'));
  if (Number(metadata.fpm) > 0) parts.push(interval(Number(metadata.fpm)));
  return parts.join(' · ');
}

/** Frames a second of the trace so far; null while that says nothing. @param {State} state @param {number} now seconds */
export function tracePace(state, now) {
  const { progress } = state;
  if (!progress || progress.frame - progress.first < 3) return null;
  return (progress.frame - progress.first) / Math.max(0.5, now - progress.at);
}

/** Seconds until the trace is through, by its pace so far; null while that says nothing. @param {State} state @param {number} now seconds */
export function secondsLeft(state, now) {
  const pace = tracePace(state, now);
  return state.progress && pace ? (lastFrameToTrace(state) - state.progress.frame) / pace : null;
}

/** @param {State} state */
export const lastFrameToTrace = (state) =>
  Number(state.metadata?.tracking_lock?.frame_end ?? trimEnd(state));

/** @param {State} state @param {number} now seconds */
export function tracingSentence(state, now) {
  if (state.metadata?.resuming) return 'The computer that was tracing stopped. Another one goes on from there by itself.';
  const frame = state.progress?.frame ?? 0;
  const [pace, left] = [tracePace(state, now), secondsLeft(state, now)];
  const backward = state.metadata?.tracking_lock?.backward_frame;
  if (typeof backward === 'number' && frame <= (state.progress?.first ?? 0)) {
    return `Following your later markers backwards: frame ${backward}. Then forwards to frame ${lastFrameToTrace(state)}.`;
  }
  if (!state.progress || frame <= state.progress.first) return 'Waiting for its turn.';
  const said = [`Tracing frame ${frame} of ${lastFrameToTrace(state)}`];
  if (pace !== null) said.push(`${pace < 10 ? tidy(Number(pace.toFixed(1))) : Math.round(pace)} frames a second`);
  if (left !== null) said.push(`${duration(left)} left`);
  return said.join(' · ');
}

/** @param {State} state @param {number} now seconds @returns {Banner | null} */
export function banner(state, now) {
  const { metadata, lease } = state;
  /** @param {Banner['tone']} tone @param {string} text @param {[string, string][]} [actions] @returns {Banner} */
  const say = (tone, text, actions = []) => ({ tone, text, actions: actions.map(([id, label]) => ({ id, label })) });
  if (state.fatal) return say('error', state.fatal, [['movies', 'Back to the movies']]);
  if (!metadata) return null;
  if (isUnusable(state)) return say('error', `${metadata.status_reason ?? 'This file cannot be used.'}`, [['upload', 'Upload another file']]);
  if (lease.kind === 'lost') {
    return { ...say('warn', `Editing moved to another page at ${clock(lease.at, now)}.${keptWords(state)}`,
      [['take-back', 'Take it back'], ...discardOffer(state)]), at: lease.at };
  }
  if (lease.kind === 'rested') {
    return { ...say('calm', `Nobody has touched this page since ${clock(lease.since, now)}, so others may edit the movie now. Your work is saved.`,
      [['go-on', 'Go on editing']]), at: lease.since };
  }
  if (state.failures > 1) {
    const kept = unsavedFrames(state).length ? 'Your edits are kept; trying again.' : 'Trying again.';
    if (lease.kind === 'held' && lease.expiresAt - now < NEAR_ITS_END) {
      return say('warn', `The server has not been reached for a while. From ${clock(lease.expiresAt, now)} on others may edit this movie. ${kept}`);
    }
    return say('warn', `Connection is slow. ${kept}`);
  }
  if (isWaiting(state)) {
    return say('busy', metadata.status === 'uploading'
      ? 'The file of this movie has not arrived yet.'
      : 'The movie is being checked. It becomes editable here in a moment.');
  }
  if (isTracing(state)) {
    const who = metadata.tracking_lock?.started_by_user_name;
    if (!who || state.lease.kind === 'handed' || who === state.me?.user_name) return null; // the trace itself says enough
    return say('busy', `${who} started a trace at ${clock(metadata.tracking_lock.acquired_at, now)}. It becomes editable here when it has ended.`);
  }
  if (metadata.status === 'tracing failed') {
    return say(wasCancelled(metadata) ? 'calm' : 'error', metadata.tracing_failure_summary ?? 'The trace ended early. Trace the movie again.');
  }
  if (lease.kind === 'denied') return { ...deniedBanner(state, lease, now, say), at: lease.since };
  const offer = trimOffer(state);
  if (offer) return say('warn', offer.text, [['trim-to-scene', offer.label], ['keep-all', 'Keep all frames']]);
  return null;
}

/** What stands here alone, after another sentence. @param {State} state */
function keptWords(state) {
  const unsaved = unsavedFrames(state);
  return unsaved.length ? ` Your changes to ${unsaved.length === 1 ? 'frame' : 'frames'} ${unsaved.join(', ')} are kept here, not saved yet.` : '';
}

/** @param {State} state @returns {[string, string][]} */
const discardOffer = (state) => (unsavedFrames(state).length ? [['discard', 'Discard my changes']] : []);

/**
 * A movie with a cut or a black end, and the trim that leaves the plant alone; null once that is set, or refused.
 * @param {State} state @returns {{start: number, end: number, text: string, label: string} | null}
 */
export function trimOffer(state) {
  const { trim_start, trim_end } = state.metadata?.inspection ?? {};
  if (typeof trim_start !== 'number' || typeof trim_end !== 'number' || state.allKept || !canEdit(state)) return null;
  const [start, end] = [Math.max(trim_start, trimStart(state)), Math.min(trim_end, trimEnd(state))];
  const [early, late] = [start > trimStart(state), end < trimEnd(state)];
  if (start > end || !(early || late)) return null;
  const text = early && late
    ? `Before frame ${start} and after frame ${end} the movie shows something else.`
    : early ? `The movie begins with another scene, up to frame ${start - 1}.` : `The picture changes at frame ${end + 1}; what follows is another scene or black.`;
  const label = early && late ? `Trim to frames ${start} to ${end}` : early ? `Start at frame ${start}` : `Trim to frame ${end}`;
  return { start, end, text: `${text} Markers cannot be followed there; frames outside the trim count in no result.`, label };
}

/** @param {State} state @param {Extract<State['lease'], {kind: 'denied'}>} lease @param {number} now @param {(tone: Banner['tone'], text: string, actions?: [string, string][]) => Banner} say */
function deniedBanner(state, lease, now, say) {
  const since = lease.since ? ` since ${clock(lease.since, now)}` : '';
  switch (lease.reason) {
    case 'own':
      return say('warn', 'You are editing this movie in another tab or on another computer.', [['continue-here', 'Continue here']]);
    case 'other':
      return say('calm', `${lease.name || 'Someone else'} has been editing this movie${since}. You can watch and download. It becomes editable here when they leave.`,
        mayTakeOver(state) ? [['take-over', 'Take over editing']] : []);
    case 'right':
      return say(unsavedFrames(state).length ? 'warn' : 'calm',
        `${lease.message || 'You can watch this movie and download its results. Only its owner and the course admins can edit it.'}${keptWords(state)}`,
        discardOffer(state));
    default:
      return say('calm', lease.message || 'This movie cannot be edited just now.');
  }
}

/** What is true of this page's edits. @param {State} state @returns {{word: string, tone: 'calm' | 'busy' | 'warn'} | null} */
export function savingWord(state) {
  if (state.saving !== null) return { word: 'saving', tone: 'busy' };
  if (state.saveProblem) return { word: 'kept here, not saved', tone: 'warn' };
  if (unsavedFrames(state).length) return { word: 'kept here, not saved yet', tone: 'warn' };
  return state.savedAt ? { word: 'saved', tone: 'calm' } : null;
}

/** Do the results no longer follow the markers? @param {State} state */
export const isOutOfDate = (state) => Boolean(state.metadata?.needs_retracing) && hasResults(state);

/** What to do before the first trace, and on the first frame after it, from where nothing can be retraced; or nothing. @param {State} state */
export function traceHint(state) {
  const { size } = state;
  if (isOutOfDate(state)) return 'Markers were moved after the last trace. Trace again, so that the results follow them.';
  if (!size || state.lease.kind !== 'held') return '';
  const [home] = markersAt(state, trimStart(state)).filter((marker) => rulerMillimetres(marker.label) === null && isOnItsDefault(marker, size));
  if (hasResults(state)) {
    if (home) return `${home.label} was never placed: these results are of the spot where a new movie carries it. Drag it onto the tip of the plant and trace again.`;
    return state.frame <= trimStart(state) ? 'Does a marker go astray? Go to the frame where it does, move it there, and retrace from that frame.' : '';
  }
  return home ? `${home.label} is still where a new movie carries it. Drag it onto the tip of the plant first.` : '';
}

/** How pixels become millimetres, or what to do about it. @param {State} state @returns {{text: string, tone: 'calm' | 'warn', pxPerMm: number | null}} */
export function calibrationWords(state) {
  const scale = state.size ? pixelsPerMillimetre(markersAt(state, trimStart(state)), state.size) : null;
  if (scale === null) {
    return { text: 'Results are in pixels. Drag Ruler 0mm and Ruler 10mm onto your ruler to get millimetres.', tone: 'calm', pxPerMm: null };
  }
  if (!isPlausibleScale(scale)) {
    return { text: `1 mm would be ${tidy(scale)} px; are the ruler markers on the right marks?`, tone: 'warn', pxPerMm: scale };
  }
  return { text: `1 mm = ${tidy(scale)} px`, tone: 'calm', pxPerMm: scale };
}

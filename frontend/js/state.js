// @ts-check
/**
 * All that the Analyze page knows, and every way it can change. Pure: the same state and action give the same state.
 *
 * Two layers of markers: `frames` is what the server is known to hold, `edits` what this page has changed and the
 * server has not yet confirmed. An edit leaves the second layer only when its own revision was saved, so a marker
 * that moves while a save is under way stays unsaved.
 *
 * @typedef {import('./geometry.js').Marker} Marker
 * @typedef {import('./geometry.js').Size} Size
 * @typedef {{markers: Marker[], revision: number}} Edit
 * @typedef {{kind: 'frame', frame: number, before: Marker[], gesture: string}
 *   | {kind: 'rename', from: string, to: string}} Step
 * @typedef {{kind: 'none'} | {kind: 'held', id: string, expiresAt: number}
 *   | {kind: 'denied', reason: 'other' | 'own' | 'right' | 'tracing', name: string, since: number | null, message: string}
 *   | {kind: 'lost', at: number} | {kind: 'handed'} | {kind: 'rested', since: number}} Lease  `handed`: given up in
 *   exchange for a trace; `rested`: given back, since nobody had touched the page for long
 * @typedef {{kind: 'idle'} | {kind: 'asking', source: number, attempt: number}
 *   | {kind: 'refused', message: string}} Ask  the request for a trace, until it is answered
 * @typedef {{
 *   movieId: string, metadata: any | null, size: Size | null,
 *   frames: Record<number, Marker[]>, times: Record<number, number>, edits: Record<number, Edit>, revision: number,
 *   saving: number | null, saveProblem: string | null, savedAt: number | null,
 *   frame: number, selected: string | null, inHand: boolean, undo: Step[], redo: Step[],
 *   lease: Lease, ask: Ask, failures: number, loadedTo: number,
 *   progress: {first: number, at: number, frame: number} | null,
 *   results: any | null, fatal: string | null, me: any | null, allKept: boolean,
 * }} State
 * @typedef {{type: string} & Record<string, any>} Action
 *
 * `inHand`: a marker is being dragged. Until it is let go nothing is saved, and nothing on the page moves the frame.
 */
import { PALETTE, defaultMarkers } from './geometry.js';

export const MOST_MARKERS = 50;
const LONGEST_HISTORY = 200;

/** @param {string} movieId @returns {State} */
export function initialState(movieId) {
  return {
    movieId, metadata: null, size: null, frames: {}, times: {}, edits: {}, revision: 0,
    saving: null, saveProblem: null, savedAt: null, frame: 0, selected: null, inHand: false, undo: [], redo: [],
    lease: { kind: 'none' }, ask: { kind: 'idle' }, failures: 0, loadedTo: -1, progress: null,
    results: null, fatal: null, me: null, allKept: false,
  };
}

/* ---- what can be read from a state ---- */

/** @param {State} state */
export const totalFrames = (state) => Number(state.metadata?.total_frames ?? 0);
/** @param {State} state */
export const trimStart = (state) => Number(state.metadata?.trim_start_frame ?? 0);
/** @param {State} state */
export const trimEnd = (state) => Number(state.metadata?.trim_end_frame ?? Math.max(0, totalFrames(state) - 1));
/** A trace that runs, or that will go on by itself. @param {State} state */
export const isTracing = (state) =>
  state.metadata?.status === 'tracing' || (state.metadata?.status === 'tracing failed' && state.metadata?.resuming === true);
/** The upload is not through yet. @param {State} state */
export const isWaiting = (state) => ['uploading', 'processing'].includes(state.metadata?.status);
/** @param {State} state */
export const isUnusable = (state) => state.metadata?.status === 'unusable';
/** @param {State} state */
export const canEdit = (state) =>
  state.lease.kind === 'held' && state.size !== null && state.ask.kind !== 'asking' && !isTracing(state);
/** Frames whose edits the server has not confirmed, in order. @param {State} state @returns {number[]} */
export const unsavedFrames = (state) => Object.keys(state.edits).map(Number).sort((a, b) => a - b);

/** Nobody has placed markers on the first frame yet. @param {State} state */
export const isUntouched = (state) => !state.edits[trimStart(state)] && !state.frames[trimStart(state)];

/** Markers of a frame with this page's edits; an untouched movie has its defaults on the first frame. @param {State} state @param {number} frame @returns {Marker[]} */
export function markersAt(state, frame) {
  const known = state.edits[frame]?.markers ?? state.frames[frame];
  if (known) return known;
  return state.size && totalFrames(state) > 0 && frame === trimStart(state) ? defaultMarkers(state.size) : [];
}

/** Has a trace found anything: a frame beyond the first with a marker that no person placed there? @param {State} state */
export const hasResults = (state) => beyondFirst(state, (markers) => markers.some(({ placed }) => placed !== 'user'));

/** Did a person place this marker of the frame shown, which a trace could find by itself? @param {State} state @param {Marker} marker */
export const isByHand = (state, { placed }) => placed === 'user' && state.frame > trimStart(state) && hasResults(state);

/** Is there more than where the markers begin, be it found or placed? @param {State} state */
export const hasPositions = (state) => beyondFirst(state, (markers) => markers.length > 0);

/** @param {State} state @param {(markers: Marker[]) => boolean} is @returns {boolean} */
function beyondFirst(state, is) {
  const start = trimStart(state);
  const end = trimEnd(state);
  // Asked at every change: a traced movie answers at its second frame, and no list of ten thousand names is made.
  for (let frame = start + 1; frame <= end; frame += 1) if (state.frames[frame] && is(state.frames[frame])) return true;
  return false;
}

/** Only an admin may edit a movie that is somebody else's, and an admin may take editing over. @param {State} state */
export const mayTakeOver = (state) =>
  state.metadata?.can_take_over === true;

/** The first of the palette that no marker wears. @param {Marker[]} markers */
export const freeColor = (markers) =>
  PALETTE.find((color) => markers.every((marker) => marker.color?.toUpperCase() !== color)) ?? PALETTE[markers.length % PALETTE.length];

/* ---- how it changes ---- */

/** @param {State} state @param {Step} step @returns {Step[]} */
const remember = (state, step) => [...state.undo, step].slice(-LONGEST_HISTORY);

/** @param {State} state @param {number} frame @param {Marker[]} markers @returns {State} */
function withEdit(state, frame, markers) {
  const revision = state.revision + 1;
  return { ...state, revision, saveProblem: null, edits: { ...state.edits, [frame]: { markers, revision } } };
}

/**
 * Change the current frame's markers, so that it can be undone. Changes of one gesture (a drag, a held key) undo as one.
 * @param {State} state @param {Marker[]} markers @param {string} gesture
 */
function edited(state, markers, gesture) {
  if (!canEdit(state)) return state;
  const last = state.undo[state.undo.length - 1];
  const goesOn = gesture !== '' && last?.kind === 'frame' && last.gesture === gesture && last.frame === state.frame;
  const undo = goesOn
    ? state.undo
    : remember(state, { kind: 'frame', frame: state.frame, before: markersAt(state, state.frame), gesture });
  return { ...withEdit(state, state.frame, markers), undo, redo: [] };
}

/** @param {Record<number, any>} layer @param {(markers: Marker[]) => Marker[]} change @returns {Record<number, any>} */
const mapFrames = (layer, change) =>
  Object.fromEntries(
    Object.entries(layer).map(([frame, held]) => [
      frame,
      Array.isArray(held) ? change(held) : { ...held, markers: change(held.markers) },
    ]),
  );

/** @param {State} state @param {string} from @param {string} to @returns {State} */
function renamed(state, from, to) {
  /** @param {Marker[]} markers */
  const change = (markers) => markers.map((marker) => (marker.label === from ? { ...marker, label: to } : marker));
  // A rename of a movie that nobody touched makes its default markers this page's own.
  const base = isUntouched(state) ? withEdit(state, trimStart(state), markersAt(state, trimStart(state))) : state;
  return {
    ...base,
    frames: mapFrames(base.frames, change),
    edits: mapFrames(base.edits, change),
    selected: state.selected === from ? to : state.selected,
  };
}

/** @param {State} state @param {Step} step @returns {[State, Step]} the state before that step, and the way back */
function stepBack(state, step) {
  if (step.kind === 'rename') {
    return [renamed(state, step.to, step.from), { kind: 'rename', from: step.to, to: step.from }];
  }
  const back = { ...step, before: markersAt(state, step.frame), gesture: '' };
  return [{ ...withEdit(state, step.frame, step.before), frame: step.frame }, back];
}

/** Places in a picture that was turned mean nothing any more. @param {State} state @returns {State} */
const withoutEdits = (state) => ({ ...state, edits: {}, undo: [], redo: [], saveProblem: null });

/** @type {Record<string, (state: State, action: any) => State>} */
const CHANGES = {
  'movie/loaded': (state, { metadata, frames, times, replace, size, now }) => {
    const merged = frames ? (replace ? frames : { ...state.frames, ...frames }) : state.frames;
    const turned = state.metadata && (state.metadata.rotation ?? 0) !== (metadata.rotation ?? 0);
    const next = {
      ...(turned ? withoutEdits(state) : state), metadata, size: size ?? state.size, frames: merged, times: { ...state.times, ...times }, failures: 0, fatal: null,
    };
    if (!isTracing(next)) return { ...next, progress: null, frame: clampFrame(next, state.metadata ? state.frame : trimStart(next)) };
    const reached = Number(metadata.tracking_lock?.last_frame_tracked ?? metadata.last_frame_tracked ?? 0);
    const progress =
      state.progress && reached >= state.progress.first ? { ...state.progress, frame: reached } : { first: reached, at: now, frame: reached };
    return { ...next, progress, lease: state.lease.kind === 'held' ? { kind: 'handed' } : state.lease };
  },
  'movie/read-to': (state, { frame }) => ({ ...state, loadedTo: frame }),
  'movie/turned': (state, { metadata }) => ({
    ...withoutEdits(state), metadata: { ...state.metadata, ...metadata, status: 'processing' },
    frames: {}, times: {}, results: null, selected: null, lease: { kind: 'handed' },
  }),
  'movie/sized': (state, { size }) => (state.size ? state : { ...state, size }),
  'movie/changed': (state, { metadata }) => ({ ...state, metadata: { ...state.metadata, ...metadata } }),
  'movie/failed': (state, { message }) => ({ ...state, fatal: message }),
  'session/opened': (state, { user }) => ({ ...state, me: user }),
  'trim/refused': (state) => ({ ...state, allKept: true }),
  'results/loaded': (state, { results }) => ({ ...state, results }),
  'connection/failed': (state, { failures }) => ({ ...state, failures }),
  'connection/restored': (state) => (state.failures === 0 ? state : { ...state, failures: 0 }),

  'frame/shown': (state, { frame }) => ({ ...state, frame: clampFrame(state, frame) }),
  'marker/selected': (state, { label }) => ({ ...state, selected: label }),
  'marker/taken': (state) => ({ ...state, inHand: true }),
  'marker/let-go': (state) => ({ ...state, inHand: false }),
  'marker/moved': (state, { label, x, y, gesture = '' }) =>
    edited(
      { ...state, selected: label },
      markersAt(state, state.frame).map((marker) =>
        marker.label === label ? { ...marker, x, y, status: 1, err: 0, placed: 'user' } : marker,
      ),
      gesture,
    ),
  'marker/added': (state, { label, x, y }) => {
    const markers = markersAt(state, state.frame);
    if (markers.length >= MOST_MARKERS || markers.some((marker) => marker.label === label)) return state;
    const marker = { label, x, y, color: freeColor(markers), status: 1, placed: 'user' };
    return edited({ ...state, selected: label }, [...markers, marker], '');
  },
  'marker/deleted': (state, { label }) =>
    edited(
      { ...state, selected: null },
      markersAt(state, state.frame).filter((marker) => marker.label !== label || (marker.undeletable && !isByHand(state, marker))),
      '',
    ),
  'marker/renamed': (state, { from, to }) =>
    canEdit(state) ? { ...renamed(state, from, to), undo: remember(state, { kind: 'rename', from, to }), redo: [] } : state,
  'markers/copied': (state, { source }) => edited(state, markersAt(state, source), ''),
  'markers/kept': (state) => // make sure that the source frame's markers are stored before they are traced
    isUntouched(state) && state.size ? withEdit(state, trimStart(state), markersAt(state, trimStart(state))) : state,
  'edits/restored': (state, { edits }) =>
    Object.entries(edits).reduce((so_far, [frame, edit]) => withEdit(so_far, Number(frame), edit.markers), state),
  'edits/discarded': (state) => ({ ...withoutEdits(state), saving: null }),
  undone: (state) => {
    const step = state.undo[state.undo.length - 1];
    if (!step || !canEdit(state)) return state;
    const [next, back] = stepBack(state, step);
    return { ...next, undo: state.undo.slice(0, -1), redo: [...state.redo, back] };
  },
  redone: (state) => {
    const step = state.redo[state.redo.length - 1];
    if (!step || !canEdit(state)) return state;
    const [next, back] = stepBack(state, step);
    return { ...next, redo: state.redo.slice(0, -1), undo: [...state.undo, back] };
  },

  'save/started': (state, { frame }) => ({ ...state, saving: frame, saveProblem: null }),
  'save/done': (state, { frame, revision, markers, now }) => {
    const edits = { ...state.edits };
    if (edits[frame]?.revision === revision) delete edits[frame];
    const metadata = hasResults(state) ? { ...state.metadata, needs_retracing: 1 } : state.metadata;
    return { ...state, metadata, edits, frames: { ...state.frames, [frame]: markers }, saving: null, savedAt: now, failures: 0 };
  },
  'save/failed': (state, { message }) => ({ ...state, saving: null, saveProblem: message }),

  'lease/held': (state, { id, expiresAt }) => ({
    ...state, lease: { kind: 'held', id, expiresAt }, ask: { kind: 'idle' }, saveProblem: null, failures: 0,
  }),
  'lease/renewed': (state, { expiresAt }) =>
    state.lease.kind === 'held' ? { ...state, lease: { ...state.lease, expiresAt }, failures: 0 } : state,
  'lease/denied': (state, { reason, name, since, message }) => ({
    ...state, lease: { kind: 'denied', reason, name, since, message }, failures: 0,
  }),
  'lease/dropped': (state) => ({ ...state, lease: { kind: 'none' } }),
  'lease/rested': (state, { since }) => ({ ...state, lease: { kind: 'rested', since }, ask: { kind: 'idle' } }),
  'lease/lost': (state, { at }) => ({ ...state, lease: { kind: 'lost', at }, saving: null, ask: { kind: 'idle' } }),

  'trace/asked': (state, { source, attempt }) => ({ ...state, ask: { kind: 'asking', source, attempt } }),
  'trace/refused': (state, { message }) => ({ ...state, ask: { kind: 'refused', message } }),
  'trace/accepted': (state, { source, now }) => ({
    ...state,
    ask: { kind: 'idle' }, lease: { kind: 'handed' }, undo: [], redo: [], results: null, loadedTo: source,
    frames: Object.fromEntries(Object.entries(state.frames).filter(([frame]) => Number(frame) <= source)),
    metadata: { ...state.metadata, status: 'tracing', tracing_failure_summary: undefined, needs_retracing: 0 },
    progress: { first: source, at: now, frame: source },
  }),
};

/** @param {State} state @param {number} frame */
function clampFrame(state, frame) {
  return Math.min(Math.max(Math.round(frame) || 0, 0), Math.max(0, totalFrames(state) - 1));
}

/** @param {State} state @param {Action} action @returns {State} */
export function reduce(state, action) {
  const change = CHANGES[action.type];
  if (!change) throw new Error(`No such change: ${action.type}`);
  return change(state, action);
}

/**
 * A state that changes, and those who want to know.
 * @param {State} state
 */
export function createStore(state) {
  /** @type {Set<(state: State, before: State) => void>} */
  const listeners = new Set();
  return {
    get state() {
      return state;
    },
    /** @param {Action} action */
    dispatch(action) {
      const before = state;
      state = reduce(before, action);
      if (state !== before) for (const listener of listeners) listener(state, before);
    },
    /** @param {(state: State, before: State) => void} listener */
    subscribe(listener) {
      listeners.add(listener);
    },
  };
}
/** @typedef {ReturnType<typeof createStore>} Store */

// @ts-check
/**
 * One file on its way: summed, announced, sent, inspected. It knows nothing of the page.
 *
 * A transfer is one intent with one request key, however often a step is tried: the server gives the same movie and a
 * fresh form each time, so that a broken connection costs the bytes and never makes a second movie.
 *
 * @typedef {'waiting' | 'hash' | 'send' | 'check' | 'ready' | 'failed' | 'stopped'} Stage
 * @typedef {{title: string, description?: string, research_use: number, credit_by_name: number,
 *   attribution_name?: string, fpm?: number}} Details
 */
import * as api from './api.js';
import { freshKey } from './dom.js';
import { Poller, repeated } from './poll.js';
import { Problem, asProblem } from './problem.js';
import { Rate } from './rate.js';

const TRIES = 4;
const UNREADABLE = 'This file cannot be read. Is it still where it was? Choose it again.';

/** Is the file where it was when it was chosen? @param {Blob} file */
const readable = (file) => file.slice(0, 1).arrayBuffer().then(() => true, () => false);

/** @param {File} chosen @param {AbortSignal} signal @returns {Promise<string>} */
function sha256(chosen, signal) {
  const worker = new Worker(new URL('./hasher.js', import.meta.url), { type: 'module' });
  return new Promise((resolve, reject) => {
    const unreadable = () => reject(new Problem({ kind: 'invalid', message: UNREADABLE }));
    worker.onmessage = ({ data }) => (data.hex ? resolve(data.hex) : unreadable());
    worker.onerror = unreadable;
    signal.addEventListener('abort', () => reject(new DOMException('Stopped', 'AbortError')));
    worker.postMessage(chosen);
  }).finally(() => worker.terminate());
}

export class Transfer {
  /** @type {Stage} */
  stage = 'waiting';
  /** Bytes sent. */
  sent = 0;
  rate = new Rate();
  /** @type {import('./problem.js').Problem | null} why it failed, or why it is being tried again */
  problem = null;
  /** @type {string | null} */
  movieId = null;
  /** @type {any} the movie as the server last told it */
  metadata = null;
  #requestKey = freshKey();
  #stop = new AbortController();
  /** @type {string | null} */
  #digest = null;
  /** @type {Poller | null} */
  #watcher = null;

  /** @param {{file: File, details: Details, onChange: (transfer: Transfer) => void}} options */
  constructor({ file, details, onChange }) {
    this.file = file;
    this.details = details;
    this.onChange = onChange;
  }

  /** Still at work, or about to be. */
  get busy() {
    return this.stoppable || this.stage === 'check';
  }

  /** The file is not with the server yet, so giving up leaves nothing there. */
  get stoppable() {
    return ['waiting', 'hash', 'send'].includes(this.stage);
  }

  /** Until the file is with the server; its inspection goes on by itself. Never rejects: what goes wrong is told. */
  async run() {
    if (this.stage === 'stopped') return;
    this.#stop = new AbortController();
    try {
      this.#enter('hash');
      this.#digest ??= await sha256(this.file, this.#stop.signal);
      this.#enter('send');
      // Each try announces again under the same key: a form of an earlier try may have run out.
      await repeated(() => this.#send(), TRIES);
      this.#enter('check');
      await repeated(() => api.processUpload(/** @type {string} */ (this.movieId)), TRIES);
      this.watch();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Give up; what was sent is forgotten by the server after a while. */
  stop() {
    if (!this.stoppable) return;
    this.#stop.abort();
    this.#enter('stopped');
  }

  /** Look on while the movie is inspected. */
  watch() {
    this.#enter('check');
    this.#watcher = new Poller({
      task: () => this.#look(),
      interval: () => (document.hidden ? 10 : 1),
      onProblem: (problem) => (problem.retryable ? this.#tell(problem) : this.#fail(problem)),
    });
    void this.#watcher.poke();
  }

  async #send() {
    if (this.#stop.signal.aborted) throw new DOMException('Stopped', 'AbortError');
    try {
      const { movie_id, presigned_post } = await api.newMovie({
        ...this.details,
        movie_data_sha256: this.#digest,
        movie_data_length: this.file.size,
        request_key: this.#requestKey,
      });
      this.movieId = movie_id;
      await api.uploadFile(presigned_post, this.file, (part) => {
        this.sent = part * this.file.size;
        this.rate.note(performance.now() / 1000, this.sent);
        this.#tell(null);
      }, this.#stop.signal);
    } catch (thrown) {
      const problem = asProblem(thrown);
      // A browser tells of a file that has gone as of a connection that broke.
      if (problem.code === 'unreachable' && !(await readable(this.file))) throw new Problem({ kind: 'invalid', message: UNREADABLE });
      if (problem.retryable) this.#tell(problem);
      throw thrown;
    }
  }

  async #look() {
    const { metadata } = await api.movieMetadata(/** @type {string} */ (this.movieId));
    this.metadata = metadata;
    if (metadata.status === 'uploading' || metadata.status === 'processing') return this.#tell(null);
    this.#watcher?.stop();
    if (metadata.status === 'unusable') {
      // The file itself was refused: sending the same bytes again cannot help.
      return this.#fail(new Problem({ kind: 'invalid', message: metadata.status_reason ?? 'This file cannot be used.' }));
    }
    return this.#enter('ready');
  }

  /** @param {unknown} thrown */
  #fail(thrown) {
    if (this.stage === 'stopped' || (thrown instanceof DOMException && thrown.name === 'AbortError')) return;
    this.#watcher?.stop();
    this.#enter('failed', asProblem(thrown));
  }

  /** @param {Stage} stage @param {import('./problem.js').Problem | null} [problem] */
  #enter(stage, problem = null) {
    this.stage = stage;
    this.#tell(problem);
  }

  /** @param {import('./problem.js').Problem | null} problem */
  #tell(problem) {
    this.problem = problem;
    this.onChange(this);
  }
}

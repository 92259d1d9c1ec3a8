// @ts-check
/**
 * Asking again and again without harm: at most one request in flight, exponential back-off with jitter, Retry-After
 * honoured, and silence as soon as there is nothing to wait for.
 */
import { asProblem } from './problem.js';

export const LONGEST_BACKOFF = 60;

/**
 * Seconds before try number `failures` + 1: 1, 2, 4 ... 60, of which a random half is taken off, so that thirty
 * pages which failed together do not come back together.
 * @param {number} failures 1 or more @param {number} random 0 to 1
 */
export function backoff(failures, random) {
  return Math.min(LONGEST_BACKOFF, 2 ** (failures - 1)) * (1 - random / 2);
}

/**
 * Send one wish until it is answered, at most `tries` times. Only for a request that carries its own request key: the
 * answer may be what was lost.
 * @template T @param {() => Promise<T>} send @param {number} [tries] @param {(seconds: number) => Promise<void>} [rest]
 * @returns {Promise<T>}
 */
export async function repeated(send, tries = 3, rest = (seconds) => new Promise((wake) => setTimeout(wake, seconds * 1000))) {
  for (let failures = 1; ; failures += 1) {
    try {
      return await send();
    } catch (thrown) {
      const problem = asProblem(thrown);
      const givenUp = thrown instanceof DOMException && thrown.name === 'AbortError';
      if (givenUp || !problem.retryable || failures >= tries) throw thrown;
      await rest(Math.max(problem.retryAfter ?? 0, backoff(failures, Math.random())));
    }
  }
}

export class Poller {
  #timer = 0;
  #inFlight = false;
  #again = false;
  #stopped = true;
  #failures = 0;

  /**
   * @param {{
   *   task: () => Promise<void>,
   *   interval: () => number | null,
   *   onProblem?: (problem: import('./problem.js').Problem, failures: number) => void,
   *   setTimer?: (run: () => void, milliseconds: number) => any,
   *   clearTimer?: (timer: any) => void,
   *   random?: () => number,
   * }} options `interval` is asked after every run: seconds until the next, or null to rest until poked
   */
  constructor({ task, interval, onProblem = () => {}, setTimer, clearTimer, random = Math.random }) {
    this.task = task;
    this.interval = interval;
    this.onProblem = onProblem;
    this.setTimer = setTimer ?? ((run, ms) => setTimeout(run, ms));
    this.clearTimer = clearTimer ?? ((timer) => clearTimeout(timer));
    this.random = random;
  }

  /** Begin, with the first run after one interval. */
  start() {
    this.#stopped = false;
    this.#schedule(this.interval());
  }

  /** Run now, or right after the run in flight. @returns {Promise<void>} settled when that run has ended */
  async poke() {
    this.#stopped = false;
    if (this.#inFlight) {
      this.#again = true;
      return;
    }
    this.clearTimer(this.#timer);
    await this.#run();
  }

  /** Ask `interval` again, because what it depends on has changed. */
  reschedule() {
    if (this.#stopped || this.#inFlight || this.#failures > 0) return;
    this.#schedule(this.interval());
  }

  stop() {
    this.#stopped = true;
    this.#again = false;
    this.clearTimer(this.#timer);
  }

  async #run() {
    this.#inFlight = true;
    let wait = null;
    try {
      await this.task();
      this.#failures = 0;
    } catch (thrown) {
      const problem = asProblem(thrown);
      this.#failures += 1;
      // A refusal will be the same in a second: only what may pass by itself is asked again.
      wait = problem.retryable ? Math.max(problem.retryAfter ?? 0, backoff(this.#failures, this.random())) : null;
      if (!problem.retryable) this.#failures = 0;
      this.onProblem(problem, this.#failures);
    } finally {
      this.#inFlight = false;
    }
    if (this.#stopped) return;
    if (this.#again) {
      this.#again = false;
      await this.#run();
      return;
    }
    this.#schedule(wait ?? this.interval());
  }

  /** @param {number | null} seconds */
  #schedule(seconds) {
    this.clearTimer(this.#timer);
    if (seconds !== null && !this.#stopped) this.#timer = this.setTimer(() => void this.#run(), seconds * 1000);
  }
}

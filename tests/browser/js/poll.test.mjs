import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pulse } from '../../../frontend/js/lease.js';
import { LONGEST_BACKOFF, Poller, backoff, repeated } from '../../../frontend/js/poll.js';
import { Problem } from '../../../frontend/js/problem.js';

/** A poller whose clock is the test: `waits` are the milliseconds it asked for, `fire` ends the last wait. */
function bench(task, interval = () => 1, random = () => 0) {
  const waits = [];
  const problems = [];
  let due = null;
  const poller = new Poller({
    task,
    interval,
    random,
    onProblem: (problem, failures) => problems.push([problem.kind, failures]),
    setTimer: (run, ms) => { waits.push(ms); due = run; return waits.length; },
    clearTimer: () => { due = null; },
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { poller, waits, problems, fire: async () => { const run = due; due = null; run(); await settle(); }, pending: () => due !== null };
}

test('back-off doubles, is capped, and jitter takes off at most half', () => {
  assert.deepEqual([1, 2, 3, 4].map((n) => backoff(n, 0)), [1, 2, 4, 8]);
  assert.equal(backoff(40, 0), LONGEST_BACKOFF);
  assert.equal(backoff(3, 1), 2);
});

test('the interval is asked after every run', async () => {
  let interval = 1;
  const b = bench(async () => {}, () => interval);
  await b.poller.poke();
  interval = 10;
  await b.fire();
  assert.deepEqual(b.waits, [1000, 10_000]);
});

test('with nothing to wait for it rests until it is poked', async () => {
  let runs = 0;
  const b = bench(async () => { runs += 1; }, () => null);
  await b.poller.poke();
  assert.equal(b.pending(), false);
  await b.poller.poke();
  assert.equal(runs, 2);
});

test('failures back off and a success ends that', async () => {
  let broken = true;
  const b = bench(async () => { if (broken) throw new Problem({ kind: 'unreachable' }); });
  await b.poller.poke();
  await b.fire();
  await b.fire();
  broken = false;
  await b.fire();
  assert.deepEqual(b.waits, [1000, 2000, 4000, 1000]);
  assert.deepEqual(b.problems, [['unreachable', 1], ['unreachable', 2], ['unreachable', 3]]);
});

test('Retry-After is a floor under the back-off', async () => {
  const b = bench(async () => { throw new Problem({ kind: 'unreachable', retryAfter: 17 }); });
  await b.poller.poke();
  assert.deepEqual(b.waits, [17_000]);
});

test('at most one request is in flight, and a poke meanwhile is not forgotten', async () => {
  let inFlight = 0;
  let most = 0;
  let runs = 0;
  const ends = [];
  const b = bench(async () => {
    inFlight += 1;
    runs += 1;
    most = Math.max(most, inFlight);
    await new Promise((resolve) => ends.push(resolve));
    inFlight -= 1;
  });
  const first = b.poller.poke();
  await b.poller.poke();
  await b.poller.poke();
  ends.shift()();
  await new Promise((resolve) => setImmediate(resolve));
  ends.shift()();
  await first;
  assert.deepEqual([runs, most], [2, 1]);
});

test('a stopped poller asks no more, even if it is stopped in mid-run', async () => {
  const b = bench(async () => b.poller.stop());
  await b.poller.poke();
  assert.equal(b.pending(), false);
});

test('a heartbeat comes after a third of the lease, at most a minute (C25)', () => {
  assert.equal(pulse(900, 0), 60);
  assert.equal(pulse(30, 0), 10);
  assert.equal(pulse(0, 100), 2);
});

test('one wish is sent again after a lost answer, a few times, and never after a refusal', async () => {
  const lost = new Problem({ kind: 'unreachable', message: 'No answer.' });
  const refused = new Problem({ kind: 'conflict', message: 'No.', status: 409 });
  const rests = [];
  const rest = async (seconds) => void rests.push(seconds);
  const outcomes = (...list) => async () => {
    const next = list.shift();
    if (next instanceof Problem) throw next;
    return next;
  };
  assert.equal(await repeated(outcomes(lost, 'done'), 3, rest), 'done');
  assert.equal(rests.length, 1);
  await assert.rejects(repeated(outcomes(refused, 'done'), 3, rest), (thrown) => thrown === refused);
  await assert.rejects(repeated(outcomes(lost, lost, lost, 'done'), 3, rest), (thrown) => thrown === lost);
  assert.equal(rests.length, 3);
});

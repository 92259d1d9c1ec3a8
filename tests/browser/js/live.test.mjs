import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayWord, spanOf } from '../../../frontend/js/days.js';
import { chosen, overseen } from '../../../frontend/js/courses.js';
import { atWork, sentenceOf, shares } from '../../../frontend/js/live.js';

const lock = (more) => ({ active: true, acquired_at: 100, started_by_user_name: 'Ada', ...more });
const movie = (more) => ({ movie_id: 'm', title: 'Bean', deleted: false, ...more });

test('only movies that somebody has are at work, the latest first', () => {
  const found = atWork([
    movie({ movie_id: 'idle' }),
    movie({ movie_id: 'edited', analysis_lock: lock({ acquired_at: 50 }) }),
    movie({ movie_id: 'gone', deleted: true, analysis_lock: lock() }),
    movie({ movie_id: 'traced', tracking_lock: lock({ kind: 'trace', state: 'running', frame_start: 20, frame_end: 120, last_frame_tracked: 45 }) }),
  ]);
  assert.deepEqual(found.map(({ movieId, doing, part, frames }) => [movieId, doing, part, frames]), [
    ['traced', 'tracing', 0.25, 'frame 45 of 120'],
    ['edited', 'editing', null, ''],
  ]);
});

test('each kind of work is told in words', () => {
  const said = (more) => sentenceOf(atWork([movie(more)])[0]);
  assert.equal(said({ analysis_lock: lock() }), 'Ada is editing');
  assert.equal(said({ analysis_lock: lock({ own_user: true }) }), 'You are editing');
  assert.equal(said({ tracking_lock: lock({ kind: 'trace', state: 'queued' }) }), 'Waiting for a worker, for Ada');
  assert.equal(said({ tracking_lock: lock({ kind: 'inspect', state: 'running' }) }), 'Being checked, for Ada');
  assert.equal(said({ tracking_lock: lock({ kind: 'trace', state: 'running', backward_frame: 3 }) }), 'Tracing for Ada');
});

test('progress stays between nothing and everything', () => {
  const part = (more) => atWork([movie({ tracking_lock: lock({ kind: 'trace', state: 'running', ...more }) })])[0].part;
  assert.equal(part({ frame_start: 50, frame_end: 60, last_frame_tracked: 0 }), 0);
  assert.equal(part({ frame_start: 50, frame_end: 60, last_frame_tracked: 99 }), 1);
  assert.equal(part({ frame_start: 5, frame_end: 5, last_frame_tracked: 5 }), null);
  assert.equal(part({ total_frames: 101, last_frame_tracked: 50 }), 0.5);
});

test('each person\'s movies are counted with the day of the last work', () => {
  const found = shares([
    movie({ user_id: 'a', created_at: 5 }), movie({ user_id: 'a', created_at: 1, last_activity_at: 9 }), movie({ user_id: 'b', deleted: true }),
  ]);
  assert.deepEqual([...found], [['a', { movies: 2, last: 9 }]]);
});

test('days are called as people call them', () => {
  const at = (...parts) => new Date(...parts).getTime() / 1000;
  const now = at(2026, 10, 30, 9);
  assert.equal(dayWord(at(2026, 10, 30, 0), now), 'Today');
  assert.equal(dayWord(at(2026, 10, 29, 23, 59), now), 'Yesterday');
  assert.match(dayWord(at(2026, 10, 28), now), /28/);
  assert.doesNotMatch(dayWord(at(2026, 10, 28), now), /2026/);
  assert.match(dayWord(at(2025, 10, 30), now), /2025/);
});

test('a span of days holds all of both its days', () => {
  const midnight = (day) => new Date(2026, 10, day).getTime() / 1000;
  assert.deepEqual(spanOf('2026-11-29', '2026-11-30'), { start_time: midnight(29), end_time: midnight(31) - 1 });
  assert.deepEqual(spanOf('', '2026-11-30'), { end_time: midnight(31) - 1 });
  assert.deepEqual(spanOf('nonsense', ''), {});
});

test('a page is about the course of its address, else the person\'s own, else the first', () => {
  const courses = [{ course_id: 'a', course_admin: false }, { course_id: 'b', course_admin: true }, { course_id: 'c', course_admin: true }];
  assert.equal(chosen(courses, ['c', 'b'])?.course_id, 'c');
  assert.equal(chosen(courses, ['gone', 'b'])?.course_id, 'b');
  assert.equal(chosen(courses, [null])?.course_id, 'a');
  assert.equal(chosen([], ['a']), null);
  assert.deepEqual(overseen({ roles: [] }, courses).map((course) => course.course_id), ['b', 'c']);
  assert.equal(overseen({ roles: ['superauditor'] }, courses).length, 3);
});

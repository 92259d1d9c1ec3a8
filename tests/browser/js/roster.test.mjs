import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asTyped, outcomeOf, readRoster, textOf } from '../../../frontend/js/roster.js';

const people = (text) => readRoster(text).map(({ name, email, problem }) => (problem ? `! ${problem}` : `${name}|${email}`));

test('lists are understood as mail programs, spreadsheets and people write them', () => {
  for (const [text, found] of [
    ['Ada Green <ada@school.test>', ['Ada Green|ada@school.test']],
    ['"Green, Ada" <ada@school.test>', ['Green, Ada|ada@school.test']],
    ['Green, Ada <ada@school.test>', ['Ada Green|ada@school.test']],
    ['ada@school.test', ['|ada@school.test']],
    ['Ada Green ada@school.test', ['Ada Green|ada@school.test']],
    ['Ada Green,ada@school.test', ['Ada Green|ada@school.test']],
    ['ada@school.test;Ada Green', ['Ada Green|ada@school.test']],
    ['7b;Ada;Green;12;ada@school.test', ['Ada Green|ada@school.test']],
    ['Ada\tGreen\tada@school.test\n\nBen\tMoss\tben@school.test', ['Ada Green|ada@school.test', 'Ben Moss|ben@school.test']],
    ['a@x.test, b@x.test; c@x.test', ['|a@x.test', '|b@x.test', '|c@x.test']],
    ['Ada <a@x.test>, Ben Moss <b@x.test>', ['Ada|a@x.test', 'Ben Moss|b@x.test']],
    ['"Ada ""Fern"" Green";ada@x.test', ['Ada Fern Green|ada@x.test']],
    ['\uFEFFŁukasz Zażółć;ł@szkoła.example', ['Łukasz Zażółć|ł@szkoła.example']],
  ]) assert.deepEqual(people(text), found, text);
});

test('a heading is left out and tells which name comes first', () => {
  assert.deepEqual(people('First name;Last name;E-mail\nAda;Green;ada@x.test'), ['Ada Green|ada@x.test']);
  assert.deepEqual(people('Nachname,Vorname,E-Mail\nGreen,Ada,ada@x.test'), ['Ada Green|ada@x.test']);
});

test('what is wrong with a line is said in words, with its number', () => {
  const found = readRoster('Ada <ada@x.test>\nBen Moss\n\nCy cy@school\nADA@x.test\nDi <di@@x.test>');
  assert.deepEqual(found.map(({ number, problem }) => [number, problem]), [
    [1, ''],
    [2, 'There is no e-mail address on this line.'],
    [4, '“cy@school” is not complete: what stands behind the @ has no dot.'],
    [5, 'This address stands on line 1 already.'],
    [6, '“di@@x.test” is not an e-mail address.'],
  ]);
});

test('odd lines never throw and never lose a line', () => {
  for (const text of ['<', '"', '<>', '"unclosed <a@x.test>', '<a@x.test', ',,;;', '@', 'a@', '"""', 'x'.repeat(500) + ' <a@x.test>', '\u0000 <a@x.test>']) {
    assert.equal(readRoster(text).length, 1, text);
  }
  assert.deepEqual(readRoster(' \n\t\n'), []);
});

test('a person is sent in the form that the server takes', () => {
  assert.equal(asTyped({ name: 'Ada Green', email: 'a@x.test' }), 'Ada Green <a@x.test>');
  assert.equal(asTyped({ name: '', email: 'a@x.test' }), 'a@x.test');
});

test('each outcome is told in words', () => {
  assert.deepEqual(outcomeOf({ outcome: 'registered', mailed: true }), { tone: 'calm', text: 'Registered; a sign-in link is on its way.' });
  assert.deepEqual(outcomeOf({ outcome: 'joined', mailed: false, message: 'No mail.' }), { tone: 'warn', text: 'Known already, now in this course, but without mail. No mail.' });
  assert.equal(outcomeOf({ outcome: 'member', mailed: false }).text, 'Was in this course already.');
  assert.deepEqual(outcomeOf({ outcome: 'refused', mailed: false, message: 'email: is not an e-mail address' }), { tone: 'error', text: 'This is not an e-mail address.' });
  assert.equal(outcomeOf({ outcome: 'refused', mailed: false, message: 'The course is full.' }).text, 'The course is full.');
});

test('files of older spreadsheets keep their letters', () => {
  const utf16 = new Uint8Array([0xff, 0xfe, 0xdf, 0, 0x40, 0]).buffer;
  assert.equal(textOf(new TextEncoder().encode('Großmann').buffer), 'Großmann');
  assert.equal(textOf(new Uint8Array([0x47, 0x72, 0x6f, 0xdf]).buffer), 'Groß');
  assert.equal(textOf(utf16), 'ß@');
});

test('a page pasted by mistake is read as quickly as any text: each character is looked at once or twice', () => {
  // With looking to the end of the line for each bracket this takes minutes, and the runner gives up.
  for (const sign of ['<', '<a', '"', '@', 'a.', ' <"@']) {
    const [entry] = readRoster(sign.repeat(200_000));
    assert.ok(entry.problem, sign);
  }
});

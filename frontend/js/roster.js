// @ts-check
/**
 * A list of people as teachers have it: pasted from a spreadsheet, a mail program or a CSV file. Pure.
 *
 * One person on each line, or several addresses with names before them. Names and addresses in any order, parted by
 * commas, semicolons or tabs; a heading is understood and left out.
 *
 * @typedef {{number: number, text: string, name: string, email: string, problem: string}} Entry
 *   one person; `number`: the line, from 1; `problem`: what is wrong, in words, or empty
 */

const LONGEST_NAME = 100; // as the server has it
const ADDRESS = /^[^\s<>()[\]\\,;:"@.]+(\.[^\s<>()[\]\\,;:"@.]+)*@[^\s<>()[\]\\,;:"@.]+(\.[^\s<>()[\]\\,;:"@.]+)+$/;
const FIRST_NAME = /first|given|vorname|prénom/i;
const LAST_NAME = /last|family|surname|nachname|^nom$/i;
const HEADING = /name|mail|student|first|last|^nom$|prénom/i;

/** @param {string} text @returns {Entry[]} */
export function readRoster(text) {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/).map((line, index) => ({ number: index + 1, text: line.trim() }));
  const filled = lines.filter((line) => line.text);
  const heading = filled.length > 1 && isHeading(filled[0].text) ? fieldsOf(filled[0].text) : null;
  const lastFirst = heading !== null && isLastNameFirst(heading);
  const entries = filled.slice(heading ? 1 : 0).flatMap((line) => entriesOf(line, lastFirst));
  /** @type {Map<string, number>} */
  const seen = new Map();
  for (const entry of entries) {
    if (entry.problem) continue;
    const same = entry.email.toLowerCase();
    const before = seen.get(same);
    if (before === undefined) seen.set(same, entry.number);
    else entry.problem = before === entry.number ? 'This address stands twice on this line.' : `This address stands on line ${before} already.`;
  }
  return entries;
}

/** A line as the server takes it. @param {Entry} entry */
export const asTyped = ({ name, email }) => (name ? `${name} <${email}>` : email);

/** @param {string} line */
const isHeading = (line) => !line.includes('@') && fieldsOf(line).some((field) => HEADING.test(field));

/** @param {string[]} heading */
function isLastNameFirst(heading) {
  const [first, last] = [FIRST_NAME, LAST_NAME].map((pattern) => heading.findIndex((field) => pattern.test(field)));
  return first >= 0 && last >= 0 && last < first;
}

/** What stands between commas, semicolons or tabs that are outside of quotes and angle brackets. @param {string} line */
function fieldsOf(line) {
  const found = line.match(/(?:"(?:[^"]|"")*"|<[^<>]*>|[^,;\t"<])+|["<]/g) ?? [];
  return found.map((field) => field.replaceAll(/"((?:[^"]|"")*)"/g, (_, inner) => inner.replaceAll('""', '"')).trim()).filter(Boolean);
}

/** @param {{number: number, text: string}} line @param {boolean} lastFirst @returns {Entry[]} */
function entriesOf(line, lastFirst) {
  /** @type {{names: string[], email: string}[]} */
  const people = [];
  /** @type {string[]} */
  let names = [];
  for (const field of fieldsOf(line.text)) {
    const { name, email } = partsOf(field);
    if (!email) names.push(field);
    else {
      // `Green, Ada <ada@...>`: the name in front of the bracket is what follows the family name
      people.push({ names: name ? [name, ...names] : ordered(names, lastFirst), email });
      names = [];
    }
  }
  if (!people.length) return [{ ...line, name: '', email: '', problem: 'There is no e-mail address on this line.' }];
  if (people.length === 1 && !people[0].names.length) people[0].names = ordered(names, lastFirst);
  return people.map(({ names: parts, email }) => {
    const name = parts.filter(isName).slice(0, 2).join(' ').replaceAll(/[<>"\p{Cc}]/gu, '').trim();
    return { ...line, name, email, problem: problemOf(name, email) };
  });
}

/** @param {string[]} names @param {boolean} lastFirst */
function ordered(names, lastFirst) {
  const real = names.filter(isName);
  return lastFirst && real.length > 1 ? [real[1], real[0]] : real;
}

/** Numbers of classes and seats are no names. @param {string} text */
const isName = (text) => /\p{L}/u.test(text) && !/\d/.test(text);

/** @param {string} field @returns {{name: string, email: string}} both empty where there is no address */
function partsOf(field) {
  const bracketed = /^([^<]*)<([^>]*)>?\s*$/.exec(field);
  if (bracketed) return { name: bracketed[1].trim(), email: bracketed[2].trim() };
  if (!field.includes('@')) return { name: '', email: '' };
  const words = field.replace(/^mailto:/i, '').split(/\s+/);
  const email = words.find((word) => word.includes('@')) ?? '';
  return { name: words.filter((word) => word !== email).join(' '), email: email.replace(/\.$/, '') };
}

/** @param {string} name @param {string} email */
function problemOf(name, email) {
  if (!email) return 'There is no e-mail address on this line.';
  if (!ADDRESS.test(email.normalize('NFKC')) || email.length > 254) {
    return /^[^@]+@[^@.]+$/.test(email) ? `“${email}” is not complete: what stands behind the @ has no dot.` : `“${email}” is not an e-mail address.`;
  }
  return name.length > LONGEST_NAME ? `The name has more than ${LONGEST_NAME} characters.` : '';
}

/**
 * What became of one line, in words.
 * @param {{outcome: string, mailed: boolean, message?: string | null, code?: string | null}} result
 * @returns {{tone: 'calm' | 'warn' | 'error', text: string}}
 */
export function outcomeOf({ outcome, mailed, message }) {
  const said = (message ?? '').replace(/^(?:email|name): (.*?)\.?$/, 'The line $1.').replace('The line is not', 'This is not');
  switch (outcome) {
    case 'registered':
    case 'joined': {
      const came = outcome === 'registered' ? 'Registered' : 'Known already, now in this course';
      return mailed ? { tone: 'calm', text: `${came}; a sign-in link is on its way.` } : { tone: 'warn', text: `${came}, but without mail. ${said}`.trim() };
    }
    case 'member': return { tone: 'calm', text: 'Was in this course already.' };
    case 'repeated': return { tone: 'calm', text: 'Stands further up already.' };
    default: return { tone: 'error', text: said || 'Could not be registered.' };
  }
}

/** A text file as spreadsheets write it: UTF-8, UTF-16 with its mark, or the older Western European table. @param {ArrayBuffer} bytes */
export function textOf(bytes) {
  const [first, second] = new Uint8Array(bytes);
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

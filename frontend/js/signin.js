// @ts-check
/**
 * The door: a good link becomes a session by one press of a button; whoever has none asks for one, or registers with a
 * course key. A teacher may share `signin#course_key=...`: what stands behind # reaches no server and no log.
 */
import { register, resendLink, signIn } from './api.js';
import { byId, setText, show } from './dom.js';
import { asProblem } from './problem.js';

/** Why the server sent a person back here. @type {Record<string, string>} */
const PROBLEMS = {
  bad_link: 'This sign-in link is not valid: it may be cut off, used already, or too old. Ask for a new one.',
  invalid_api_key: 'This account cannot sign in. Ask your teacher, or whoever runs this site.',
};
const DOORS = /** @type {const} */ (['enter', 'ask', 'register']);

const query = new URLSearchParams(location.search);
const shared = new URLSearchParams(location.hash.slice(1));
const token = query.get('token');

/** @param {string} sentence empty when nothing is wrong any more */
const complain = (sentence) => setText(byId('problem'), sentence);

/** Shows one of the forms, and what was said in none. @param {typeof DOORS[number]} name */
function open(name) {
  for (const door of DOORS) show(byId(door), door === name);
  for (const said of ['said', 'registered']) setText(byId(said), '');
}

/**
 * Sends a form once, however often its button is pressed. @param {string} name
 * @param {() => Promise<string>} send what to say when it went well @param {HTMLElement | null} said
 */
function submits(name, send, said) {
  const form = byId(name);
  const button = form.querySelector('[type=submit]');
  form.addEventListener('submit', async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (button.disabled || !form.reportValidity()) return;
    button.disabled = true;
    try {
      const sentence = await send();
      complain('');
      if (said) setText(said, sentence);
    } catch (thrown) {
      if (said) setText(said, '');
      complain(asProblem(thrown).message);
    } finally {
      button.disabled = false;
    }
  });
}

submits('enter', async () => {
  try {
    await signIn(token ?? '');
  } catch (thrown) {
    if (asProblem(thrown).code === 'bad_link') open('ask'); // pressing again would be no use
    throw thrown;
  }
  location.replace(new URL('./', document.baseURI));
  return '';
}, null);
submits('ask', async () => (await resendLink(byId('email').value.trim())).message, byId('said'));
submits('register', async () => {
  const fields = { course_key: byId('course-key').value.trim(), name: byId('name').value.trim(), email: byId('new-email').value.trim() };
  return (await register(fields)).message;
}, byId('registered'));

byId('to-register').addEventListener('click', () => {
  byId('new-email').value ||= byId('email').value;
  complain('');
  open('register');
  byId('course-key').focus();
});
byId('to-ask').addEventListener('click', () => {
  byId('email').value ||= byId('new-email').value;
  complain('');
  open('ask');
  byId('email').focus();
});

byId('token').value = token ?? '';
byId('course-key').value = shared.get('course_key') ?? '';
open(token !== null ? 'enter' : shared.has('course_key') || shared.has('register') ? 'register' : 'ask');
const problem = query.get('problem');
if (problem !== null) complain(PROBLEMS[problem] ?? 'Signing in did not work. Ask for a new link.');

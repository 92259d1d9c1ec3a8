// @ts-check
/** The door: a good link becomes a session by one press of a button; nobody without a link is told who exists. */
import { resendLink, signIn } from './api.js';
import { byId, setText, show } from './dom.js';
import { asProblem } from './problem.js';

const query = new URLSearchParams(location.search);
const token = query.get('token');
byId('token').value = token ?? '';
show(byId('enter'), token !== null);
show(byId('ask'), token === null);
if (query.has('problem')) setText(byId('said'), 'This sign-in link is not valid: it may be cut off, used already, or too old. Ask for a new one.');

byId('enter').addEventListener('submit', async (/** @type {Event} */ event) => {
  event.preventDefault();
  try {
    await signIn(token ?? '');
    location.replace(new URL('./', document.baseURI));
  } catch (thrown) {
    setText(byId('refusal'), asProblem(thrown).message);
    show(byId('ask'), true);
  }
});

byId('ask').addEventListener('submit', async (/** @type {Event} */ event) => {
  event.preventDefault();
  const email = byId('email');
  if (!email.checkValidity()) return email.reportValidity();
  try {
    await resendLink(email.value.trim());
    setText(byId('said'), 'If this address has an account, a link is on its way. It works once, for a short time.');
  } catch (thrown) {
    const problem = asProblem(thrown);
    setText(byId('said'), problem.kind === 'missing'
      ? 'This site sends no mail. Ask your teacher, or whoever runs it, for a sign-in link.'
      : problem.message);
  }
});

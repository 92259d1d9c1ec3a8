// @ts-check
/** Who is here: the header of every page, and the way to the sign-in page for those who are nobody yet. */
import { signOut, whoAmI } from './api.js';
import { byId, setText, show } from './dom.js';
import { asProblem } from './problem.js';

export const goToSignIn = () => location.replace(new URL('signin', document.baseURI));

/**
 * Fills the header. Nobody's page is left for the sign-in page.
 * @returns {Promise<any | null>} the user, or null if the server could not be asked
 */
export async function openSession() {
  byId('sign-out').addEventListener('click', async () => {
    await signOut().catch(() => {});
    goToSignIn();
  });
  try {
    const { user } = await whoAmI();
    setText(byId('user-name'), user.user_name || user.email);
    setText(byId('course-name'), user.course_name ?? '');
    show(byId('who'), true);
    return user;
  } catch (thrown) {
    if (asProblem(thrown).kind === 'signed-out') goToSignIn();
    return null;
  }
}

// @ts-check
/** Who is here, and the way to the sign-in page for those who are nobody yet. */
import { signOut, whoAmI } from './api.js';
import { byId } from './dom.js';
import { greet, openHead } from './head.js';
import { asProblem } from './problem.js';

export const goToSignIn = () => location.replace(new URL('signin', document.baseURI));

/**
 * Fills the head of the page. Nobody's page is left for the sign-in page.
 * @returns {Promise<any | null>} the user, or null if the server could not be asked
 */
export async function openSession() {
  openHead();
  byId('sign-out').addEventListener('click', async () => {
    await signOut().catch(() => {});
    goToSignIn();
  });
  try {
    const { user } = await whoAmI();
    greet(user);
    return user;
  } catch (thrown) {
    if (asProblem(thrown).kind === 'signed-out') goToSignIn();
    return null;
  }
}

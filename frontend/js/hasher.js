// @ts-check
/** A worker: the SHA-256 of a file, away from the page, so that the page stays quick. */

self.addEventListener('message', async (event) => {
  try {
    const digest = await crypto.subtle.digest('SHA-256', await event.data.arrayBuffer());
    const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    self.postMessage({ hex });
  } catch (thrown) {
    self.postMessage({ problem: String(thrown) });
  }
});

// @ts-check
/** The colours and letters of the charts: on the page those of its scheme, on paper those of paper. */

/** @typedef {import('./panel.js').Look} Look */

/** @param {Element} element whose style counts @returns {Look} */
export function lookOf(element) {
  const style = getComputedStyle(element);
  const named = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: named('ink'), muted: named('muted'), line: named('line'), lost: named('lost'), doubtful: named('doubtful'),
    font: style.fontFamily, size: 12, weight: 1.75,
  };
}

/** White paper, large letters. @param {string} font @returns {Look} */
export const paperLook = (font) =>
  ({ ink: '#18211b', muted: '#3d4941', line: '#c5cdc3', lost: '#d23f31', doubtful: '#e0a21b', font, size: 20, weight: 2.5 });

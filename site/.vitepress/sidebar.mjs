// The sidebar: the pages of the table of contents, under its headings.
import { contentsOf } from '../contents.mjs';

/** @typedef {import('../contents.mjs').Group} Group */

/** The reference of the exports belongs to the last section but one, before the internals. */
export function sidebarOf(
  /** @type {string} */ folder = '',
  /** @type {object[]} */ reference = [],
) {
  return contentsOf(folder).map((section, at, { length }) => {
    const groups = [...section.groups.map(partOf), ...(at === length - 2 ? reference : [])];
    return { ...partOf(section), items: [...partOf(section).items, ...groups], collapsed: at > 1 };
  });
}

function partOf(/** @type {Group} */ { heading, pages }) {
  const items = pages.map(({ title, link }) => ({ text: title, link }));
  return { text: heading, items, collapsed: true };
}

const CARET =
  /role="button"\s+aria-label="toggle section"\s+@click="onCaretClick"\s+@keydown.enter="onCaretClick"\s+tabindex="0"/;

/**
 * Of a group the heading is the button that opens it; the theme has another one inside of that.
 *
 * @type {import('vite').Plugin}
 */
export const ONE_BUTTON = {
  name: 'one-button',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('/theme-default/components/VPSidebarItem.vue')) return undefined;
    if (!CARET.test(code)) throw new Error('The sidebar of the theme has changed.');
    return code
      .replace(CARET, 'aria-hidden="true"')
      .replace(':role="itemRole"', '$& :aria-expanded="collapsible ? !collapsed : undefined"');
  },
};

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

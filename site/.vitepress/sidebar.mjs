// The sidebar: a page that the table of contents lists is listed here, under the same headings.
import { contentsOf } from '../contents.mjs';

/** @typedef {import('../contents.mjs').Group} Group */

export function sidebarOf(/** @type {string} */ folder = '') {
  return contentsOf(folder).map((section) => {
    const items = [...partOf(section).items, ...section.groups.map(partOf)];
    return { text: section.heading, items };
  });
}

function partOf(/** @type {Group} */ { heading, pages }) {
  return { text: heading, items: pages.map(({ title, link }) => ({ text: capital(title), link })) };
}

/** As a menu is written; etcd writes itself so. */
const capital = (/** @type {string} */ title) =>
  title.startsWith('etcd') ? title : title.charAt(0).toUpperCase() + title.slice(1);

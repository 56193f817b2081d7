// The table of contents: what docs/README.md or docs/zh/README.md lists, under its headings. The
// sidebar is made of it, and each page is described by its row.
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));
export const DOCS = join(ROOT, 'docs');

/**
 * @typedef {{ title: string, link: string, says: string }} Listed
 * @typedef {{ heading: string, pages: Listed[] }} Group
 */

/** A heading is a section; one below it that has a table of its own is a group of it. */
export function contentsOf(/** @type {string} */ folder = '') {
  const text = readFileSync(join(DOCS, folder, 'README.md'), 'utf8');
  const sections = text.split(/^## /m).slice(1);
  return sections.map((section) => {
    const [own = '', ...groups] = section.split(/^### /m);
    return { ...groupOf(folder, own), groups: groups.map((group) => groupOf(folder, group)) };
  });
}

/** @returns {Group} */
function groupOf(/** @type {string} */ folder, /** @type {string} */ part) {
  const rows = part.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\.md\)[^|]*\| (.+?) *\|$/gm);
  const pages = Array.from(rows, ([, title = '', file = '', says = '']) => ({
    title: title.replaceAll('`', ''),
    link: linkOf(folder, file),
    says: says.replaceAll('`', ''),
  }));
  return { heading: part.split('\n', 1)[0] ?? '', pages };
}

/** What is in English only stands among the Chinese pages too: pages.mjs. */
function linkOf(/** @type {string} */ folder, /** @type {string} */ file) {
  return posix.join('/', folder, file.replace('../', ''));
}

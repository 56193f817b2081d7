// The sidebar, from docs/README.md or docs/zh/README.md: a page that is listed there is listed here,
// under the same headings.
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { DOCS } from '../pages.mjs';

/** A heading is a section; one below it that has a table of its own is a group of it. */
export function sidebarOf(/** @type {string} */ folder = '') {
  const text = readFileSync(join(DOCS, folder, 'README.md'), 'utf8');
  const sections = text.split(/^## /m).slice(1);
  return sections.map((section) => {
    const [own = '', ...groups] = section.split(/^### /m);
    const nested = groups.map((group) => ({ ...partOf(folder, group), collapsed: false }));
    return { text: titleOf(own), items: [...partOf(folder, own).items, ...nested] };
  });
}

function partOf(/** @type {string} */ folder, /** @type {string} */ part) {
  const rows = part.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\.md\)/gm);
  const items = Array.from(rows, ([, title = '', file = '']) => ({
    text: title.replaceAll('`', ''),
    link: linkOf(folder, file),
  }));
  return { text: titleOf(part), items };
}

/** What is in English only stands among the Chinese pages too: pages.mjs. */
function linkOf(/** @type {string} */ folder, /** @type {string} */ file) {
  return posix.join('/', folder, file.replace('../', ''));
}

const titleOf = (/** @type {string} */ part) => part.split('\n', 1)[0] ?? '';

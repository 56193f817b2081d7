// The sidebar, from the tables of docs/README.md or docs/zh/README.md: a page that is listed there
// is listed here.
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { DOCS } from '../pages.mjs';

/** The head of each table is the name of its section. */
export function sidebarOf(/** @type {string} */ folder = '') {
  const text = readFileSync(join(DOCS, folder, 'README.md'), 'utf8');
  const sections = text.split(/\n(?=\| [^|[\]-]+ +\|)/).slice(1);
  return sections.map((table) => {
    const [head = '', ...rows] = table.split('\n').filter((line) => line.startsWith('|'));
    const items = rows.flatMap((row) => {
      const [, title, file] = /^\| \[([^\]]+)\]\(([^)]+)\.md\)/.exec(row) ?? [];
      return title === undefined
        ? []
        : [{ text: title.replaceAll('`', ''), link: linkOf(folder, file) }];
    });
    return { text: titleOf(head), items };
  });
}

/** What is in English only stands among the Chinese pages too: pages.mjs. */
function linkOf(/** @type {string} */ folder, /** @type {string} */ file) {
  return posix.join('/', folder, file.replace('../', ''));
}

function titleOf(/** @type {string} */ head) {
  const word = head.split('|')[1].trim();
  return word[0].toUpperCase() + word.slice(1);
}

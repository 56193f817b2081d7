// llms.txt, by which a program finds the page it needs: what docs/README.md lists, a line for each
// page. The package has it with links to its own documents, and the site with links to its pages.
//
//   npm run build:llms          writes the one of the package
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT, contentsOf } from './contents.mjs';

/** Of a page of the site; those of the package lie in docs. */
const ofPackage = (/** @type {string} */ link) => `docs${link}.md`;

/** Only the repository and the site have these. */
const isPacked = (/** @type {{ heading: string }} */ { heading }) => heading !== 'Internals';

/** The one of the package, whose skill says what to do where the pages say what there is. */
export const packageLlms = () =>
  llmsText(contentsOf().filter(isPacked), ofPackage, [
    '- [SKILL.md](skills/nestjs-snowflake/SKILL.md): what to write for each task, in code',
    '- [README](README.md): what it is, and what is guaranteed',
  ]);

/** The one of the site. @param {(link: string) => string} addressOf of a page */
export const siteLlms = (addressOf) =>
  llmsText(contentsOf(), addressOf, [`- [all pages](${addressOf('/index')})`]);

/**
 * @param {readonly (import('./contents.mjs').Group & { groups: import('./contents.mjs').Group[] })[]}
 *   contents
 * @param {(link: string) => string} addressOf
 * @param {readonly string[]} first lines before all others
 */
function llmsText(contents, addressOf, first) {
  const { name, description } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const linesOf = (/** @type {import('./contents.mjs').Group} */ { pages }) =>
    pages.map(({ title, link, says }) => `- [${title}](${addressOf(link)}): ${says}`);
  const parts = contents.flatMap((section) =>
    [section, ...section.groups]
      .filter(({ pages }) => pages.length > 0)
      .map((group) => `## ${group.heading}\n\n${linesOf(group).join('\n')}\n`),
  );
  return [`# ${name}\n`, `> ${description}\n`, `${first.join('\n')}\n`, ...parts].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(join(ROOT, 'llms.txt'), packageLlms());
}

// The pages of the site: those of docs/ as they are, but for their links to what is no page, which
// lead to the repository; and the pages of site/ itself.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageNameOf } from './reference/page-names.mjs';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));
export const DOCS = join(ROOT, 'docs');
const PAGES = fileURLToPath(new URL('pages', import.meta.url));
const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
export const REPOSITORY = repository.url.replace(/^git\+|\.git$/g, '');

/** What greets, on the first page. */
const HERO = '<HomeHero />\n\n';

/** What the site has of the repository. */
const ON_SITE = /^docs\/.*\.(md|png|svg)$/;
/** A row of a table about an entry of the package, which has a page of its own on the site. */
const ENTRY_ROW = /^\| `(nestjs-snowflake[\w/-]*)`/gm;

/**
 * Into site/pages, which is made anew.
 *
 * @param {readonly { name: string, text: string }[]} reference the pages of the entries
 */
export function writePages(reference) {
  rmSync(PAGES, { recursive: true, force: true });
  for (const path of readdirSync(DOCS, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.md')) continue;
    const page = pageOf(`docs/${path}`, readFileSync(join(DOCS, path), 'utf8'));
    write(path.replaceAll('README.md', 'index.md'), path === 'README.md' ? HERO + page : page);
  }
  cpSync(join(DOCS, 'images'), join(PAGES, 'images'), { recursive: true });
  for (const { name, text } of reference) write(`reference/api/${name}`, text);
  write('playground.md', readFileSync(new URL('playground.md', import.meta.url), 'utf8'));
}

function write(/** @type {string} */ path, /** @type {string} */ text) {
  const to = join(PAGES, path);
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, text);
}

/** A page of docs/ with links that lead where the site has a page, and else to the repository. */
export function pageOf(/** @type {string} */ path, /** @type {string} */ text) {
  const reference = posix.relative(posix.dirname(path), 'docs/reference/api');
  const linked = text.replaceAll(
    ENTRY_ROW,
    (_, entry) => `| [\`${entry}\`](${reference}/${pageNameOf(entry)}.md)`,
  );
  return linked.replace(/(\]\()([^)\s]+)(?=\))/g, (all, opening, target) => {
    if (/^([a-z]+:|#)/.test(target)) return all;
    const [file, anchor] = target.split('#');
    const to = posix.join(posix.dirname(path), file);
    const end = anchor === undefined ? '' : `#${anchor}`;
    if (!ON_SITE.test(to)) return `${opening}${REPOSITORY}/blob/main/${to}${end}`;
    return `${opening}${file.replace(/README\.md$/, 'index.md')}${end}`;
  });
}

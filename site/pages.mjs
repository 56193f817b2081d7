// The pages of the site: those of docs/ as they are, but for their links to what is no page, which
// lead to the repository; the pages of site/ itself; and for readers of Chinese, who stay in /zh/,
// the pages that are in English only.
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
    const isHome = /^(zh\/)?README\.md$/.test(path);
    write(path.replaceAll('README.md', 'index.md'), isHome ? HERO + page : page);
    if (path.startsWith('internals/')) write(`zh/${path}`, englishOnly(page));
  }
  cpSync(join(DOCS, 'images'), join(PAGES, 'images'), { recursive: true });
  for (const { name, text } of reference) {
    write(`reference/api/${name}`, text);
    write(`zh/reference/api/${name}`, englishOnly(text));
  }
  for (const name of ['playground.md', 'zh/playground.md'])
    write(name, readFileSync(new URL(name, import.meta.url), 'utf8'));
}

function write(/** @type {string} */ path, /** @type {string} */ text) {
  const to = join(PAGES, path);
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, text);
}

/** A page of docs/ with links that lead where the site has a page, and else to the repository. */
export function pageOf(/** @type {string} */ path, /** @type {string} */ text) {
  const language = path.startsWith('docs/zh/') ? 'docs/zh' : 'docs';
  const reference = posix.relative(posix.dirname(path), `${language}/reference/api`);
  const linked = text.replaceAll(
    ENTRY_ROW,
    (_, entry) => `| [\`${entry}\`](${reference}/${pageNameOf(entry)}.md)`,
  );
  return linesJoined(linked).replace(/(\]\()([^)\s]+)(?=\))/g, (all, opening, target) => {
    if (/^([a-z]+:|#)/.test(target)) return all;
    const [file, anchor] = target.split('#');
    const to = posix.join(posix.dirname(path), file);
    const end = anchor === undefined ? '' : `#${anchor}`;
    if (!ON_SITE.test(to)) return `${opening}${REPOSITORY}/blob/main/${to}${end}`;
    const near = language === 'docs' ? file : file.replace('../internals/', 'internals/');
    return `${opening}${near.replace(/README\.md$/, 'index.md')}${end}`;
  });
}

/** Without the ends of lines between Chinese signs, which a browser would show as spaces. */
function linesJoined(/** @type {string} */ text) {
  return text
    .replace(/(?<=\p{sc=Han})\n *(?=\p{sc=Han}|[（“])/gu, '')
    .replace(/(?<=[，。；：、！？）”])\n *(?=[\p{L}[（“]|`(?!``)|\d+(?![\d.]))/gu, '');
}

/** A page in English among the Chinese ones, whose headings have other names. */
function englishOnly(/** @type {string} */ page) {
  const near = page
    .replace(/(\]\(\.\.\/[^)#]+)#[^)]+(?=\))/g, '$1')
    .replaceAll('](../images/', '](../../images/');
  return near.replace(/^(# .*\n)/, '$1\n> 本页只有英文。\n');
}

/** As GitHub names a heading in links, which those in docs/ are written for. */
export function anchorOf(/** @type {string} */ heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

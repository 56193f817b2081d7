// The pages of the site: those of docs/ as they are, but for their links to what is no page, which
// lead to the repository; the pages of site/ itself; and for readers of Chinese, who stay in /zh/,
// the pages that are in English only. Each says at its head what it is about, where it is edited,
// and when it was changed.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ADDRESS, addressOf } from './.vitepress/head.mjs';
import { DOCS, ROOT, contentsOf } from './contents.mjs';
import { siteLlms } from './llms.mjs';
import { IS_PUBLISHED, NOT_ON_NPM } from './published.mjs';
import { pageNameOf } from './reference/page-names.mjs';

const PAGES = fileURLToPath(new URL('pages', import.meta.url));
const { repository, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
export const REPOSITORY = repository.url.replace(/^git\+|\.git$/g, '');
export const VERSION = version;

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
  const changed = lastChanges();
  const about = descriptions();
  for (const path of readdirSync(DOCS, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.md') || path.endsWith('README.md')) continue;
    const source = `docs/${path}`;
    const head = {
      description: about.get(path),
      source,
      lastUpdated: changed.get(source) ?? 'false',
    };
    const page = pageOf(source, readFileSync(join(DOCS, path), 'utf8'));
    write(path, page, head);
    if (path.startsWith('internals/')) write(`zh/${path}`, englishOnly(page), head);
  }
  writeHome('en');
  writeHome('zh');
  for (const folder of ['images', 'zh/images'])
    cpSync(join(DOCS, folder), join(PAGES, folder), { recursive: true });
  cpSync(new URL('public', import.meta.url), join(PAGES, 'public'), { recursive: true });
  write(
    'public/llms.txt',
    siteLlms((link) => addressOf(`${link.slice(1)}.md`)),
  );
  const sitemap = new URL('sitemap.xml', ADDRESS).href;
  write('public/robots.txt', `User-agent: *\nAllow: /\n\nSitemap: ${sitemap}\n`);
  for (const { name, text } of reference) {
    const [, title = name] = /^# (.*)$/m.exec(text) ?? [];
    const description = `${title.replaceAll('`', '')}: every name, with its docstring`;
    const head = { description, editLink: 'false', lastUpdated: 'false' };
    write(`reference/api/${name}`, text, head);
    write(`zh/reference/api/${name}`, englishOnly(text), head);
  }
  for (const name of ['playground.md', 'zh/playground.md'])
    write(name, readFileSync(new URL(name, import.meta.url), 'utf8'));
}

/** The first page. Until the package is published, it says so above the command that installs it. */
function writeHome(/** @type {'en' | 'zh'} */ language, folder = language === 'en' ? '' : 'zh/') {
  const home = readFileSync(new URL(`${folder}home.md`, import.meta.url), 'utf8');
  const note = IS_PUBLISHED ? '' : `> [!NOTE]\n> ${NOT_ON_NPM[language]}\n`;
  write(
    `${folder}index.md`,
    home.replace('<!-- not on npm -->\n', () => note),
  );
}

/**
 * @param {string} path
 * @param {string} text
 * @param {Readonly<Record<string, string | undefined>>} [head] of what is undefined there is nothing
 */
function write(path, text, head) {
  const to = join(PAGES, path);
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, head === undefined ? text : `---\n${yamlOf(head)}---\n\n${text}`);
}

/** A time, or false, is one for YAML without quotation marks. */
function yamlOf(/** @type {Readonly<Record<string, string | undefined>>} */ head) {
  const isPlain = (/** @type {string} */ name) => name === 'lastUpdated' || name === 'editLink';
  const lines = Object.entries(head)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${isPlain(name) ? value : JSON.stringify(value)}`);
  return `${lines.join('\n')}\n`;
}

/** Of each page, by its path in docs/: its row in the table of contents. */
function descriptions() {
  const groups = ['', 'zh'].flatMap((folder) =>
    contentsOf(folder).flatMap((section) => [section, ...section.groups]),
  );
  return new Map(
    groups.flatMap(({ pages }) =>
      // Of a page in English only, which both list, the English row.
      pages
        .filter(({ link }) => !link.startsWith('/zh/internals/'))
        .map(({ title, link, says }) => [`${link.slice(1)}.md`, `${title}: ${says}`]),
    ),
  );
}

/** When each file of docs/ was last changed, as git tells it; nothing where it has no history. */
function lastChanges() {
  /** @type {Map<string, string>} */
  const times = new Map();
  if (existsSync(join(ROOT, '.git/shallow'))) return times;
  const args = ['log', '--format=:%cI', '--name-only', '--', 'docs'];
  const { stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 28 });
  let time = '';
  for (const line of (stdout ?? '').split('\n')) {
    if (line.startsWith(':')) time = line.slice(1);
    else if (line !== '' && !times.has(line)) times.set(line, time);
  }
  return times;
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

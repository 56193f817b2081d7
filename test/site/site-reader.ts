/**
 * Reads the pages of the site as files: which places they have, and where their links lead.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';

interface PageFile {
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
}

/** By their paths, such as `reference/options.html`. */
export function readPages(folder: string): ReadonlyMap<string, PageFile> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const pages = paths.filter((path) => path.endsWith('.html') && path !== '404.html');
  return new Map(pages.map((path) => [path, pageOf(readFileSync(join(folder, path), 'utf8'))]));
}

function pageOf(html: string): PageFile {
  const all = (pattern: RegExp) => Array.from(html.matchAll(pattern), ([, value]) => value!);
  return { ids: new Set(all(/ id="([^"]+)"/g)), links: all(/<a [^>]*href="([^"]+)"/g) };
}

/** `page: link` of each that leads to no page, or to no place in one. */
export function lostLinks(pages: ReadonlyMap<string, PageFile>): string[] {
  const isLost = (from: string, link: string): boolean => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', location = ''] = link.split('#').map(decodeURIComponent);
    const to = posix.join('/', path.startsWith('/') ? '' : posix.dirname(from), path).slice(1);
    const page = pages.get(path === '' ? from : to.replace(/(^|\/)$/, '$1index.html'));
    return page === undefined || (location !== '' && !page.ids.has(location));
  };
  return [...pages].flatMap(([path, { links }]) =>
    links.filter((link) => isLost(path, link)).map((link) => `${path}: ${link}`),
  );
}

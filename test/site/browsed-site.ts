/**
 * The built site in a real browser, from the first test of a spec to the last. A test fails if one
 * of its pages logged anything, or sent a request elsewhere.
 */
import { spawnSync } from 'node:child_process';
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, posix } from 'node:path';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { axed, startBrowser } from '../dashboard/browser.js';
import { madeOnce, ROOT } from '../support/made-once.mjs';
export const DESK = { viewport: { width: 1280, height: 900 } };
export const PHONE = { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true };

/** Each width and each color scheme once, as they are independent. */
export const VIEWERS = [
  ['on a desk, in light colours', { ...DESK, colorScheme: 'light' }],
  ['on a phone, in dark colours', { ...PHONE, colorScheme: 'dark' }],
] as const satisfies [string, BrowserContextOptions][];

export class BrowsedSite {
  /** Serves the files of the site. */
  folder!: string;
  url!: string;
  browser!: Browser;
  private server!: Server;
  private readonly opened: Page[] = [];
  private readonly complaints: string[] = [];

  /** Call this at the top of a spec: it starts before the tests and stops after them. */
  constructor() {
    beforeAll(async () => {
      this.folder = await builtSite();
      ({ url: this.url, server: this.server } = await serve(this.folder));
      this.browser = await startBrowser();
    });
    afterEach(async () => {
      await Promise.all(this.opened.splice(0).map((page) => page.context().close()));
      const complaints = this.complaints.splice(0);
      if (complaints.length > 0) throw new Error(complaints.join('\n'));
    });
    afterAll(async () => {
      await this.browser.close();
      this.server.close();
    });
  }

  /** Stays open until the end of the test. */
  async open(path: string, viewer: BrowserContextOptions = DESK): Promise<Page> {
    const settings = { locale: 'en-GB', timezoneId: 'UTC', ...viewer };
    const page = await (await this.browser.newContext(settings)).newPage();
    this.opened.push(page);
    page.on('console', (message) => {
      if (message.type() !== 'log') this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url());
      if (origin !== this.url && protocol !== 'data:') {
        this.complaints.push(`asked ${request.url()}`);
      }
    });
    // The page may be slow on a slow machine; only the whole test has a limit.
    page.setDefaultTimeout(0);
    await page.goto(`${this.url}${path}`, { waitUntil: 'networkidle' });
    // Until Vue has hydrated the page, it ignores keys and clicks.
    await page.waitForFunction("document.querySelector('#app').__vue_app__ !== undefined");
    return page;
  }

  /** The axe violations of these pages, and pages wider than the screen. */
  async faultsOf(paths: readonly string[], viewer: BrowserContextOptions): Promise<string[]> {
    const faults: string[] = [];
    for (const path of paths) {
      const page = await this.open(path, viewer);
      const { violations } = await axed(page);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      faults.push(...violations.map(({ id, html }) => `${path}: ${id}: ${html}`));
      if (width !== viewer.viewport?.width) faults.push(`${path}: is ${width} wide`);
    }
    return faults;
  }
}

/*
 * Builds the site like `npm run docs:build`, once for all specs, and serves it like a static host.
 */

const SOURCES = ['docs', 'lib', 'package.json', 'bench/RESULTS.md', 'scripts/entries.mjs'];
const OWN = ['package.json', 'package-lock.json', 'contents.mjs', 'home.md', 'pages.mjs'].concat([
  'playground.md',
  'published.mjs',
  'site.mjs',
]);
const FOLDERS = [
  '.vitepress/chinese.mjs',
  '.vitepress/config.mjs',
  '.vitepress/head.mjs',
  '.vitepress/said.mjs',
  '.vitepress/search.mjs',
  '.vitepress/sidebar.mjs',
  '.vitepress/theme',
  'playground',
  'public',
  'reference',
  'zh',
];

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** @returns the folder with its files */
export function builtSite(): Promise<string> {
  const sources = [...SOURCES, ...[...OWN, ...FOLDERS].map((path) => `site/${path}`)];
  return madeOnce('site', sources, (folder: string) => {
    const args = ['run', 'docs:build', '--', '--out', folder];
    const { status, stdout, stderr } = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8' });
    if (status !== 0) throw new Error(`npm run docs:build failed:\n${stdout}\n${stderr}`);
  });
}

export async function serve(folder: string): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://localhost');
    const path = join(folder, pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    if (!existsSync(path) || !statSync(path).isFile()) response.writeHead(404).end();
    else {
      response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/plain' });
      createReadStream(path).pipe(response);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/*
 * Reads the pages of the site as files, with their anchors and links.
 */

interface PageFile {
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
}

/** By path, such as `reference/options.html`. */
export function readPages(folder: string): ReadonlyMap<string, PageFile> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const pages = paths.filter((path) => path.endsWith('.html') && path !== '404.html');
  return new Map(pages.map((path) => [path, pageOf(readFileSync(join(folder, path), 'utf8'))]));
}

function pageOf(html: string): PageFile {
  const all = (pattern: RegExp) => Array.from(html.matchAll(pattern), ([, value]) => value!);
  return { ids: new Set(all(/ id="([^"]+)"/g)), links: all(/<a [^>]*href="([^"]+)"/g) };
}

/** `page: link` for each link to a missing page or anchor. */
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

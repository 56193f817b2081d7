/**
 * The site as `npm run docs:build` makes it, once for all specs, and served as a static host would.
 */
import { spawnSync } from 'node:child_process';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { ROOT, madeOnce } from '../support/made-once.mjs';

const SOURCES = ['docs', 'lib', 'package.json', 'bench/RESULTS.md', 'scripts/entries.mjs'];
const OWN = ['package.json', 'package-lock.json', 'pages.mjs', 'playground.md', 'site.mjs'];
const FOLDERS = [
  '.vitepress/chinese.mjs',
  '.vitepress/config.mjs',
  '.vitepress/sidebar.mjs',
  '.vitepress/theme',
  'playground',
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

// The site: the pages of docs/, a reference out of the docstrings, a search over both, and a
// playground that runs the real core.
//
//   node site/site.mjs dev      serves it, and again what changes in docs/
//   node site/site.mjs build    makes static files in .data/site; --out names another folder
//
// Guarantee: its packages are installed exactly as site/package-lock.json says, and only when
// asked.
import { watch } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installPackages } from '../scripts/install-packages.mjs';
import { DOCS } from './contents.mjs';
import { writePages } from './pages.mjs';
import { referencePages } from './reference/reference-pages.mjs';

const FOLDER = new URL('.', import.meta.url);
const SITE = fileURLToPath(FOLDER);

/** Fails where a link leads nowhere. */
export async function buildSite(/** @type {string} */ outDir) {
  installPackages(FOLDER);
  writePages(referencePages());
  const { build } = await import('vitepress');
  await build(SITE, { outDir, logLevel: 'warn' });
}

async function serveSite() {
  installPackages(FOLDER);
  const reference = referencePages();
  writePages(reference);
  watch(DOCS, { recursive: true }, () => writePages(reference));
  const { createServer } = await import('vitepress');
  const server = await createServer(SITE);
  await server.listen();
  server.printUrls();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      out: { type: 'string', default: fileURLToPath(new URL('../.data/site', import.meta.url)) },
    },
  });
  if (positionals[0] === 'dev') await serveSite();
  else await buildSite(values.out);
}

// What must be there before a group can be loaded: the peers, and a build of the library.
//
// Promise: the packages of bench/ are installed exactly as its package-lock.json says, and never
// those of the library; a build is asked for, not made, because it would replace the user's own.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const BENCH = new URL('../', import.meta.url);
const LOCK = new URL('package-lock.json', BENCH);
/** npm writes it at the end of an installation. */
const INSTALLED = new URL('node_modules/.package-lock.json', BENCH);
const BUILD = new URL('../dist/esm/index.js', BENCH);

const isInstalled = () =>
  existsSync(INSTALLED) && statSync(INSTALLED).mtimeMs >= statSync(LOCK).mtimeMs;

export function installPeers(/** @type {(line: string) => void} */ log) {
  if (isInstalled()) return;
  log('installing the packages of bench/ with `npm ci`');
  // What npm says goes to stderr, as stdout is for the tables.
  const { status, signal, error } = spawnSync('npm', ['ci'], {
    cwd: fileURLToPath(BENCH),
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0)
    throw new Error(`\`npm ci\` in bench/ ended with ${error?.message ?? status ?? signal}.`);
}

export function requireBuild() {
  if (existsSync(BUILD)) return;
  throw new Error(`There is no ${fileURLToPath(BUILD)}; run first: npm run build`);
}

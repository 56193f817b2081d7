// What must be there before a group can be loaded: the peers, and a build of the library.
//
// Guarantee: the packages of bench/ are installed exactly as its package-lock.json says, and never
// those of the library; a build is asked for, not made, because it would replace the user's own.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { installPackages } from '../../scripts/install-packages.mjs';

const BENCH = new URL('../', import.meta.url);
const BUILD = new URL('../dist/esm/index.js', BENCH);

export function installPeers(/** @type {(line: string) => void} */ log) {
  installPackages(BENCH, () => log('installing the packages of bench/ with `npm ci`'));
}

export function requireBuild() {
  if (existsSync(BUILD)) return;
  throw new Error(`There is no ${fileURLToPath(BUILD)}; run first: npm run build`);
}

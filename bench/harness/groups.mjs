// The groups of all folders, in the order in which they are measured, and what must be there before
// one can be loaded: the peers, and a build of the library.
//
// Guarantee: a folder that cannot be loaded does not hide the others; its error is given back. The
// packages of bench/ are installed exactly as its package-lock.json says, and never those of the
// library; a build is asked for, not made, because it would replace the user's own.
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

/** @typedef {import('./turns.mjs').BenchGroup & { folder: string }} FolderGroup */

const FOLDERS = ['ids', 'counters', 'lock', 'threads', 'database', 'lease', 'weight'];

/** @returns {Promise<{ groups: FolderGroup[], failures: { name: string, error: any }[] }>} */
export async function loadGroups() {
  const loaded = { groups: [], failures: [] };
  for (const folder of FOLDERS) {
    try {
      const { groups } = await import(`../${folder}/index.mjs`);
      loaded.groups.push(...groups.map((group) => ({ ...group, folder })));
    } catch (error) {
      loaded.failures.push({ name: `${folder}/`, error });
    }
  }
  return loaded;
}

/** Those with the text in their title or in the name of their folder; all without a text. */
export function groupsLike(/** @type {FolderGroup[]} */ groups, /** @type {string} */ only = '') {
  const wanted = only.toLowerCase();
  return groups.filter(
    ({ title, folder }) => title.toLowerCase().includes(wanted) || folder.includes(wanted),
  );
}

// Builds and tarballs that several spec files and the chaos tests share. Each is built once and
// kept in .data/made under the hash of its sources, so it is never stale.
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

const MADE = join(ROOT, '.data', 'made');
/** Builds of other sources stay for a while, as a run may still use one. */
const KEPT_MS = 86_400_000;
const BETWEEN_MS = 50;

/**
 * @param {string} name of the build
 * @param {readonly string[]} sources files and folders, relative to the root
 * @param {(folder: string) => unknown} make writes into an empty folder
 * @returns {Promise<string>} the folder
 */
export async function madeOnce(name, sources, make) {
  const folder = join(MADE, `${name}-${hashOf(sources)}`);
  mkdirSync(MADE, { recursive: true });
  while (!existsSync(folder)) {
    if (lock(`${folder}.lock`)) {
      try {
        await makeInto(folder, make);
      } finally {
        rmSync(`${folder}.lock`);
      }
    } else await sleep(BETWEEN_MS);
  }
  return folder;
}

async function makeInto(
  /** @type {string} */ folder,
  /** @type {(folder: string) => unknown} */ make,
) {
  if (existsSync(folder)) return;
  const unfinished = `${folder}.part`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  await make(unfinished);
  renameSync(unfinished, folder);
  for (const other of readdirSync(MADE).map((entry) => join(MADE, entry))) {
    const isOld = Date.now() - statSync(other).mtimeMs > KEPT_MS;
    if (isOld && other !== folder) rmSync(other, { recursive: true, force: true });
  }
}

/** False while another live process runs the same build. */
function lock(/** @type {string} */ path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    if (existsSync(path) && !isAlive(Number(readFileSync(path, 'utf8')))) rmSync(path);
    return false;
  }
}

function isAlive(/** @type {number} */ pid) {
  try {
    // The pid is written just after the lock is taken. Pid 0 would check this process itself.
    return pid === 0 || process.kill(pid, 0);
  } catch {
    return false;
  }
}

function hashOf(/** @type {readonly string[]} */ sources) {
  const hash = createHash('sha1');
  for (const path of sources.flatMap((source) => filesBelow(join(ROOT, source))).toSorted()) {
    hash
      .update(`${relative(ROOT, path)}\0`)
      .update(readFileSync(path))
      .update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

/** @returns {string[]} */
function filesBelow(/** @type {string} */ path) {
  if (!statSync(path).isDirectory()) return [path];
  const entries = readdirSync(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((e) => join(e.parentPath, e.name));
}

// A folder for data that need not survive a loss of power. It is in memory if possible, so tests do
// not wait for a disk.

const IN_MEMORY = '/dev/shm';

/** @returns {string} the path of a new folder, which the caller removes */
export function quickFolder(/** @type {string} */ name) {
  return mkdtempSync(join(isThere(IN_MEMORY) ? IN_MEMORY : tmpdir(), `snowflake-${name}-`));
}

function isThere(/** @type {string} */ folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

// An empty PGlite, copied from a shared one, as creating one takes seven times as long.

const SOURCES = ['test/support/made-once.mjs', 'node_modules/@electric-sql/pglite/package.json'];

/** @returns {Promise<import('@electric-sql/pglite').PGlite>} the caller closes it */
export async function freshPglite() {
  const { PGlite } = await import('@electric-sql/pglite');
  const folder = await madeOnce('pglite', SOURCES, async (made) => {
    const first = await PGlite.create();
    const files = await first.dumpDataDir('none');
    writeFileSync(join(made, 'data.tar'), Buffer.from(await files.arrayBuffer()));
    await first.close();
  });
  return PGlite.create({ loadDataDir: new Blob([readFileSync(join(folder, 'data.tar'))]) });
}

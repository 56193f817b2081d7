/**
 * The library as users get it: packed by npm, unpacked into a folder
 * whose other packages are those of this project. For a negative control a rule is taken out.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packedLibrary } from '../support/packed-library.mjs';
import { takeOut } from './rules.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PEERS = ['@nestjs', 'ioredis', 'libsql', 'mysql2', 'pg', 'reflect-metadata', 'rxjs'];
/** What runs in the processes under attack. */
const PROCESSES = [
  'processes/living.mjs',
  'processes/worker.mjs',
  'processes/number-worker.mjs',
  'processes/lock-worker.mjs',
  'processes/gapless-worker.mjs',
  'processes/highest-number.mjs',
  'mistakes/process.mjs',
];

/** @returns {Promise<string>} the folder in which the processes find the library */
export async function unpackLibrary(
  /** @type {string} */ folder,
  /** @type {import('./rules.mjs').Rule | undefined} */ rule,
) {
  const tarball = await packedLibrary();
  const app = join(folder, 'app');
  const library = join(app, 'node_modules', 'nestjs-snowflake');
  mkdirSync(library, { recursive: true });
  run(folder, 'tar', '-xzf', tarball, '-C', library, '--strip-components=1');
  for (const peer of PEERS) {
    symlinkSync(join(ROOT, 'node_modules', peer), join(app, 'node_modules', peer), 'dir');
  }
  for (const path of PROCESSES) {
    cpSync(fileURLToPath(new URL(path, import.meta.url)), join(app, basename(path)));
  }
  if (rule) takeOut(rule, join(library, 'dist'));
  return app;
}

function run(/** @type {string} */ folder, /** @type {string} */ command, ...args) {
  const made = spawnSync(command, args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (made.status !== 0) throw new Error(`${command} ${args.join(' ')}:\n${made.stderr}`);
  return made.stdout;
}

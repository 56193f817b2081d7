/**
 * The library as users get it: packed by npm from a copy of its sources, unpacked into a folder
 * whose other packages are those of this project. For a negative control a rule is taken out.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeOut } from './rules.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NOT_PACKED = /^(\.git|\.data|node_modules|dist|coverage|test|sample-app|docs|bench)(\/|$)/;
const PEERS = ['@nestjs', 'ioredis', 'reflect-metadata', 'rxjs'];
/** What runs in the processes under attack. */
const PROCESSES = ['worker.mjs', 'mistakes/process.mjs'];

/** @returns {string} the folder in which the processes find the library */
export function unpackLibrary(
  /** @type {string} */ folder,
  /** @type {import('./rules.mjs').Rule | undefined} */ rule,
) {
  const copy = join(folder, 'library');
  const isPacked = (/** @type {string} */ path) => !NOT_PACKED.test(relative(ROOT, path));
  cpSync(ROOT, copy, { recursive: true, filter: isPacked });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'dir');
  const packed = run(copy, 'npm', 'pack', '--json', '--pack-destination', folder);
  // The build prints before the JSON does.
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('[\n')));
  const app = join(folder, 'app');
  const library = join(app, 'node_modules', 'nestjs-snowflake');
  mkdirSync(library, { recursive: true });
  run(folder, 'tar', '-xzf', filename, '-C', library, '--strip-components=1');
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

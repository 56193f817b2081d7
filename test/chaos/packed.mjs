/**
 * The library as users get it: packed by npm from a copy of its sources, unpacked into a folder
 * whose other packages are those of this project. For the negative control a rule is taken out.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NOT_PACKED = /^(\.git|\.data|node_modules|dist|coverage|test|sample-app|docs|bench)(\/|$)/;
const PEERS = ['@nestjs', 'ioredis', 'reflect-metadata', 'rxjs'];
/** What runs in the processes under attack. */
const PROCESSES = ['worker.mjs', 'mistakes/process.mjs'];
const FLOOR = 'local floor = math.max(last, safeFloor)';

/** @returns {string} the folder in which the processes find the library */
export function unpackLibrary(/** @type {string} */ folder, { withoutFloor = false } = {}) {
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
  if (withoutFloor) removeFloor(join(library, 'dist/esm/backends/redis/scripts.generated.js'));
  return app;
}

/** A new holder then starts wherever its clock is. */
function removeFloor(/** @type {string} */ path) {
  const text = readFileSync(path, 'utf8');
  const lua = JSON.parse(/acquire: \{\s*sha1: '\w+',\s*lua: (".*"),/.exec(text)?.[1] ?? '""');
  if (!lua.includes(FLOOR)) throw new Error(`The acquire script does not say: ${FLOOR}`);
  const broken = lua.replace(FLOOR, 'local floor = 0');
  const sha1 = (/** @type {string} */ of) => createHash('sha1').update(of).digest('hex');
  const changed = text
    .replace(sha1(lua), sha1(broken))
    .replace(JSON.stringify(lua), () => JSON.stringify(broken));
  writeFileSync(path, changed);
}

function run(/** @type {string} */ folder, /** @type {string} */ command, ...args) {
  const made = spawnSync(command, args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (made.status !== 0) throw new Error(`${command} ${args.join(' ')}:\n${made.stderr}`);
  return made.stdout;
}

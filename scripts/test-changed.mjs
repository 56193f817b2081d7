// The tests of what was changed, in seconds: `npm run test:changed`, since the last commit, or with
// `-- --since main`. What follows from elsewhere `npm test` finds, and CI.
//
// A file's own tests are the specs that import it, or the one of them that is called like it; where
// none does, those that import a file that does, and so on. Who imports a front door, such as
// `nestjs-snowflake/lock`, imports only the files behind the names it takes. Jest's own
// `--findRelatedTests` sees the tests alone, not lib.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { specsByKind } from '../test/support/kinds.mjs';
import { ENTRY_FILES } from './entries.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
const DOORS = new Set(Object.values(ENTRY_FILES));
/** Of more than these, those in the folder of the room are its own, or those without a server. */
const OWN_MAX = 8;

/** `import { a, type b as c } from './d.js'`, and all else that names a module, but in comments. */
const IMPORT = new RegExp(
  [
    /^(import|export)\s(?:\s*type\s)?\s*(?:\{([^}]*)\}|[^{}';]+)\s+from\s+'([^']+)'/,
    /^import\s+'([^']+)'/,
    /\bimport\('([^']+)'/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
);

/**
 * @typedef {{ module: string, names?: string[] | undefined, isPassedOn: boolean }} Import without
 *   names where all of the module is taken
 * @param {string} text @returns {Import[]}
 */
function importsIn(text) {
  return Array.from(text.matchAll(IMPORT), ([, word, list, ...modules]) => ({
    module: modules.find((module) => module !== undefined) ?? '',
    // `a as b` is called a where it comes from, and b where it is passed on to.
    names: list?.split(',').map((name) => {
      const words = name
        .replace(/^\s*type\s/, '')
        .trim()
        .split(/\s+as\s+/);
      return words[word === 'export' ? words.length - 1 : 0] ?? '';
    }),
    isPassedOn: word === 'export',
  }));
}

/** @param {string} from @param {string} module @returns {string | undefined} a file of ours */
function fileOf(from, module) {
  if (!module.startsWith('.')) return ENTRY_FILES[module];
  const path = posix.join(posix.dirname(from), module);
  return [path, path.replace(/\.js$/, '.ts')].find((one) => existsSync(`${ROOT}/${one}`));
}

/** @returns {Map<string, Set<string>>} by each file those that import it */
function importersByFile() {
  const paths = ['lib', 'test', 'scripts', 'schematics'].flatMap((folder) =>
    readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => /\.(ts|mjs)$/.test(path) && !/node_modules|\/consumers\//.test(path)),
  );
  const imports = new Map(
    paths.map((path) => [path, importsIn(readFileSync(`${ROOT}/${path}`, 'utf8'))]),
  );
  /** @type {Map<string, Set<string>>} */
  const importers = new Map();
  /** @param {string} path @param {string} by */
  const note = (path, by) => importers.set(path, (importers.get(path) ?? new Set()).add(by));
  for (const [path, list] of imports) {
    for (const { names = [], module, isPassedOn } of list) {
      const file = fileOf(path, module);
      // Of what a door passes on, those are noted who take it there.
      if (file === undefined || (DOORS.has(path) && isPassedOn)) continue;
      note(file, path);
      for (const behind of behindDoor(file, names, imports)) note(behind, path);
    }
  }
  return importers;
}

/**
 * The files from which a door has these names, through other doors; none of a file that is no door.
 * @param {string} door @param {readonly string[]} names @param {Map<string, Import[]>} imports
 * @returns {string[]}
 */
function behindDoor(door, names, imports) {
  if (!DOORS.has(door)) return [];
  return (imports.get(door) ?? []).flatMap(({ names: passed, module, isPassedOn }) => {
    const taken = names.filter((name) => isPassedOn && passed?.includes(name));
    const file = taken.length === 0 ? undefined : fileOf(door, module);
    return file === undefined ? [] : [file, ...behindDoor(file, taken, imports)];
  });
}

const nameOf = (/** @type {string} */ path) => posix.basename(path).replace(/(\.spec)?\.\w+$/, '');

/**
 * @returns {(changed: readonly string[]) => string[]} takes paths below the root, and finds their
 *   own specs, without the slow ones that were not changed themselves
 */
export function ownSpecFinder() {
  const importers = importersByFile();
  const kinds = specsByKind(ROOT);
  const usual = new Set([...kinds.quick, ...kinds.thorough, ...kinds.stores]);
  const ofDocuments = kinds.quick.filter((spec) => spec.startsWith('test/docs/'));
  const specsOf = (/** @type {string} */ path) => {
    if (path.endsWith('.spec.ts')) return [path];
    if (path.endsWith('.md')) return ofDocuments;
    const own = nearest(path, importers, usual);
    const named = own.filter((spec) => nameOf(spec) === nameOf(path));
    if (named.length > 0) return named;
    if (own.length > 0 && own.length <= OWN_MAX) return own;
    const quick = own.filter((spec) => kinds.quick.includes(spec));
    return ofRoom(path, own) ?? ofRoom(path, kinds.quick) ?? (quick.length > 0 ? quick : own);
  };
  return (changed) =>
    [...new Set(changed.flatMap(specsOf))]
      .filter((path) => existsSync(`${ROOT}/${path}`))
      .toSorted();
}

/**
 * @param {string} path @param {Map<string, Set<string>>} importers
 * @param {Set<string>} usual the specs that count
 */
function nearest(path, importers, usual) {
  const seen = new Set([path]);
  for (let level = [path]; level.length > 0;) {
    level = level.flatMap((file) => [...(importers.get(file) ?? [])].filter((by) => !seen.has(by)));
    for (const file of level) seen.add(file);
    const specs = [...new Set(level)].filter((file) => usual.has(file));
    if (specs.length > 0) return specs;
  }
  return [];
}

/**
 * Those in the folder of the same name as that of a file of lib, or as the one above it.
 * @param {string} path @param {readonly string[]} specs @returns {string[] | undefined}
 */
function ofRoom(path, specs) {
  if (!path.startsWith('lib/')) return undefined;
  for (let room = posix.dirname(path); room !== 'lib'; room = posix.dirname(room)) {
    const own = specs.filter((spec) => spec.startsWith(`${room.replace('lib', 'test')}/`));
    if (own.length > 0) return own;
  }
  return undefined;
}

/** @param {...string} args @returns {string[]} the lines of an answer of git */
function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed: ${stderr}`);
  return stdout.split('\n').filter((line) => line !== '');
}

function main() {
  const { values } = parseArgs({ options: { since: { type: 'string', default: 'HEAD' } } });
  const [base = 'HEAD'] = git('merge-base', values.since, 'HEAD');
  const untracked = git('ls-files', '--others', '--exclude-standard');
  const changed = [...git('diff', '--name-only', base), ...untracked];
  const specs = ownSpecFinder()(changed);
  console.log(`${changed.length} files have changed; their own tests are ${specs.length}.`);
  if (specs.length === 0) return;
  const command = ['test', '--', ...specs.map((path) => `${path.replaceAll('.', '\\.')}$`)];
  process.exitCode = spawnSync('npm', command, { cwd: ROOT, stdio: 'inherit' }).status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();

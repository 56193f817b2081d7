/**
 * Loads the rooms below Nest from their sources, as they are or with a mutant's edits.
 *
 * A mutant is a change of a line or two of the real source, so the library needs no hooks for its
 * own attackers. An edit that no longer finds its text, or finds it twice, is a loud failure.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from '@swc/core';
import { withBuiltIns } from '../support/built-ins.mjs';
import { ROOT, madeOnce } from '../support/made-once.mjs';
import { quickFolder } from '../support/quick-folder.mjs';

/**
 * @typedef {object} Edit One text of a source file and what stands there instead.
 * @property {string} file below lib
 * @property {string} find
 * @property {string} put
 */

const SIMULATION = 'test/simulation/world';
const WALK = 'test/registry';
const COUNTERS = 'test/counters/counter-simulation.ts';
const SEGMENTS = 'test/segments/segment-simulation.ts';
const KEYS = 'test/api-keys/key-attack.ts';
const IDS = 'test/ids/id-simulation.ts';
const LOCKS = 'test/lock/lock-simulation.ts';
/** What a simulation needs: no Nest, no Redis. */
const PARTS = [
  'lib/errors.ts',
  'lib/process-wide.ts',
  'lib/shown.ts',
  'lib/option-faults.ts',
  'lib/core',
  'lib/patience',
  'lib/lease',
  'lib/registry',
  'lib/generator-kind.ts',
  'lib/counters',
  'lib/lock',
  'lib/backends/memory',
  'lib/backends/etcd',
  'lib/api-keys/key',
  'lib/api-keys/guard/admission.ts',
  'lib/testing',
  SIMULATION,
  WALK,
  COUNTERS,
  SEGMENTS,
  KEYS,
  LOCKS,
  'test/lock/simulated-process.ts',
  'test/segments/counting-store.ts',
  'test/segments/kept.ts',
  IDS,
  'test/ids/counted.ts',
];

const paths = PARTS.flatMap((part) => (part.endsWith('.ts') ? [part] : filesOf(part)));

/** @returns {string[]} */
function filesOf(/** @type {string} */ part) {
  const found = readdirSync(join(ROOT, part), { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** What the compiled files are made from, and by. */
const SOURCES = [
  ...PARTS,
  'test/mutants/load-library.mjs',
  'test/support/built-ins.mjs',
  'package-lock.json',
];

const compiledPath = (/** @type {string} */ path) => path.replace(/\.ts$/, '.js');

/** @type {import('@swc/core').Options} */
const SETTINGS = {
  configFile: false,
  swcrc: false,
  jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
  module: { type: 'es6' },
  sourceMaps: false,
};

const compiled = (/** @type {string} */ text) => withBuiltIns(transformSync(text, SETTINGS).code);

/** The source of a file after a mutant's edits. */
function edited(/** @type {string} */ path, /** @type {readonly Edit[]} */ edits) {
  let text = readFileSync(join(ROOT, path), 'utf8');
  for (const { find, put } of edits.filter(({ file }) => `lib/${file}` === path)) {
    const count = text.split(find).length - 1;
    if (count !== 1) {
      throw new Error(`${path} holds ${count} times, not once, the text to change:\n${find}`);
    }
    text = text.replace(find, () => put);
  }
  return text;
}

/** @type {Promise<string> | undefined} the folder of all as they are, compiled */
let unchanged;

function compiledOnce() {
  return (unchanged ??= madeOnce('modules', SOURCES, async (folder) => {
    for (const path of paths) {
      const target = join(folder, compiledPath(path));
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, compiled(edited(path, [])));
    }
  }));
}

/**
 * @param {readonly Edit[]} edits
 * @param {string} entry the file of lib to import
 * @returns {Promise<any>} the module, of whatever shape the entry has
 */
export function loadLibrary(edits, entry) {
  return load(edits, `lib/${entry}`);
}

/** @returns {Promise<typeof import('../simulation/world/index.js')>} on the library so edited */
export function loadSimulation(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, `${SIMULATION}/index.ts`);
}

/** @returns {Promise<typeof import('../registry/concurrent-walk.js')>} on the library so edited */
export function loadWalk(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, `${WALK}/concurrent-walk.ts`);
}

/** @returns {Promise<typeof import('../counters/counter-simulation.js')>} so edited */
export function loadCounterSimulation(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, COUNTERS);
}

/** @returns {Promise<typeof import('../segments/segment-simulation.js')>} so edited */
export function loadSegmentSimulation(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, SEGMENTS);
}

/** @returns {Promise<typeof import('../api-keys/key-attack.js')>} on the library so edited */
export function loadKeyAttack(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, KEYS);
}

/** @returns {Promise<typeof import('../ids/id-simulation.js')>} so edited */
export function loadIdSimulation(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, IDS);
}

/** @returns {Promise<typeof import('../lock/lock-simulation.js')>} so edited */
export function loadLockSimulation(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, LOCKS);
}

/** @returns {Promise<any>} */
async function load(/** @type {readonly Edit[]} */ edits, /** @type {string} */ entry) {
  const plain = await compiledOnce();
  const importFrom = (/** @type {string} */ folder) =>
    import(pathToFileURL(join(folder, compiledPath(entry))).href);
  if (edits.length === 0) return importFrom(plain);
  const folder = quickFolder('mutant');
  try {
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    mutate(plain, folder, edits);
    // With all that it imports: nothing is read later.
    return await importFrom(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Modules are told apart by their paths, so each has one of its own, also where it is the same. */
function mutate(
  /** @type {string} */ plain,
  /** @type {string} */ folder,
  /** @type {readonly Edit[]} */ edits,
) {
  const changed = new Set(edits.map(({ file }) => `lib/${file}`));
  for (const path of changed) {
    if (!paths.includes(path)) throw new Error(`A mutant changes ${path}, which is not there.`);
  }
  for (const path of paths) {
    const target = join(folder, compiledPath(path));
    mkdirSync(dirname(target), { recursive: true });
    if (changed.has(path)) writeFileSync(target, compiled(edited(path, edits)));
    else copyFileSync(join(plain, compiledPath(path)), target);
  }
}

/**
 * Loads the rooms below Nest from their sources, as they are or with a mutant's edits.
 *
 * A mutant is a change of a line or two of the real source, so the library needs no hooks for its
 * own attackers. An edit that no longer finds its text, or finds it twice, is a loud failure.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformSync } from '@swc/core';

/**
 * @typedef {object} Edit One text of a source file and what stands there instead.
 * @property {string} file below lib
 * @property {string} find
 * @property {string} put
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SIMULATION = 'test/simulation/world';
const WALK = 'test/registry';
const COUNTERS = 'test/counters/counter-simulation.ts';
const SEGMENTS = 'test/segments/segment-simulation.ts';
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
  'lib/testing',
  SIMULATION,
  WALK,
  COUNTERS,
  SEGMENTS,
  LOCKS,
  'test/lock/simulated-process.ts',
  'test/segments/counting-store.ts',
  'test/segments/kept.ts',
];

const paths = PARTS.flatMap((part) => (part.endsWith('.ts') ? [part] : filesOf(part)));

/** @returns {string[]} */
function filesOf(/** @type {string} */ part) {
  const found = readdirSync(join(ROOT, part), { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** @type {Map<string, string>} */
const unchanged = new Map();

/** @param {string} text */
function compiled(text) {
  return transformSync(text, {
    configFile: false,
    swcrc: false,
    jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
    module: { type: 'es6' },
    sourceMaps: false,
  }).code;
}

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

/** @type {string[]} */
const folders = [];
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

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

/** @returns {Promise<typeof import('../lock/lock-simulation.js')>} so edited */
export function loadLockSimulation(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, LOCKS);
}

/** @returns {Promise<any>} */
function load(/** @type {readonly Edit[]} */ edits, /** @type {string} */ entry) {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-mutant-'));
  folders.push(folder);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const path of new Set(edits.map(({ file }) => `lib/${file}`))) {
    if (!paths.includes(path)) throw new Error(`A mutant changes ${path}, which is not there.`);
  }
  for (const path of paths) {
    const isEdited = edits.some(({ file }) => `lib/${file}` === path);
    if (!unchanged.has(path)) unchanged.set(path, compiled(edited(path, [])));
    const code = isEdited ? compiled(edited(path, edits)) : unchanged.get(path);
    const target = join(folder, path.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, String(code));
  }
  return import(pathToFileURL(join(folder, entry.replace(/\.ts$/, '.js'))).href);
}

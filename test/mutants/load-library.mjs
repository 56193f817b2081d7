/**
 * Loads the rooms below Nest from their sources, with or without a mutant's edits. Each load
 * bundles a new module, which is much faster than loading its parts.
 *
 * A mutant changes a line or two of the real source, so the library needs no hooks for tests. An
 * edit fails loudly if its text is missing or occurs more than once.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { withBuiltIns } from '../support/transform.mjs';
import { ROOT, quickFolder } from '../support/made-once.mjs';

/**
 * @typedef {object} Edit replaces a string in a source file
 * @property {string} file path below lib
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
const REGIONS = 'test/simulation/world/regions.ts';
/** @type {import('esbuild').BuildOptions & { write: false }} */
const SETTINGS = {
  bundle: true,
  charset: 'utf8',
  format: 'esm',
  logLevel: 'silent',
  packages: 'external',
  platform: 'node',
  target: 'es2023',
  tsconfigRaw: {},
  write: false,
};

/**
 * @param {readonly Edit[]} edits
 * @param {string} entry the file of lib to import
 * @returns {Promise<any>} the module of the entry
 */
export function loadLibrary(edits, entry) {
  return load(edits, `lib/${entry}`);
}

/** @returns {Promise<typeof import('../simulation/world/index.js')>} on the edited library */
export function loadSimulation(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, `${SIMULATION}/index.ts`);
}

/** @returns {Promise<typeof import('../registry/concurrent-walk.js')>} on the edited library */
export function loadWalk(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, `${WALK}/concurrent-walk.ts`);
}

/** @returns {Promise<typeof import('../counters/counter-simulation.js')>} on the edited library */
export function loadCounterSimulation(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, COUNTERS);
}

/** @returns {Promise<typeof import('../segments/segment-simulation.js')>} on the edited library */
export function loadSegmentSimulation(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, SEGMENTS);
}

/** @returns {Promise<typeof import('../api-keys/key-attack.js')>} on the edited library */
export function loadKeyAttack(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, KEYS);
}

/** @returns {Promise<typeof import('../ids/id-simulation.js')>} on the edited library */
export function loadIdSimulation(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, IDS);
}

/** @returns {Promise<typeof import('../lock/lock-simulation.js')>} on the edited library */
export function loadLockSimulation(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, LOCKS);
}

/** @returns {Promise<typeof import('../simulation/world/regions.js')>} on the edited library */
export function loadRegions(/** @type {readonly Edit[]} */ edits = []) {
  return load(edits, REGIONS);
}

/** @returns {Promise<any>} */
async function load(/** @type {readonly Edit[]} */ edits, /** @type {string} */ entry) {
  const { outputFiles } = await build({
    ...SETTINGS,
    entryPoints: [join(ROOT, entry)],
    plugins: [mutant(edits)],
  });
  const folder = quickFolder('mutant');
  const path = join(folder, 'library.mjs');
  try {
    writeFileSync(path, withBuiltIns(outputFiles[0]?.text ?? ''));
    return await import(pathToFileURL(path).href);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @returns {import('esbuild').Plugin} which reads the edited sources */
function mutant(/** @type {readonly Edit[]} */ edits) {
  const changed = new Map(edits.map(({ file }) => [join(ROOT, 'lib', file), edited(file, edits)]));
  return {
    name: 'mutant',
    setup(esbuild) {
      esbuild.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = changed.get(path);
        return contents === undefined ? undefined : { contents, loader: 'ts' };
      });
    },
  };
}

/** The source of a file after a mutant's edits. */
function edited(/** @type {string} */ file, /** @type {readonly Edit[]} */ edits) {
  const path = join(ROOT, 'lib', file);
  if (!existsSync(path)) throw new Error(`A mutant changes lib/${file}, which is not there.`);
  let text = readFileSync(path, 'utf8');
  for (const { find, put } of edits.filter((edit) => edit.file === file)) {
    const count = text.split(find).length - 1;
    if (count !== 1) {
      throw new Error(`lib/${file} holds ${count} times, not once, the text to change:\n${find}`);
    }
    text = text.replace(find, () => put);
  }
  return text;
}

// The shape of a broken variant.

/**
 * @typedef {object} Mutant
 * @property {string} name as in the protocol
 * @property {readonly Edit[]} edits
 * @property {{ scenario: string, seed: number }} [tryFirst] the shortest known simulation that
 * kills it; if it no longer does, all simulations run
 * @property {readonly string[]} [skips] scenarios in which a safe variant is unsafe
 */

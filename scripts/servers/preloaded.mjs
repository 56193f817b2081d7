// What is built from the C sources of this folder, and set while it runs by a few words in a file.
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { requireServers } from './binaries.mjs';

/**
 * @param {string} source its name
 * @param {string} target the path of what is built
 * @param {readonly string[]} more of the compiler
 */
export function built(source, target, more = []) {
  const { cc } = requireServers(['cc']);
  const path = fileURLToPath(new URL(source, import.meta.url));
  const args = [...more, '-O2', '-Wall', '-Werror', '-o', target, path];
  const made = spawnSync(cc, args, { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`${cc} failed:\n${made.stderr || made.error}`);
  return target;
}

/**
 * Builds what is loaded into a server before the C library, and does some of its calls in another
 * way.
 * @param {string} source its name
 * @param {string} library the path of what is built
 * @returns {NodeJS.ProcessEnv} of the server that is to have it
 */
export function preloaded(source, library) {
  return { ...process.env, LD_PRELOAD: built(source, library, ['-shared', '-fPIC']) };
}

const WORD_BYTES = 8;

/** Whole numbers in a file that who was built here reads at any moment. */
export class Words {
  /** @param {string} path where no file is @param {number} count */
  constructor(path, count) {
    this.path = path;
    writeFileSync(path, Buffer.alloc(count * WORD_BYTES));
  }

  /** In place: who has it in memory would find nothing in a file that is written anew. */
  set(/** @type {number} */ at, /** @type {number} */ value) {
    const bytes = Buffer.alloc(WORD_BYTES);
    bytes.writeBigInt64LE(BigInt(value));
    const file = openSync(this.path, 'r+');
    writeSync(file, bytes, 0, WORD_BYTES, at * WORD_BYTES);
    closeSync(file);
  }

  get(/** @type {number} */ at) {
    return Number(readFileSync(this.path).readBigInt64LE(at * WORD_BYTES));
  }
}

// A disk that a Redis can be given, on which an fsync of its append-only file can be held up.
import { closeSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { preloaded } from './preloaded.mjs';

const WORD_BYTES = 8;

export class SlowDisk {
  #file;

  /** @param {string} path where no file is; one more, with `.so` behind it, is built beside it */
  constructor(path) {
    this.#file = path;
    writeFileSync(path, Buffer.alloc(2 * WORD_BYTES));
    /** Of the server whose disk this is. @type {NodeJS.ProcessEnv} */
    this.env = { ...preloaded('slow-disk.c', `${path}.so`), SLOW_DISK: path };
  }

  /** Whether an fsync that begins, or is under way, does not end. */
  hold(/** @type {boolean} */ isHeld) {
    const bytes = Buffer.alloc(WORD_BYTES);
    bytes.writeBigInt64LE(isHeld ? 1n : 0n);
    const file = openSync(this.#file, 'r+');
    writeSync(file, bytes);
    closeSync(file);
  }

  /** What a loss of power leaves of the append-only file, once its server is gone. */
  cut(/** @type {string} */ appendOnlyFile) {
    const syncedBytes = readFileSync(this.#file).readBigInt64LE(WORD_BYTES);
    truncateSync(appendOnlyFile, Number(syncedBytes));
  }
}

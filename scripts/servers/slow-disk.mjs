// A disk that a Redis can be given, on which an fsync of its append-only file can be held up.
import { truncateSync } from 'node:fs';
import { preloaded, Words } from './preloaded.mjs';

export class SlowDisk {
  #words;

  /** @param {string} path where no file is; one more, with `.so` behind it, is built beside it */
  constructor(path) {
    this.#words = new Words(path, 2);
    /** Of the server whose disk this is. @type {NodeJS.ProcessEnv} */
    this.env = { ...preloaded('slow-disk.c', `${path}.so`), SLOW_DISK: path };
  }

  /** Whether an fsync that begins, or is under way, does not end. */
  hold(/** @type {boolean} */ isHeld) {
    this.#words.set(0, Number(isHeld));
  }

  /** What a loss of power leaves of the append-only file, once its server is gone. */
  cut(/** @type {string} */ appendOnlyFile) {
    truncateSync(appendOnlyFile, this.#words.get(1));
  }
}

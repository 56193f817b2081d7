// A wall clock that a server can be given, and that is set while it runs.
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { preloaded } from './preloaded.mjs';

export class WallClock {
  #file;

  /** @param {string} path where no file is; one more, with `.so` behind it, is built beside it */
  constructor(path) {
    this.#file = path;
    writeFileSync(path, Buffer.alloc(8));
    /** Of the server whose clock this is. @type {NodeJS.ProcessEnv} */
    this.env = { ...preloaded('wall-clock.c', `${path}.so`), WALL_CLOCK: path };
  }

  /** What is added to the time of the system, from now on. */
  set(/** @type {number} */ addedMs) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(addedMs));
    const file = openSync(this.#file, 'r+');
    writeSync(file, bytes);
    closeSync(file);
  }
}

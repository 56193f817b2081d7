// A wall clock that a server can be given, and that is set while it runs.
import { preloaded, Words } from './preloaded.mjs';

export class WallClock {
  #words;

  /** @param {string} path where no file is; one more, with `.so` behind it, is built beside it */
  constructor(path) {
    this.#words = new Words(path, 1);
    /** Of the server whose clock this is. @type {NodeJS.ProcessEnv} */
    this.env = { ...preloaded('wall-clock.c', `${path}.so`), WALL_CLOCK: path };
  }

  /** What is added to the time of the system, from now on. */
  set(/** @type {number} */ addedMs) {
    this.#words.set(0, addedMs);
  }
}

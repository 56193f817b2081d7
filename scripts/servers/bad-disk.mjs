// A disk that a server can be given, on which each fsync takes longer, or which is full, for a
// while: of Linux, whatever the server is written in.
import { built, Words } from './preloaded.mjs';

export class BadDisk {
  #words;
  #program;

  /**
   * @param {string} path where no file is, read by the user of the server; one more, with `.run`
   *   behind it, is built beside it
   * @param {string} folder of the data of the server
   */
  constructor(path, folder) {
    this.#words = new Words(path, 2);
    this.#program = built('bad-disk.c', `${path}.run`);
    this.folder = folder;
  }

  /** How a server on this disk is started. @param {{ command: string, args: string[] }} server */
  under({ command, args }) {
    return { command: this.#program, args: [this.#words.path, this.folder, command, ...args] };
  }

  /** How much longer each fsync takes, those under way too. */
  slow(/** @type {number} */ ms) {
    this.#words.set(0, ms);
  }

  fill(/** @type {boolean} */ isFull) {
    this.#words.set(1, Number(isFull));
  }
}

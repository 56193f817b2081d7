// A wire between the processes of this host on which packets get lost and overtake each other: of
// Linux, where a TUN device may be made.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { built, Words } from './preloaded.mjs';

export class BadWire {
  #words;
  #program;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #running;
  /** At which a server listens, and at which it is reached. */
  near = '127.0.0.1';
  far = '127.0.0.1';

  /** @param {string} path where no file is; one more, with `.run` behind it, is built beside it */
  constructor(path) {
    this.#words = new Words(path, 2);
    this.#program = built('bad-wire.c', `${path}.run`);
  }

  /** @returns whether there may be one */
  async start() {
    // Of four addresses each, among those that are nobody's, so that several runs have theirs.
    const network = `10.213.${process.pid % 256}.${4 * Math.floor(Math.random() * 64)}`;
    const [near, far] = [1, 2].map((more) => network.replace(/\d+$/, (at) => `${+at + more}`));
    const stdio = /** @type {const} */ (['pipe', 'pipe', 'ignore']);
    const child = spawn(this.#program, [this.#words.path, String(near)], { stdio });
    const up = once(child.stdout, 'data').then(() => true);
    const isUp = await Promise.race([up, once(child, 'exit').then(() => false)]);
    if (!isUp) return false;
    [this.#running, this.near, this.far] = [child, String(near), String(far)];
    return true;
  }

  /** Of a thousand packets so many. @param {{ lost?: number, late?: number }} chances */
  set({ lost = 0, late = 0 }) {
    this.#words.set(0, lost);
    this.#words.set(1, late);
  }

  stop() {
    this.#running?.kill();
  }
}

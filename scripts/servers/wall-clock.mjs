// A wall clock that a server can be given, and that is set while it runs.
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { requireServers } from './binaries.mjs';

const SOURCE = fileURLToPath(new URL('wall-clock.c', import.meta.url));

export class WallClock {
  #file;

  /** @param {string} path where no file is; one more, with `.so` behind it, is built beside it */
  constructor(path) {
    const library = `${path}.so`;
    this.#file = path;
    writeFileSync(path, Buffer.alloc(8));
    const { cc } = requireServers(['cc']);
    const args = ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', library, SOURCE];
    const built = spawnSync(cc, args, { encoding: 'utf8' });
    if (built.status !== 0) throw new Error(`${cc} failed:\n${built.stderr || built.error}`);
    /** Of the server whose clock this is. @type {NodeJS.ProcessEnv} */
    this.env = { ...process.env, LD_PRELOAD: library, WALL_CLOCK: path };
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

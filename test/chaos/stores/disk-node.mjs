/**
 * A server of the chaos with its data in a folder: it can be killed, and started again with these
 * data or with an older copy of them.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { serverFolder, unprivileged } from '../../../scripts/servers/server-process.mjs';
import { copyFolder } from '../fault.mjs';

/** @abstract */
export class DiskNode {
  port = 0;
  user = unprivileged();
  /** @type {{ pid: number, stop: () => Promise<void> } | undefined} */
  server;

  constructor(/** @type {string} */ name) {
    this.folder = serverFolder(`chaos-${name}`, this.user);
    this.data = join(this.folder, 'data');
  }

  get pid() {
    return /** @type {number} */ (this.server?.pid);
  }

  /** On its port, with the data that there are. @returns {Promise<void>} */
  async start() {
    throw new Error(`${this.constructor.name} does not say how it starts.`);
  }

  /** kill -9 */
  async kill() {
    await this.server?.stop();
    this.server = undefined;
  }

  /** A copy that was made while nothing ran, as a snapshot of a disk is. */
  async backup() {
    await this.kill();
    copyFolder(this.data, `${this.data}.old`, this.user);
    await this.start();
  }

  async restore() {
    await this.kill();
    copyFolder(`${this.data}.old`, this.data, this.user);
    await this.start();
  }

  async stop() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

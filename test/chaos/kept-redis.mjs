/**
 * One Redis whose files can be kept and put back, so that it forgets what it did since.
 */
import { cpSync, rmSync } from 'node:fs';
import { NAMESPACE, Standalone } from './topologies.mjs';
import { until } from './until.mjs';

export class KeptRedis extends Standalone {
  /** Of counters, or of locks. */
  content = 'counters';

  get key() {
    return `snowflake:{${NAMESPACE}}:${this.content}`;
  }

  keep() {
    cpSync(this.node.folder, `${this.node.folder}.old`, { recursive: true });
  }

  async putBack() {
    await this.node.kill();
    rmSync(this.node.folder, { recursive: true, force: true });
    cpSync(`${this.node.folder}.old`, this.node.folder, { recursive: true });
    await this.node.start();
    this.era = await this.node.admin.hget(this.key, 'era');
  }

  /** Until somebody's call has shown the loss. */
  asked() {
    return until(async () => (await this.node.admin.hget(this.key, 'era')) !== this.era, 20_000);
  }
}

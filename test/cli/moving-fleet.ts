/**
 * Generators in this process that act as a fleet: on any store, they constantly generate IDs.
 */
import { startSnowflake, type RunningSnowflake } from 'nestjs-snowflake';
import type { BitLayout } from 'nestjs-snowflake/core';

export const TTL_MS = 10_000;
const MINT_EVERY_MS = 20;

export type StartOptions = Partial<Parameters<typeof startSnowflake>[0]>;

export class Fleet {
  readonly ids: bigint[] = [];
  refusedCount = 0;
  private readonly members: { layout: BitLayout; running: RunningSnowflake }[] = [];
  private readonly minting: NodeJS.Timeout;

  constructor(private readonly url: string) {
    this.minting = setInterval(() => {
      for (const { running } of this.members) {
        try {
          for (let n = 0; n < 20; n++) this.ids.push(running.ids.nextId());
        } catch {
          this.refusedCount++;
        }
      }
    }, MINT_EVERY_MS);
  }

  async start(layout: BitLayout, more: StartOptions = {}, support = this.url): Promise<void> {
    const lease = { leaseTtlMs: TTL_MS, refreshAliveIntervalMs: 1000, reserveMs: 1000 };
    const patient = { startTimeoutMs: 600_000, callTimeoutMs: 4000 };
    const running = await startSnowflake({ support, layout, ...lease, ...patient, ...more });
    this.members.push({ layout, running });
  }

  /** Replaces generators as a rollout does: one start, then one stop. */
  async roll(to: BitLayout, count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      await this.start(to);
      await this.stop(this.members.findIndex(({ layout }) => layout !== to));
    }
  }

  /** @param at index among the running generators, in the order of their starts */
  async stop(at = 0): Promise<void> {
    const [left] = this.members.splice(at, 1);
    await left!.running.close();
  }

  get workerIds(): number[] {
    return this.members.map(({ running }) => running.ids.status.workerId!);
  }

  async close(): Promise<void> {
    clearInterval(this.minting);
    await Promise.all(this.members.splice(0).map(({ running }) => running.close()));
  }
}

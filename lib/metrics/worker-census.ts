/**
 * How many worker ids of a namespace are in use and free, asked from its support.
 *
 * Promise: the store is asked once in a period at most, and nobody waits for it but the very first
 * reader, and that one not long. What it answered is shown until the next answer is due; when that
 * fails or does not come, nothing is shown.
 */
import type { WorkerIdRange } from '../core/layout/worker-id-range.js';
import type { IDistributedSupport, WorkerRecord } from '../lease/distributed-support.js';
import { pause, systemTimers, type Timers } from '../patience/timers.js';

/** A scrape may take 10 s by default; a store that is well answers in a few ms. */
const WAITED_MS_MAX = 1000;

export interface WorkerCount {
  readonly inUse: number;
  readonly free: number;
}

export class WorkerCensus {
  private counted: WorkerCount | undefined;
  private askedAtMs = -Infinity;
  private isAnswered = true;
  private asked: Promise<void> | undefined;
  private waited: Promise<void> | undefined;
  private isWaitedFor = true;

  constructor(
    private readonly support: Pick<IDistributedSupport, 'workers'>,
    private readonly workerIds: WorkerIdRange,
    private readonly everyMs: number,
    private readonly timers: Timers = systemTimers,
  ) {}

  /** Until the first count can be read, or cannot be had; undefined from then on. */
  first(nowMs: number): Promise<void> | undefined {
    if (!this.isWaitedFor) return undefined;
    return (this.waited ??= this.answeredWithin(this.asked ?? this.start(nowMs)));
  }

  /** The count that is known; starts the next one where it is due. */
  read(nowMs: number): WorkerCount | undefined {
    // A clock that was set back must not put the next count off.
    if (Math.abs(nowMs - this.askedAtMs) < this.everyMs) return this.counted;
    if (!this.isAnswered) this.counted = undefined;
    void this.start(nowMs);
    return this.counted;
  }

  private start(nowMs: number): Promise<void> {
    this.askedAtMs = nowMs;
    this.isAnswered = false;
    return (this.asked = this.ask());
  }

  private async answeredWithin(asked: Promise<void>): Promise<void> {
    const over = new AbortController();
    await Promise.race([asked, pause(this.timers, WAITED_MS_MAX, over.signal)]);
    over.abort();
    this.isWaitedFor = false;
  }

  private async ask(): Promise<void> {
    try {
      const records = await this.support.workers?.();
      this.counted = records && count(records, this.workerIds);
    } catch {
      // The renewals report a store that is away; here there is only nothing to show.
      this.counted = undefined;
    }
    this.isAnswered = true;
  }
}

/** Undefined where worker ids are not leased: nobody knows who else has one. */
function count(
  records: readonly WorkerRecord[],
  { min, max }: WorkerIdRange,
): WorkerCount | undefined {
  if (records.some(({ ceilingMs }) => ceilingMs === Infinity)) return undefined;
  const held = records.filter(
    ({ workerId, freeInMs }) => freeInMs > 0 && workerId >= min && workerId <= max,
  );
  return { inUse: held.length, free: max - min + 1 - held.length };
}

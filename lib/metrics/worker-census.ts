/**
 * Counts the used and the free worker ids of a namespace, as its support says.
 *
 * Guarantee: the store is asked at most once per period, and only the first reader waits for it,
 * for a short time. An answer stays until the next one is due; if that one fails or does not come,
 * there is no value.
 */
import type { WorkerIdRange } from '../core/layout/worker-id-range.js';
import type { IDistributedSupport, WorkerRecord } from '../lease/distributed-support.js';
import { systemTimers, withinLimit, type Timers } from '../time/timers.js';

/** A larger count is not worth its cost for the store and this process. */
const COUNTED_MAX = 65_536;

/** A scrape may take 10 s by default; a healthy store answers in a few ms. */
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

  /** Resolves when the first count is there or has failed; undefined from then on. */
  first(nowMs: number): Promise<void> | undefined {
    if (!this.isWaitedFor) return undefined;
    return (this.waited ??= this.answeredWithin(this.asked ?? this.start(nowMs)));
  }

  /** Returns the last count, and starts the next one if it is due. */
  read(nowMs: number): WorkerCount | undefined {
    // A clock that was set back must not delay the next count.
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
    const { timers } = this;
    await withinLimit(asked, { timers, ms: WAITED_MS_MAX, over: () => undefined });
    this.isWaitedFor = false;
  }

  private async ask(): Promise<void> {
    try {
      const records = await this.support.workers?.(COUNTED_MAX + 1);
      this.counted = records && count(records, this.workerIds);
    } catch {
      // The renewals report a store that is away; the metric just has no value.
      this.counted = undefined;
    }
    this.isAnswered = true;
  }
}

/** Undefined if worker ids are not leased, or if there are too many to count. */
function count(
  records: readonly WorkerRecord[],
  { min, max }: WorkerIdRange,
): WorkerCount | undefined {
  if (records.length > COUNTED_MAX) return undefined;
  if (records.some(({ ceilingMs }) => ceilingMs === Infinity)) return undefined;
  const held = records.filter(
    ({ workerId, freeInMs }) => freeInMs > 0 && workerId >= min && workerId <= max,
  );
  return { inUse: held.length, free: max - min + 1 - held.length };
}

/**
 * A store that everybody waits for: one step after the other, each of which takes its time, on a
 * clock that a test moves; and processes that ask it as a keeper does.
 */
import { SupportCaller } from '../../lib/lease/support-caller.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
} from '../../lib/lease/distributed-support.js';
import { RetryDelay, pause } from '../../lib/time/timers.js';
import {
  HEADER_KEY,
  type RowQuery,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
} from '../../lib/rows/row-store.js';
import type { SettableTime } from '../../lib/testing/settable-time.js';
import { MapStore } from './map-store.js';

const CALL_TIMEOUT_MS = 2000;

export class SlowStore implements RowStore {
  readonly location = 'a slow store';
  readonly lossWindowMs = 0;
  readonly rows: MapStore;
  stepCount = 0;
  /** Each range that was written: its worker id and its token. */
  readonly granted: string[] = [];
  private freeAtMs = 0;

  constructor(
    private readonly time: SettableTime,
    /** Infinity where no step ends. */
    public stepMs: number,
  ) {
    const moment = {
      get timeMs() {
        return time.now();
      },
      server: 'one',
    };
    this.rows = new MapStore(moment);
  }

  read(query: RowQuery): Promise<RowSnapshot> {
    return this.step(() => this.rows.read(query));
  }

  readAll(): Promise<RowSnapshot> {
    return this.step(() => this.rows.readAll());
  }

  async write(write: RowWrite): Promise<boolean> {
    const isTaken = await this.step(() => this.written(write));
    const held = write.rows.filter(({ row }) => row.token !== undefined);
    if (isTaken) this.granted.push(...held.map(({ row }) => `${row.key} ${row.token}`));
    return isTaken;
  }

  /**
   * As real stores do: a header of which only the time is new keeps its version, and any other is
   * written only where the time is as it was read.
   */
  private async written({ isTimeOnly, header, ...write }: RowWrite): Promise<boolean> {
    const kept = this.rows.rows.get(HEADER_KEY);
    const isWhole = header !== undefined && isTimeOnly !== true;
    if (isWhole && write.headerNumber !== (kept?.number ?? 0n)) return false;
    if (isTimeOnly !== true || header === undefined || kept === undefined)
      return this.rows.write({ ...write, ...(header && { header }) });
    const number = header.number > kept.number ? header.number : kept.number;
    this.rows.rows.set(HEADER_KEY, { ...kept, number });
    return this.rows.write(write);
  }

  private async step<T>(run: () => Promise<T>): Promise<T> {
    this.stepCount++;
    const nowMs = this.time.passedMs;
    if (this.stepMs === Infinity) return new Promise(() => undefined);
    this.freeAtMs = Math.max(nowMs, this.freeAtMs) + this.stepMs;
    await pause(this.time, this.freeAtMs - nowMs);
    return run();
  }
}

/** Asks with the limit of a keeper's call until it is answered, as a start does. */
export async function asked(
  support: Pick<IDistributedSupport, 'getNextWorkId'>,
  request: LeaseRequest,
  { time, random }: { time: SettableTime; random: () => number },
): Promise<LeaseAnswer> {
  const caller = new SupportCaller(time, CALL_TIMEOUT_MS);
  const delay = new RetryDelay(random);
  for (;;) {
    try {
      const terms = { consequence: 'It is asked again.' };
      return await caller.call(() => support.getNextWorkId({ ...request }), terms);
    } catch {
      await pause(time, delay.next());
    }
  }
}

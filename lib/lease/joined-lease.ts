/**
 * The lease of another thread of this process, as a thread that shares it sees it.
 *
 * Promise: nothing is asked of a store, and stopping concerns this thread alone. The thread that
 * holds the lease renews it and gives it back.
 */
import type { AnchoredClock } from '../core/seat/anchored-clock.js';
import type { WorkerSeat } from '../core/seat/worker-seat.js';
import { SnowflakeError } from '../errors.js';
import type { Keeper } from './keeper.js';
import { stateOf, type LeaseState } from './lease-states.js';
import { stopped } from './lease-texts.js';
import { pause, type Timers } from '../patience/timers.js';

export interface JoinedParts {
  readonly seat: WorkerSeat;
  readonly clock: AnchoredClock;
  readonly timers: Timers;
  readonly startTimeoutMs: number;
}

const LOOK_AGAIN_MS = 20;

export class JoinedLease implements Keeper {
  readonly renewsItself = false;
  private hasStopped = false;

  constructor(private readonly parts: JoinedParts) {}

  get state(): LeaseState {
    if (this.hasStopped) return 'released';
    const state = stateOf(this.parts.seat.signals.state);
    // The thread that holds the lease may have ended without a word.
    const isOver = this.endMs !== undefined && this.nowMs >= this.endMs;
    return isOver ? 'exhausted' : state;
  }

  get workerId(): number | undefined {
    return this.parts.seat.current?.workerId;
  }

  get endMs(): number | undefined {
    return this.parts.seat.endMs;
  }

  /** Known to the thread that holds the lease alone. */
  get incarnation(): undefined {
    return undefined;
  }

  get clockSkewMs(): number {
    return this.parts.clock.offsetMs;
  }

  get nowMs(): number {
    return this.parts.clock.now();
  }

  get renewals(): undefined {
    return undefined;
  }

  /** Waits until the other thread holds a worker id. */
  async start(): Promise<void> {
    const { seat, timers, startTimeoutMs } = this.parts;
    for (let waitedMs = 0; seat.current === undefined; waitedMs += LOOK_AGAIN_MS) {
      if (seat.isClosed) throw stopped();
      if (waitedMs >= startTimeoutMs) throw noLease(waitedMs);
      await pause(timers, LOOK_AGAIN_MS);
    }
  }

  /** Asks the thread that holds the lease to renew it. */
  async refresh(): Promise<void> {
    this.parts.seat.watch.halfUsed();
  }

  async stop(): Promise<void> {
    this.hasStopped = true;
    this.parts.seat.leave(stopped);
  }
}

function noLease(waitedMs: number): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    `The thread that holds the shared lease had no worker id within ${waitedMs} ms. Start its ` +
      `application first, and its threads after that.`,
    { details: { waitedMs } },
  );
}

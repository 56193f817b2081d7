/**
 * Replaces a support in a thread that shares another thread's lease. It leases nothing, and only
 * passes the shared lease to the lease window.
 */
import { isSharedLease, notShared, type SharedLease } from '../core/window/shared-lease.js';
import { SnowflakeError } from '../errors.js';
import { pause } from '../time/timers.js';
import type { IDistributedSupport, LeaseAnswer } from './distributed-support.js';
import { stateOf, type LeaseState } from './held-lease.js';
import type { Keeper, KeeperParts } from './keeper.js';
import type { LeaseOptions } from './lease-options.js';
import { stopped } from './lease-texts.js';

export class SharedLeaseSupport implements IDistributedSupport {
  readonly location = 'another thread of this process';

  /** @throws SnowflakeError CONFIG_INVALID unless the value is the `sharedLease` of an IdMaker */
  constructor(readonly shared: SharedLease) {
    if (!isSharedLease(shared)) throw notShared(shared);
  }

  async getNextWorkId(): Promise<LeaseAnswer> {
    throw nothingLeased();
  }

  async refreshAlive(): Promise<LeaseAnswer> {
    throw nothingLeased();
  }
}

function nothingLeased(): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    'This thread shares the lease of another one and leases nothing itself. Ask the support of ' +
      'the thread that holds the lease.',
  );
}

/*
 * Another thread's lease, in a thread of the same process that shares it.
 *
 * Guarantee: it calls no store, and stopping affects only this thread. The thread that holds the
 * lease renews and releases it.
 */

const LOOK_AGAIN_MS = 20;
/** A wait that takes longer is in the log. */
const SILENT_MS = 5000;

export class SharedLeaseKeeper implements Keeper {
  readonly renewsItself = false;
  /** Only the thread that holds the lease has these. */
  readonly renewals = undefined;
  readonly terms = undefined;
  readonly incarnation = undefined;
  private hasStopped = false;

  constructor(
    private readonly parts: Pick<KeeperParts, 'window' | 'idClock' | 'timers' | 'onNews'> & {
      readonly options: Pick<LeaseOptions, 'startTimeoutMs'>;
    },
  ) {}

  get state(): LeaseState {
    if (this.hasStopped) return 'released';
    const state = stateOf(this.parts.window.signals.state);
    // The thread that holds the lease may have ended without a signal.
    const isOver = this.endMs !== undefined && this.nowMs >= this.endMs;
    return isOver ? 'exhausted' : state;
  }

  get workerId(): number | undefined {
    return this.parts.window.current?.workerId;
  }

  get endMs(): number | undefined {
    return this.parts.window.endMs;
  }

  get clockSkewMs(): number {
    return this.parts.idClock.offsetMs;
  }

  get nowMs(): number {
    return this.parts.idClock.now();
  }

  /** Waits until the other thread holds a worker ID. */
  async start(): Promise<void> {
    const { window, timers, options, onNews } = this.parts;
    for (let waitedMs = 0; window.current === undefined; waitedMs += LOOK_AGAIN_MS) {
      if (window.isClosed) throw stopped();
      if (waitedMs >= options.startTimeoutMs) throw noLease(waitedMs);
      if (waitedMs === SILENT_MS) onNews(`${noLease(waitedMs).message} The start still waits.`);
      await pause(timers, LOOK_AGAIN_MS);
    }
  }

  /** Requests a renewal from the thread that holds the lease. */
  async refresh(): Promise<void> {
    this.parts.window.watch.halfUsed();
  }

  async stop(): Promise<void> {
    this.hasStopped = true;
    this.parts.window.leave(stopped);
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

/** Returns the shared lease of a support, from any copy of the package. */
export function sharedIn(support: IDistributedSupport): SharedLease | undefined {
  const { shared } = support as { readonly shared?: unknown };
  return isSharedLease(shared) ? shared : undefined;
}

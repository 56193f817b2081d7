/**
 * What an application injects: ids, and what can be read out of them.
 *
 * Promise: every call is one line to the generator or the layout. The lease behind it is had
 * before other modules' onModuleInit and given back after their last hook.
 */
import type { BitLayout, SnowflakeParts } from '../core/layout/bit-layout.js';
import type { SharedLease } from '../core/seat/shared-lease.js';
import type { CallFields } from '../core/generator/call-words.js';
import type { SnowflakeGenerator } from '../core/generator/snowflake-generator.js';
import type { WorkerIdRange } from '../core/layout/worker-id-range.js';
import { SnowflakeError } from '../errors.js';
import type { Keeper } from '../lease/keeper.js';
import type { LeaseState } from '../lease/lease-states.js';
import { shownName } from '../lease/printable.js';
import { DURATION_BOUNDS_MS, type RenewalRecord } from '../lease/renewal-record.js';
import type { WaitingLine } from '../lease/waiting-line.js';

/** How the generator stands, for health checks and metrics. */
export interface IdMakerStatus {
  readonly state: LeaseState;
  readonly workerId: number | undefined;
  /** When the range now leased ends; undefined without a lease or for one without end. */
  readonly leaseEndsAt: Date | undefined;
  /** The registry's incarnation; it must be equal in the whole fleet. */
  readonly incarnation: string | undefined;
  /** The store's clock minus this host's, at the last renewal. */
  readonly clockSkewMs: number;
  readonly issuedCount: number;
  /** How often a tick's sequence and the run-ahead were spent and an id waited for the clock. */
  readonly waitCount: number;
  readonly rollbackCount: number;
  /** When this was read, by the clock of the ids; `leaseEndsAt` is counted from it. */
  readonly readAt: Date;
  /** How far the time of the last id is ahead of the clock. */
  readonly aheadMs: number;
  /**
   * At least how many ids can be made if the store never answers again; the clock uses them up too,
   * until the lease is `stretched`. Undefined without a lease or for one without end.
   */
  readonly idsLeft: number | undefined;
  /** What became of the renewals; undefined in a thread that shares the lease of another. */
  readonly renewals: RenewalStatus | undefined;
}

export interface RenewalStatus {
  /** `ok`, `hold`, `fenced` ... as the store answered, `error` where it did not. */
  readonly countByAnswer: Readonly<Record<string, number>>;
  /** All the time they took. */
  readonly waitedMs: number;
  /** How many took up to `maxMs` and longer than the entry before says; the last has no end. */
  readonly durations: readonly { readonly maxMs: number; readonly count: number }[];
  /** Up to 64 of the last ones, the newest at the end: what was answered, and how long it took. */
  readonly recent: readonly { readonly answer: string; readonly tookMs: number }[];
  /** When the store prolonged the lease last. */
  readonly lastAt: Date | undefined;
}

/** What the module puts together; applications inject the whole. */
export interface IdMakerParts {
  readonly generator: SnowflakeGenerator;
  readonly keeper: Keeper;
  /** Those who wait in nextIdAsync(). */
  readonly line: WaitingLine;
  readonly shared: SharedLease | undefined;
  readonly workerIds: WorkerIdRange;
}

/**
 * Makes ids. Inject it.
 *
 * @example
 * ```ts
 * import { Injectable } from '@nestjs/common';
 * import { IdMaker } from 'nestjs-snowflake';
 *
 * @Injectable()
 * export class Orders {
 *   constructor(private readonly ids: IdMaker) {}
 *
 *   newOrderId(): string {
 *     return this.ids.nextIdString();
 *   }
 * }
 * ```
 */
export class IdMaker {
  private readonly generator: SnowflakeGenerator;
  private readonly keeper: Keeper;
  private readonly line: WaitingLine;
  private readonly shared: SharedLease | undefined;
  /** The worker ids that this generator may lease, both inclusive. */
  readonly workerIds: WorkerIdRange;

  constructor(parts: IdMakerParts) {
    this.generator = parts.generator;
    this.keeper = parts.keeper;
    this.line = parts.line;
    this.shared = parts.shared;
    this.workerIds = parts.workerIds;
  }

  /**
   * One id.
   * @throws SnowflakeError NOT_READY, LEASE_LOST, SEQUENCE_SPENT, CLOCK_UNUSABLE (retryable),
   * TIME_EXHAUSTED, or ARGUMENT_INVALID for a call field that does not fit.
   */
  nextId(fields?: CallFields): bigint {
    return this.generator.nextId(fields);
  }

  /** One id as decimal text, for JSON and TypeORM. Throws as nextId does. */
  nextIdString(fields?: CallFields): string {
    return this.generator.nextIdString(fields);
  }

  /** One id as a number, for layouts of at most 53 bits; CONFIG_INVALID on a wider one. */
  nextIdNumber(fields?: CallFields): number {
    return this.generator.nextIdNumber(fields);
  }

  /**
   * `count` ids in rising order. Throws as nextId does; ids made before the error are kept, and the
   * same call a little later goes on from there.
   */
  nextIds(count: number, fields?: CallFields): bigint[] {
    return this.generator.nextIds(count, fields);
  }

  /** `count` ids in rising order as decimal text, for inserts in bulk. Throws as nextId does. */
  nextIdStrings(count: number, fields?: CallFields): string[] {
    return this.generator.nextIdStrings(count, fields);
  }

  /** Fills an array with ids in rising order. Throws as nextId does. */
  fill(target: BigUint64Array | BigInt64Array, fields?: CallFields): void {
    this.generator.fill(target, fields);
  }

  /**
   * One id; waits where nextId() would throw a retryable error or wait for the clock in place. The
   * event loop goes on meanwhile. Callers are served in the order in which they came; any number of
   * them may wait, also under one signal.
   * @throws the reason of the signal when it is aborted, or what waiting cannot cure: NOT_READY
   * after the shutdown, TIME_EXHAUSTED, ARGUMENT_INVALID for a call field that does not fit.
   */
  nextIdAsync(options: { signal?: AbortSignal; fields?: CallFields } = {}): Promise<bigint> {
    return this.line.next(options);
  }

  /** Takes an id apart. Throws ID_INVALID for anything that is not an id of this layout. */
  parse(id: bigint | string): SnowflakeParts {
    return this.layout.parse(id);
  }

  /** The ids of a span of time, both dates inclusive, for `WHERE id BETWEEN first AND last`. */
  idRange(from: Date, to: Date): { readonly first: bigint; readonly last: bigint } {
    return this.layout.idRange(from, to);
  }

  /**
   * The lease of this generator for worker_threads of this process: hand it over by `workerData`
   * or `postMessage`, and give it as `support` there, or to joinSharedLease().
   * @throws SnowflakeError CONFIG_INVALID without the option `sharesLease: true`.
   */
  get sharedLease(): SharedLease {
    if (this.shared === undefined) throw notShareable();
    return this.shared;
  }

  get layout(): BitLayout {
    return this.generator.layout;
  }

  get status(): IdMakerStatus {
    const { keeper, generator } = this;
    const endMs = keeper.endMs;
    return {
      state: keeper.state,
      workerId: keeper.workerId,
      leaseEndsAt: endMs === undefined || endMs === Infinity ? undefined : new Date(endMs),
      // Whatever stands in the store, which others may write to: logs and metrics show it.
      incarnation: keeper.incarnation && shownName(keeper.incarnation),
      clockSkewMs: keeper.clockSkewMs,
      issuedCount: generator.issuedCount,
      waitCount: generator.waitCount,
      rollbackCount: generator.rollbackCount,
      readAt: new Date(keeper.nowMs),
      aheadMs: generator.aheadMs,
      idsLeft: generator.idsLeft,
      renewals: keeper.renewals && renewalStatus(keeper.renewals),
    };
  }
}

function renewalStatus(record: RenewalRecord): RenewalStatus {
  const { countByAnswer, waitedMs, lastMs, countByDuration, recent } = record;
  return {
    countByAnswer: { ...countByAnswer },
    waitedMs,
    lastAt: lastMs === undefined ? undefined : new Date(lastMs),
    durations: countByDuration.map((count, at) => ({
      maxMs: DURATION_BOUNDS_MS[at] ?? Infinity,
      count,
    })),
    recent: recent.map(({ outcome, tookMs }) => ({ answer: outcome, tookMs })),
  };
}

function notShareable(): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    'The lease of this generator is not in shared memory. Give SnowflakeModule the option ' +
      '`sharesLease: true`.',
  );
}

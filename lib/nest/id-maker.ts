/**
 * An application injects the IdMaker to generate IDs and to read them. This file also has its
 * status and the list of running IdMakers.
 *
 * Every call is one line to the source of IDs or to the layout. The source is ready before other
 * modules' onModuleInit and closes after their last hook.
 */
import type { CallFields, IdSource } from '../core/generator/id-source.js';
import type { SnowflakeGenerator } from '../core/generator/snowflake-generator.js';
import type { BitLayout, SnowflakeParts } from '../core/layout/bit-layout.js';
import type { WorkerIdRange } from '../core/layout/worker-id-range.js';
import type { SharedLease } from '../core/window/shared-lease.js';
import { SnowflakeError } from '../errors.js';
import type { GeneratorStatus, CallerQueue } from '../generator.js';
import type { LeaseState } from '../lease/held-lease.js';
import type { Keeper } from '../lease/keeper.js';
import { storeMoveIn, type StoreMove } from '../lease/lease-texts.js';
import type { RegionStatus } from '../lease/region-claim.js';
import { formatName } from '../messages.js';
import { processWide } from '../process-wide.js';
import type { CallStatus } from '../time/call-record.js';

/** The module builds these parts; applications inject the IdMaker. */
export interface IdMakerParts {
  readonly source: IdSource;
  readonly status: () => IdMakerStatus;
  /** The callers that wait in nextIdAsync(). */
  readonly line: CallerQueue;
  /** Undefined if IDs are plain numbers. */
  readonly layout: BitLayout | undefined;
  readonly shared?: SharedLease | undefined;
  /** Undefined if IDs need no worker ID. */
  readonly workerIds?: WorkerIdRange | undefined;
}

/**
 * Generates IDs. Inject it.
 *
 * @example
 * ```ts
 * import { Inject } from '@nestjs/common';
 * import { IdMaker } from 'nestjs-snowflake';
 *
 * export class Orders {
 *   constructor(@Inject(IdMaker) private readonly ids: IdMaker) {}
 *
 *   newOrderId(): string {
 *     return this.ids.nextIdString();
 *   }
 * }
 * ```
 */
export class IdMaker {
  private readonly source: IdSource;

  constructor(private readonly parts: IdMakerParts) {
    this.source = parts.source;
  }

  /**
   * One ID.
   * @throws SnowflakeError NOT_READY, LEASE_LOST, SEQUENCE_SPENT, SEGMENT_SPENT, CLOCK_UNUSABLE
   * (retryable), TIME_EXHAUSTED, COUNTER_ABSENT, COUNTER_FULL, or ARGUMENT_INVALID for a call field
   * that does not fit.
   */
  nextId(fields?: CallFields): bigint {
    return this.source.nextId(fields);
  }

  /** One ID as decimal text, for JSON and TypeORM. Throws as nextId does. */
  nextIdString(fields?: CallFields): string {
    return this.source.nextIdString(fields);
  }

  /** One ID as a number, for layouts and counters within 53 bits; CONFIG_INVALID beyond. */
  nextIdNumber(fields?: CallFields): number {
    return this.source.nextIdNumber(fields);
  }

  /**
   * `count` IDs in rising order. Throws as nextId does. The IDs from before an error remain valid,
   * and the same call a little later continues from there.
   */
  nextIds(count: number, fields?: CallFields): bigint[] {
    return this.source.nextIds(count, fields);
  }

  /** `count` IDs in rising order as decimal text, for inserts in bulk. Throws as nextId does. */
  nextIdStrings(count: number, fields?: CallFields): string[] {
    return this.source.nextIdStrings(count, fields);
  }

  /** Fills an array with IDs in rising order. Throws as nextId does. */
  fill(target: BigUint64Array | BigInt64Array, fields?: CallFields): void {
    this.source.fill(target, fields);
  }

  /**
   * One ID; waits if nextId() would throw a retryable error or wait for the clock in place. The
   * event loop continues in the meantime. Callers are served in the order of their calls. Any
   * number of callers may wait, even under one signal.
   * @throws the reason of an aborted signal, or an error that waiting cannot resolve: NOT_READY
   * after the shutdown, TIME_EXHAUSTED, ARGUMENT_INVALID for a call field that does not fit.
   */
  nextIdAsync(
    options: { signal?: AbortSignal | undefined; fields?: CallFields | undefined } = {},
  ): Promise<bigint> {
    return this.parts.line.next(options);
  }

  /**
   * `count` IDs in rising order; waits as nextIdAsync() does. IDs that a store generates come from
   * one call to it. Throws as nextIdAsync does; the IDs from before an error are lost.
   */
  nextIdsAsync(
    count: number,
    options: { signal?: AbortSignal | undefined; fields?: CallFields | undefined } = {},
  ): Promise<bigint[]> {
    return this.parts.line.nextMany(count, options);
  }

  /**
   * Splits an ID into its parts. Throws ID_INVALID for anything that is not an ID of this layout,
   * and CONFIG_INVALID if IDs are plain numbers.
   */
  parse(id: bigint | string): SnowflakeParts {
    return layoutFor(this.parts, 'parse').parse(id);
  }

  /** The IDs of a time span, both dates inclusive, for `WHERE id BETWEEN first AND last`. */
  idRange(from: Date, to: Date): { readonly first: bigint; readonly last: bigint } {
    return layoutFor(this.parts, 'idRange').idRange(from, to);
  }

  /**
   * The lease of this generator for worker_threads of this process. Pass it by `workerData` or
   * `postMessage`, and give it as `support` there, or to joinSharedLease().
   * @throws SnowflakeError CONFIG_INVALID without the option `sharesLease: true`.
   */
  get sharedLease(): SharedLease {
    const { shared, workerIds } = this.parts;
    if (workerIds === undefined) throw withoutWorkerId('sharedLease');
    if (shared !== undefined) return shared;
    throw new SnowflakeError(
      'CONFIG_INVALID',
      'The lease of this generator is not in shared memory. Give SnowflakeModule the option ' +
        '`sharesLease: true`.',
    );
  }

  /** @throws SnowflakeError CONFIG_INVALID if IDs are plain numbers. */
  get layout(): BitLayout {
    return layoutFor(this.parts, 'layout');
  }

  /**
   * The worker IDs that this generator may lease, both inclusive.
   * @throws SnowflakeError CONFIG_INVALID for a generator without a worker ID.
   */
  get workerIds(): WorkerIdRange {
    const { workerIds } = this.parts;
    if (workerIds === undefined) throw withoutWorkerId('workerIds');
    return workerIds;
  }

  /** The current status, for health checks and metrics. */
  get status(): IdMakerStatus {
    return this.parts.status();
  }
}

function layoutFor({ layout }: IdMakerParts, wanted: string): BitLayout {
  if (layout === undefined) {
    throw without(wanted, 'are numbers of a counter and hold neither time nor worker id');
  }
  return layout;
}

const withoutWorkerId = (wanted: string): SnowflakeError =>
  without(wanted, 'are made without a worker id');

function without(wanted: string, reason: string): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `The ids of this generator ${reason}, so its IdMaker has no \`${wanted}\`.`,
  );
}

/*
 * The status of a generator, for health checks and metrics, comes from its source of IDs and its
 * lease. Its fields depend on the kind of source, which `kind` names.
 */

/** The status of every generator that has a worker ID. */
interface WorkerIdStatus {
  readonly state: LeaseState;
  readonly workerId: number | undefined;
  /** The end of the leased range; undefined without a lease or for one without end. */
  readonly leaseEndsAt: Date | undefined;
  /** The store's clock minus this host's, ms, at the last renewal. */
  readonly clockSkewMs: number;
  readonly issuedCount: number;
  /** How often an ID waited for the clock because the tick and the run-ahead were used up. */
  readonly waitCount: number;
  /** How often the clock moved backwards. */
  readonly rollbackCount: number;
  /** The time of this status, by the clock of the IDs; compare `leaseEndsAt` with it. */
  readonly readAt: Date;
  /** How far the time of the last ID is ahead of the clock, ms; 0 if it is not ahead. */
  readonly aheadMs: number;
  /**
   * The minimum number of IDs left if the store never answers again. The clock also uses them up,
   * until the lease is `stretched`. Undefined without a lease or for one without end.
   */
  readonly idsLeft: number | undefined;
}

/** A generator with its own lease, or with its own worker ID without end. */
export interface LeaseStatus extends WorkerIdStatus {
  readonly kind: 'lease';
  /** The ID space: the namespace of its support, or else the application. */
  readonly space?: string | undefined;
  /**
   * The registry's name, the same in the whole fleet: its incarnation. After a loss of data or a
   * change of the server, a bar and the text of the last change follow. Each process gets the new
   * name with its next renewal. Undefined without a registry.
   */
  readonly incarnation: string | undefined;
  /** The move of the registry to another store, during the move; both have the same key. */
  readonly storeMove?: StoreMove | undefined;
  /** Whether another region uses this region's number; undefined without the option `regions`. */
  readonly region?: RegionStatus | undefined;
  /** The application's statement about the store, such as `keepsWrites`; absent without one. */
  readonly statement?: string | undefined;
  /** The outcome of the renewals. */
  readonly renewals: RenewalStatus;
}

/** A generator in a thread that shares another thread's lease; only that thread renews it. */
export interface SharedLeaseStatus extends WorkerIdStatus {
  readonly kind: 'shared';
  readonly incarnation: undefined;
  readonly renewals: undefined;
}

/** The status of a generator, by the kind of its source of IDs. */
export type IdMakerStatus = WorkerStatus | GeneratorStatus;

/** The status of a generator with a worker ID. */
export type WorkerStatus = LeaseStatus | SharedLeaseStatus;

export function hasWorkerId(status: IdMakerStatus): status is WorkerStatus {
  return status.kind === 'lease' || status.kind === 'shared';
}

/** If false, `layout`, `parse` and `idRange` of the IdMaker throw. */
export function hasLayout(status: IdMakerStatus): boolean {
  return status.kind !== 'segments';
}

/** The results of the calls that renew a lease. */
export type RenewalStatus = CallStatus;

export function statusOf(
  generator: SnowflakeGenerator,
  keeper: Keeper,
  { space, region, statement }: Pick<LeaseStatus, 'space' | 'region' | 'statement'> = {},
): WorkerStatus {
  const { endMs, incarnation, renewals, terms } = keeper;
  const worker: WorkerIdStatus = {
    state: keeper.state,
    workerId: keeper.workerId,
    leaseEndsAt: endMs === undefined || endMs === Infinity ? undefined : new Date(endMs),
    clockSkewMs: keeper.clockSkewMs,
    issuedCount: generator.issuedCount,
    waitCount: generator.waitCount,
    rollbackCount: generator.rollbackCount,
    readAt: new Date(keeper.nowMs),
    aheadMs: generator.aheadMs,
    idsLeft: generator.idsLeft,
  };
  const storeMove = storeMoveIn(terms?.layouts ?? '');
  if (renewals === undefined) {
    return { kind: 'shared', ...worker, incarnation: undefined, renewals: undefined };
  }
  return {
    kind: 'lease',
    ...worker,
    // Other programs may write to the store, and logs and metrics show these names.
    incarnation: incarnation && formatName(incarnation),
    ...(space !== undefined && { space: formatName(space) }),
    ...(storeMove && { storeMove }),
    ...(region && { region }),
    ...(statement !== undefined && { statement: formatName(statement) }),
    renewals: renewals.status,
  };
}

/*
 * The generators now running in this process, for code without dependency injection, such as entity
 * listeners. Applications and scripts add their generator at start and remove it at shutdown.
 */

const running = processWide(
  'running-id-makers',
  () => [] as { generator: string | undefined; ids: IdMaker }[],
);

export function addIdMaker(generator: string | undefined, ids: IdMaker): void {
  running.push({ generator, ids });
}

export function removeIdMaker(ids: IdMaker): void {
  const at = running.findIndex((entry) => entry.ids === ids);
  if (at >= 0) running.splice(at, 1);
}

/** Returns undefined if no generator with this name is running. */
export function runningIdMaker(generator: string | undefined): IdMaker | undefined {
  return running.findLast((candidate) => candidate.generator === generator)?.ids;
}

/**
 * The running IdMaker of this process, for code without dependency injection, such as the default
 * of a column. Call it when an ID is needed, not earlier. If several with this name run, it is the
 * one started last.
 *
 * @param generator the `name` of the generator; without one, the unnamed generator
 * @throws SnowflakeError NOT_READY when no such generator is running
 * @example
 * ```ts
 * import { currentIdMaker } from 'nestjs-snowflake';
 *
 * const order = { id: currentIdMaker().nextIdString(), note: 'by hand' };
 * ```
 */
export function currentIdMaker(generator?: string): IdMaker {
  const ids = runningIdMaker(generator);
  if (ids !== undefined) return ids;
  const wanted = generator === undefined ? 'No generator' : `No generator named '${generator}'`;
  const option = generator === undefined ? '' : ` with name: '${generator}'`;
  throw new SnowflakeError(
    'NOT_READY',
    `${wanted} is running, so no id was generated. In an application it runs from app.init() or ` +
      `app.listen() to the end of app.close(), where the root module imports ` +
      `SnowflakeModule.forRoot(...)${option}. Generate ids from onModuleInit on. In a script, ` +
      `migration or seed await startSnowflake(...)${option} first.`,
  );
}

/**
 * What an application injects: ids, and what can be read out of them.
 *
 * Every call is one line to the source of ids or the layout. The source is ready before other
 * modules' onModuleInit and is closed after their last hook.
 */
import type { BitLayout, SnowflakeParts } from '../core/layout/bit-layout.js';
import type { SharedLease } from '../core/seat/shared-lease.js';
import type { CallFields } from '../core/generator/call-words.js';
import type { IdSource } from '../core/generator/id-source.js';
import type { WorkerIdRange } from '../core/layout/worker-id-range.js';
import type { IdLine } from '../generator-kind.js';
import { SnowflakeError } from '../errors.js';
import type { IdMakerStatus } from './id-maker-status.js';

/** What the module puts together; applications inject the whole. */
export interface IdMakerParts {
  readonly source: IdSource;
  readonly status: () => IdMakerStatus;
  /** Those who wait in nextIdAsync(). */
  readonly line: IdLine;
  /** Undefined where ids cannot be taken apart; `nature` says why then. */
  readonly layout: BitLayout | undefined;
  readonly shared?: SharedLease | undefined;
  /** Undefined without a worker id; `nature` says why then. */
  readonly workerIds?: WorkerIdRange | undefined;
  /** What the ids are instead, of a generator without a worker id. */
  readonly nature?: string | undefined;
}

/**
 * Makes ids. Inject it.
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
   * One id.
   * @throws SnowflakeError NOT_READY, LEASE_LOST, SEQUENCE_SPENT, SEGMENT_SPENT, CLOCK_UNUSABLE
   * (retryable), TIME_EXHAUSTED, COUNTER_ABSENT, COUNTER_FULL, or ARGUMENT_INVALID for a call field
   * that does not fit.
   */
  nextId(fields?: CallFields): bigint {
    return this.source.nextId(fields);
  }

  /** One id as decimal text, for JSON and TypeORM. Throws as nextId does. */
  nextIdString(fields?: CallFields): string {
    return this.source.nextIdString(fields);
  }

  /** One id as a number, for layouts and counters within 53 bits; CONFIG_INVALID beyond. */
  nextIdNumber(fields?: CallFields): number {
    return this.source.nextIdNumber(fields);
  }

  /**
   * `count` ids in rising order. Throws as nextId does; ids made before the error are kept, and the
   * same call a little later goes on from there.
   */
  nextIds(count: number, fields?: CallFields): bigint[] {
    return this.source.nextIds(count, fields);
  }

  /** `count` ids in rising order as decimal text, for inserts in bulk. Throws as nextId does. */
  nextIdStrings(count: number, fields?: CallFields): string[] {
    return this.source.nextIdStrings(count, fields);
  }

  /** Fills an array with ids in rising order. Throws as nextId does. */
  fill(target: BigUint64Array | BigInt64Array, fields?: CallFields): void {
    this.source.fill(target, fields);
  }

  /**
   * One id; waits where nextId() would throw a retryable error or wait for the clock in place. The
   * event loop goes on meanwhile. Callers are served in the order in which they came; any number of
   * them may wait, also under one signal.
   * @throws the reason of the signal when it is aborted, or what waiting cannot cure: NOT_READY
   * after the shutdown, TIME_EXHAUSTED, ARGUMENT_INVALID for a call field that does not fit.
   */
  nextIdAsync(
    options: { signal?: AbortSignal | undefined; fields?: CallFields | undefined } = {},
  ): Promise<bigint> {
    return this.parts.line.next(options);
  }

  /**
   * `count` ids in rising order; waits as nextIdAsync() does. Of ids that are made in a store all
   * come by one call to it. Throws as nextIdAsync does; ids made before the error are lost.
   */
  nextIdsAsync(
    count: number,
    options: { signal?: AbortSignal | undefined; fields?: CallFields | undefined } = {},
  ): Promise<bigint[]> {
    return this.parts.line.nextMany(count, options);
  }

  /**
   * Takes an id apart. Throws ID_INVALID for anything that is not an id of this layout, and
   * CONFIG_INVALID where ids are plain numbers.
   */
  parse(id: bigint | string): SnowflakeParts {
    return layoutFor(this.parts, 'parse').parse(id);
  }

  /** The ids of a span of time, both dates inclusive, for `WHERE id BETWEEN first AND last`. */
  idRange(from: Date, to: Date): { readonly first: bigint; readonly last: bigint } {
    return layoutFor(this.parts, 'idRange').idRange(from, to);
  }

  /**
   * The lease of this generator for worker_threads of this process: hand it over by `workerData`
   * or `postMessage`, and give it as `support` there, or to joinSharedLease().
   * @throws SnowflakeError CONFIG_INVALID without the option `sharesLease: true`.
   */
  get sharedLease(): SharedLease {
    const { shared, nature } = this.parts;
    if (nature !== undefined) throw withoutIt('sharedLease', nature);
    if (shared === undefined) throw notShareable();
    return shared;
  }

  /** @throws SnowflakeError CONFIG_INVALID where ids are plain numbers. */
  get layout(): BitLayout {
    return layoutFor(this.parts, 'layout');
  }

  /**
   * The worker ids that this generator may lease, both inclusive.
   * @throws SnowflakeError CONFIG_INVALID of a generator without a worker id.
   */
  get workerIds(): WorkerIdRange {
    const { workerIds, nature = '' } = this.parts;
    if (workerIds === undefined) throw withoutIt('workerIds', nature);
    return workerIds;
  }

  /** How the generator stands, for health checks and metrics; read anew each time. */
  get status(): IdMakerStatus {
    return this.parts.status();
  }
}

function layoutFor({ layout, nature = '' }: IdMakerParts, wanted: string): BitLayout {
  if (layout === undefined) throw withoutIt(wanted, nature);
  return layout;
}

function withoutIt(wanted: string, nature: string): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `The ids of this generator ${nature}, so its IdMaker has no \`${wanted}\`.`,
  );
}

function notShareable(): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    'The lease of this generator is not in shared memory. Give SnowflakeModule the option ' +
      '`sharesLease: true`.',
  );
}

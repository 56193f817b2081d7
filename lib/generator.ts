/**
 * The contract of a generator that makes IDs without a worker ID, such as segments of a counter:
 * all that their modules know of it.
 */
import type { Clock } from './core/clock.js';
import type { CallFields, IdSource } from './core/generator/id-source.js';
import type { BitLayout } from './core/layout/bit-layout.js';
import type { CallStatus } from './time/call-record.js';
import type { Timers } from './time/timers.js';

/** The module passes these of its options on. */
export interface GeneratorEnvironment {
  readonly clock: Clock;
  /** Default: that of the host. */
  readonly monotonic?: Clock | undefined;
  readonly timers: Timers;
  /** How long one call to the store may take. */
  readonly callTimeoutMs: number;
  /** How long the start may wait for the first IDs. */
  readonly startTimeoutMs: number;
  /** A number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

/** Hears what happens to a generator. */
export interface GeneratorListener {
  changed(change: GeneratorChange): void;
  /** News that is no change of state. */
  news(text: string): void;
  /** There are IDs again, or there will be none any more: for those who wait. */
  woken(): void;
}

interface GeneratorChange {
  readonly from: GeneratorState;
  readonly to: GeneratorState;
  /** The reason in words. */
  readonly reason: string;
}

/** Serves callers that wait for ids: first come, first served. */
export interface CallerQueue {
  /** @throws the reason of the signal, or a SnowflakeError that waiting cannot cure */
  next(call: { signal?: AbortSignal; fields?: CallFields }): Promise<bigint>;
  /** Gives them in rising order. @throws as `next` does */
  nextMany(count: number, call: { signal?: AbortSignal; fields?: CallFields }): Promise<bigint[]>;
}

/** One generator, from its start to its stop. */
export interface OpenGenerator {
  readonly source: IdSource;
  /** Serves callers that wait; without it they wait for what `source` has at once. */
  readonly line?: CallerQueue;
  /** Absent where its IDs are plain numbers, which cannot be taken apart. */
  readonly layout?: BitLayout;
  /** Names for the operator where its IDs come from, without secrets. */
  readonly location: string;
  readonly status: GeneratorStatus;
  listen(listener: GeneratorListener): void;
  /** @throws SnowflakeError the reason why it had no IDs for startTimeoutMs, or a lasting one */
  start(): Promise<void>;
  /** Asks the store now if IDs are needed; never fails. */
  refresh(): Promise<void>;
  /** No ID is made from here on; what was not used is given back, and what it opened closed. */
  stop(): Promise<void>;
  /** One sentence for each danger to the IDs. */
  advice(): Promise<readonly string[]>;
}

/**
 * | state      | meaning                                   | nextId()                     |
 * | unassigned | nothing yet: before the start             | throws NOT_READY             |
 * | active     | ids are buffered, or the store answers    | makes ids                    |
 * | degraded   | the store gives none; ids are buffered    | makes ids                    |
 * | exhausted  | nothing is buffered                       | throws, saying why           |
 * | released   | shut down                                 | throws NOT_READY             |
 */
export type GeneratorState = 'unassigned' | 'active' | 'degraded' | 'exhausted' | 'released';

/** The state of such a generator, for health checks and metrics. */
export interface GeneratorStatus {
  /** `segments` of a counter, whose IDs are plain numbers, or IDs made in a `store`. */
  readonly kind: 'segments' | 'store';
  readonly state: GeneratorState;
  readonly issuedCount: number;
  /** The number of calls that found nothing buffered. */
  readonly waitCount: number;
  /** When this was read, by the clock of the host. */
  readonly readAt: Date;
  /** So many IDs can be made without the store. */
  readonly buffered: number;
  /**
   * So long `segments` last at the current rate, or the newest IDs of a `store` stay young enough;
   * undefined while that is not known.
   */
  readonly bufferedMs: number | undefined;
  /** The store is asked for so many at a time; undefined where for as many as are wanted. */
  readonly step: number | undefined;
  /** The outcomes of the calls to the store. */
  readonly calls: CallStatus;
  /** The same as `buffered`. */
  readonly idsLeft: number;
  // Only a generator with a worker ID has these.
  readonly workerId?: undefined;
  readonly leaseEndsAt?: undefined;
  readonly clockSkewMs?: undefined;
  readonly rollbackCount?: undefined;
  readonly aheadMs?: undefined;
  readonly incarnation?: undefined;
  readonly renewals?: undefined;
}

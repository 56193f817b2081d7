/**
 * The contract of a generator without a worker ID, such as segments of a counter, with the module
 * that runs it.
 */
import type { Clock } from './core/clock.js';
import type { CallFields, IdSource } from './core/generator/id-source.js';
import type { BitLayout } from './core/layout/bit-layout.js';
import type { CallStatus } from './time/call-record.js';
import type { Timers } from './time/timers.js';

/** The module options that every generator receives. */
export interface GeneratorEnvironment {
  readonly clock: Clock;
  /** Default: the host's monotonic clock. */
  readonly monotonic?: Clock | undefined;
  readonly timers: Timers;
  /** How long one call to the store may take. */
  readonly callTimeoutMs: number;
  /** How long the start may wait for the first IDs. */
  readonly startTimeoutMs: number;
  /** A number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

/** Receives the events of a generator. */
export interface GeneratorListener {
  changed(change: GeneratorChange): void;
  /** An event other than a change of state. */
  news(text: string): void;
  /** Called for waiting callers when IDs are available again or never will be. */
  woken(): void;
}

interface GeneratorChange {
  readonly from: GeneratorState;
  readonly to: GeneratorState;
  /** The reason in words. */
  readonly reason: string;
}

/** Serves callers that wait for IDs: first come, first served. */
export interface CallerQueue {
  /** @throws the reason of the signal, or a SnowflakeError if waiting cannot help */
  next(call: { signal?: AbortSignal; fields?: CallFields }): Promise<bigint>;
  /** Resolves with IDs in rising order. @throws as `next` does */
  nextMany(count: number, call: { signal?: AbortSignal; fields?: CallFields }): Promise<bigint[]>;
}

/** One generator, from its start to its stop. */
export interface OpenGenerator {
  readonly source: IdSource;
  /** Serves callers that wait; if absent, they wait until `source` has IDs. */
  readonly line?: CallerQueue;
  /** Absent if the IDs are plain numbers, which have no fields. */
  readonly layout?: BitLayout;
  /** The origin of the IDs, as text for operators without secrets. */
  readonly location: string;
  readonly status: GeneratorStatus;
  listen(listener: GeneratorListener): void;
  /** @throws SnowflakeError why there was no ID within startTimeoutMs, or a permanent error */
  start(): Promise<void>;
  /** Calls the store now if IDs are needed; never fails. */
  refresh(): Promise<void>;
  /** Generates no further IDs, returns unused numbers, and closes what it opened. */
  stop(): Promise<void>;
  /** One sentence for each risk to the IDs. */
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

/** The state of a generator without a worker ID, for health checks and metrics. */
export interface GeneratorStatus {
  /** `segments` of a counter, whose IDs are plain numbers, or IDs generated in a `store`. */
  readonly kind: 'segments' | 'store';
  readonly state: GeneratorState;
  readonly issuedCount: number;
  /** The number of calls that found nothing buffered. */
  readonly waitCount: number;
  /** The time of this status, by the host's clock. */
  readonly readAt: Date;
  /** The number of IDs available without the store. */
  readonly buffered: number;
  /**
   * How long `segments` last at the current rate, or how long the newest IDs of a `store` stay
   * usable; undefined while unknown.
   */
  readonly bufferedMs: number | undefined;
  /** The number requested from the store at a time; undefined if it varies with the demand. */
  readonly step: number | undefined;
  /** The outcomes of the calls to the store. */
  readonly calls: CallStatus;
  /** Equal to `buffered`. */
  readonly idsLeft: number;
  // Fields of generators with a worker ID only.
  readonly workerId?: undefined;
  readonly leaseEndsAt?: undefined;
  readonly clockSkewMs?: undefined;
  readonly rollbackCount?: undefined;
  readonly aheadMs?: undefined;
  readonly incarnation?: undefined;
  readonly renewals?: undefined;
}

/**
 * The contract between users of number ranges (segments, series, IDs made in a store) and the store
 * that counts: counters never go back, even if the store loses data.
 *
 * Guarantee: no counter grants a duplicate position, as long as the store loses no write older than
 * `lossWindowMs`. A loss costs positions, but never repeats one.
 */
import { ID_MAX } from '../core/id-words.js';
import { format } from '../messages.js';
import type { RegistryHeader } from '../registry/snapshot.js';
import { nowAt, type LaterTime } from '../rows/store-clock.js';
import { numberIn } from '../rows/row-store.js';

/** The highest end of a range: it fits the signed 64 bits of every store. */
export const POSITION_MAX = 2n ** 63n - 1n;

interface Take {
  /**
   * The name of the counter: 1 to 128 characters without spaces, e.g. `order` or
   * `invoice/20261121`.
   */
  readonly counter: string;
  /** How many positions are wanted, at least 1. Fewer may be granted. */
  readonly count: bigint;
  /**
   * The highest `end` that this process was ever answered for this counter of this store, 0n at
   * first. More than the store remembers proves that it has lost data. After a give-back it is the
   * end less what was given back.
   */
  readonly have: bigint;
  /**
   * The highest era that this process was ever answered for this counter of this store; absent at
   * first. A store with a lower one was replaced by another, and clients have come back to it.
   */
  readonly era?: number | undefined;
  /**
   * The position of this store among several, as `k/N` with k from 1: store k then makes the
   * numbers `position * N + k`, which is the caller's affair. The store counts positions and keeps
   * `k/N`, so that another order or number of stores is refused. Default `1/1`.
   */
  readonly stores?: string | undefined;
}

/** The next position is 1 higher than the last: segments, series. */
export interface DenseTake extends Take {
  readonly kind: 'dense';
  /**
   * How far the counter jumps after a loss of data, at least 2. So that the jump is always far
   * enough, at most half of it is granted within one loss window: give twice what all processes
   * together need in that time. One number for all of them; where they differ the highest counts,
   * and one that is higher than all before waits for one loss window.
   */
  readonly lossGap: bigint;
  /**
   * The first position of a counter that does not exist yet. If absent, no counter is created and
   * the answer is 'absent'. The caller vouches that no position from here on was ever used, since a
   * lost counter looks like one that never was. A start that comes from the data (the highest ID
   * stored) therefore needs `lossGap` added to it, for what other processes have buffered.
   */
  readonly startAt?: bigint | undefined;
}

/** The position follows the clock of the store, `max(next, now * perMs)`: IDs, fencing tokens. */
export interface ClockTake extends Take {
  readonly kind: 'clock';
  /** Positions per millisecond, from 1 to 4,194,304. Position 0 is the Unix epoch. */
  readonly perMs: number;
  /** How far positions may be ahead of the store's clock, from 1 ms. */
  readonly aheadMs: number;
  /**
   * The meaning of the positions, such as the layout of IDs: 1 to 256 characters without spaces or
   * |. The counter keeps it, and refuses callers that mean another one.
   */
  readonly about?: string | undefined;
  /**
   * The latest `nowMs` that this process was answered for this counter of this store, plus the time
   * since it asked, by a monotonic clock; absent at first. After a loss of data the counter jumps
   * above this time too, since the clock of the store may have been set back beside the loss.
   */
  readonly reckonedMs?: number | undefined;
}

/** A counter of kind clock creates itself; one of kind dense never does without `startAt`. */
export type TakeRequest = DenseTake | ClockTake;

/** The positions from `first` to `end`, `end` excluded, belong to the caller forever. */
export interface TakeGrant {
  readonly status: 'ok';
  readonly first: bigint;
  readonly end: bigint;
  /** Names this grant, for `giveBack`. */
  readonly grant: string;
  /** Counts the losses of data that the store has noticed. */
  readonly era: number;
  /** The clock of the counter, for `reckonedMs`. */
  readonly nowMs?: number | undefined;
}

/** The answer of a counter store to a take: a range, or the reason why there is none. */
export type TakeAnswer =
  | TakeGrant
  /**
   * Nothing is granted yet: the counter is new, it has jumped after a loss, `lossGap` was raised,
   * or as much as may be lost is under way. Ask again after so many ms.
   */
  | { readonly status: 'wait'; readonly waitMs: number; readonly nowMs?: number | undefined }
  /** The counter does not exist: never created, or lost by the store. */
  | { readonly status: 'absent' }
  /** No position is left below 2^63 - 1. */
  | { readonly status: 'full' }
  /** The counter is of another kind or meaning, or of another of several stores: see `stored`. */
  | { readonly status: 'mismatch'; readonly stored: string };

/** A counter to be created by an operator. */
export interface NewCounter {
  readonly counter: string;
  /** The first position. Nothing from here on may ever have been used. */
  readonly start: bigint;
  /** The position among several stores, as in a take. Default `1/1`. */
  readonly stores?: string | undefined;
}

/** A counter as the operator sees it. */
export interface CounterRecord {
  readonly counter: string;
  /** Kind, `k/N` and meaning, as a mismatch names them: `dense 1/1`, `clock 1024 1/1 t41-...`. */
  readonly form: string;
  /** The next position to be granted. */
  readonly next: bigint;
  readonly era: number;
  /** The counter grants nothing for so many ms; 0 if it grants now. */
  readonly waitMs: number;
}

/**
 * A store that counts. Every operation is one atomic step, by the store's clock. Failures are
 * thrown as SnowflakeErrors, best STORE_UNAVAILABLE; a take whose answer is lost may have been
 * carried out, and is simply asked again: it costs positions.
 *
 * @example
 * ```ts
 * import type { CounterStore } from 'nestjs-snowflake/store';
 *
 * async function numbers(store: CounterStore, have: bigint): Promise<bigint[]> {
 *   const request = { counter: 'order', count: 100n, have, lossGap: 10_000n, startAt: 1n };
 *   const answer = await store.take({ kind: 'dense', ...request });
 *   if (answer.status !== 'ok') throw new Error(answer.status);
 *   const { first, end } = answer;
 *   return Array.from({ length: Number(end - first) }, (_, at) => first + BigInt(at));
 * }
 * ```
 */
export interface CounterStore {
  /** @throws SnowflakeError CONFIG_INVALID for a request that cannot be meant so */
  take(request: TakeRequest): Promise<TakeAnswer>;
  /**
   * Takes back the last `unused` positions of a grant, unless others have taken since or data was
   * lost; then, and for a counter of kind clock, it does nothing. It is for callers that stop.
   */
  giveBack?(grant: string, unused: bigint): Promise<void>;
  /** Creates a dense counter; false if the name already exists. */
  create?(counter: NewCounter): Promise<boolean>;
  counters?(): Promise<CounterRecord[]>;
  /**
   * The largest age of acknowledged writes that the store can lose: 0 if it loses none; otherwise,
   * the time between two fsyncs, and how long an old primary answers after a failover.
   */
  readonly lossWindowMs: number;
  /** Describes the counters' location for operators, without secrets. */
  readonly location?: string | undefined;
  /** One sentence for each danger to the counters. */
  advice?(): Promise<string[]>;
  /** Closes only connections that the store itself opened. */
  close?(): Promise<void>;
}

/*
 * Finds faults in stores of counters, and in numbers that are taken from them.
 *
 * Guarantee: no store is printed, since it may hold a password.
 */

export const STORE_COUNT_MAX = 1024;

export function storeFaults(option: string, stores: unknown): string[] {
  const isList = Array.isArray(stores) && stores.length > 0 && stores.length <= STORE_COUNT_MAX;
  if (!isList || !stores.every(isCounterStore)) {
    return [
      `Expected \`${option}\` to name 1 to ${STORE_COUNT_MAX} stores of counters, as ` +
        `sqlCounters() and redisCounters() make them.`,
    ];
  }
  if (new Set(stores).size === stores.length) return [];
  return [`The same store is given twice in \`${option}\`. Give each of them once.`];
}

/** Recognizes a store of any maker, by its methods. */
export function isCounterStore(value: unknown): value is CounterStore {
  const candidate = value as Partial<CounterStore> | null | undefined;
  return typeof candidate === 'object' && typeof candidate?.take === 'function';
}

/** Checks numbers that may not fit a Number. */
export function bigFaults(name: string, value: unknown, min: bigint): string[] {
  const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value);
  if (isWhole && BigInt(value as number) >= min && BigInt(value as number) <= ID_MAX) return [];
  return [
    `Expected \`${name}\` to be a bigint or a safe integer from ${min}, got ${format(value)}.`,
  ];
}

/*
 * Counters as an operator sees them.
 *
 * Guarantee: reading changes nothing.
 */

/** The records are sorted by name. */
export function counterRecords(
  counters: readonly { counter: string; header: CounterHeader; row: CounterRow }[],
  later: LaterTime,
): CounterRecord[] {
  return counters
    .toSorted((a, b) => (a.counter < b.counter ? -1 : 1))
    .map(({ counter, header, row: { form, next, readyAtMs } }) => {
      const waitMs = Math.max(0, readyAtMs - nowAt(header, later));
      return { counter, form, next, era: header.era, waitMs };
    });
}

/*
 * A grant as text: its first position and a random text, so that no other grant, before or after a
 * loss, has the same. The caller's copy also names the counter.
 */

/** The grant as the store keeps it with its counter. */
export function grantText(first: bigint, random: string): string {
  return `${first}.${random}`;
}

export interface NamedGrant {
  readonly counter: string;
  /** The grant as the store keeps it. */
  readonly text: string;
  readonly first: bigint;
}

const NAMED = /^((\d+)\.[^.|]+)\.(.+)$/s;

/** Returns undefined for a grant in any other form than ours. */
export function namedGrant(grant: string): NamedGrant | undefined {
  const [, text, digits, counter] = NAMED.exec(grant) ?? [];
  const first = numberIn(digits);
  if (text === undefined || first === undefined || counter === undefined) return undefined;
  return { counter, text, first };
}

/*
 * A counter as its rules see it: the rules read what a store remembers of it at one moment, and say
 * what to write. The store never has to understand what it writes.
 */

/** The part of a store that all its counters share. */
export type CounterHeader = Pick<
  RegistryHeader,
  'incarnation' | 'server' | 'lastTimeMs' | 'slewMs' | 'era'
>;

/** One counter in a store. */
export interface CounterRow {
  /** The kind and `k/N` are compared as text. */
  readonly form: string;
  /** The next position to be granted. */
  readonly next: bigint;
  /**
   * The era in which the counter last began or jumped; if the header has another one, it jumps
   * first.
   */
  readonly era: number;
  /** The largest margin ever asked for: a loss gap in positions, or for kind clock ms ahead. */
  readonly margin: bigint;
  /** The counter grants nothing before this. */
  readonly readyAtMs: number;
  /** Positions are counted from this time on; `windowCount` were granted since. */
  readonly windowAtMs: number;
  readonly windowCount: bigint;
  /** The last grant; empty if it was taken back, or if a jump followed it. */
  readonly grant: string;
}

export interface CounterSnapshot {
  /** Undefined if the store has no header yet. */
  readonly header: CounterHeader | undefined;
  readonly row: CounterRow | undefined;
}

/**
 * The answer of an operation, given once header and row are written; an absent one is left as it
 * is.
 */
export interface CounterStep<T> {
  readonly answer: T;
  readonly header?: CounterHeader;
  readonly row?: CounterRow;
}

/** A counter without grants. */
export function blankRow(form: string, next: bigint, era: number): CounterRow {
  return {
    form,
    next,
    era,
    margin: 0n,
    readyAtMs: 0,
    windowAtMs: 0,
    windowCount: 0n,
    grant: '',
  };
}

/**
 * The contract between users of number ranges (segments, series, IDs made in a store) and the store
 * that counts. Counters never move back, even if the store loses data.
 *
 * Guarantee: no counter grants a duplicate position, provided that the store loses no write older
 * than `lossWindowMs`. A loss costs positions, but never repeats one.
 */
import { ID_MAX } from '../core/id-words.js';
import { format } from '../messages.js';
import type { RegistryHeader } from '../registry/snapshot.js';
import { nowAt, type LaterTime } from '../rows/store-clock.js';
import { numberIn } from '../rows/row-store.js';

/** The highest end of a range, which fits the signed 64 bits of every store. */
export const POSITION_MAX = 2n ** 63n - 1n;

interface Take {
  /**
   * The name of the counter: 1 to 128 characters without spaces, e.g. `order` or
   * `invoice/20261121`.
   */
  readonly counter: string;
  /** The number of requested positions, at least 1. The store may grant fewer. */
  readonly count: bigint;
  /**
   * The highest `end` that this process has received for this counter of this store, 0n at first. A
   * value above the store's record proves that it has lost data. After a give-back it is the end
   * minus the returned positions.
   */
  readonly have: bigint;
  /**
   * The highest era that this process has received for this counter of this store; absent at first.
   * A store with a lower era was replaced by another, and clients have returned to it.
   */
  readonly era?: number | undefined;
  /**
   * The position of this store among several, as `k/N` with k from 1: from store k, the caller
   * makes the numbers `position * N + k`. The store only counts positions. It keeps `k/N` and
   * refuses another order or number of stores. Default `1/1`.
   */
  readonly stores?: string | undefined;
}

/** The next position is always the last plus 1: segments, series. */
export interface DenseTake extends Take {
  readonly kind: 'dense';
  /**
   * How far the counter jumps after a loss of data, at least 2. To keep the jump sufficient, the
   * store grants at most half of it within one loss window. Set at least double what all processes
   * together need in that time. Use the same number in all processes. If numbers differ, the
   * highest counts, and a new highest number waits for one loss window.
   */
  readonly lossGap: bigint;
  /**
   * The first position of a counter that does not exist yet. If absent, no counter is created and
   * the response is 'absent'. The caller guarantees that no position from here on was ever used,
   * since a lost counter looks like a new one. A start derived from data (the highest stored ID)
   * therefore needs `lossGap` added, to cover what other processes have buffered.
   */
  readonly startAt?: bigint | undefined;
}

/** The position follows the clock of the store, `max(next, now * perMs)`: IDs, fencing tokens. */
export interface ClockTake extends Take {
  readonly kind: 'clock';
  /** Positions per millisecond, from 1 to 4,194,304. Position 0 is the Unix epoch. */
  readonly perMs: number;
  /** How far positions may be ahead of the store's clock, at least 1 ms. */
  readonly aheadMs: number;
  /**
   * The meaning of the positions, such as the layout of IDs: 1 to 256 characters without spaces or
   * |. The counter keeps it, and refuses callers that mean another one.
   */
  readonly about?: string | undefined;
  /**
   * The latest `nowMs` that this process received for this counter of this store, plus the
   * monotonic time since that request; absent at first. After a loss of data, the counter also
   * jumps above this time, since the store's clock may have been set back together with the loss.
   */
  readonly reckonedMs?: number | undefined;
}

/** A clock counter creates itself; a dense counter needs `startAt` for this. */
export type TakeRequest = DenseTake | ClockTake;

/** The positions from `first` to `end`, exclusive, belong to the caller forever. */
export interface TakeGrant {
  readonly status: 'ok';
  readonly first: bigint;
  readonly end: bigint;
  /** Identifies this grant, for `giveBack`. */
  readonly grant: string;
  /** The number of losses of data that the store has detected. */
  readonly era: number;
  /** The clock of the counter, for `reckonedMs`. */
  readonly nowMs?: number | undefined;
}

/** A counter store's response to a take: a range, or the reason for a refusal. */
export type TakeAnswer =
  | TakeGrant
  /**
   * The store grants nothing yet: the counter is new or has jumped after a loss, `lossGap` was
   * raised, or the recent grants have reached their limit. Send the next request after this many
   * ms.
   */
  | { readonly status: 'wait'; readonly waitMs: number; readonly nowMs?: number | undefined }
  /** The counter does not exist: it was never created, or the store lost it. */
  | { readonly status: 'absent' }
  /** No position is left below 2^63 - 1. */
  | { readonly status: 'full' }
  /** The counter is of another kind or meaning, or belongs to another store: see `stored`. */
  | { readonly status: 'mismatch'; readonly stored: string };

/** A counter that an operator creates. */
export interface NewCounter {
  readonly counter: string;
  /** The first position. No position from here on may have been used before. */
  readonly start: bigint;
  /** The position among several stores, as in a TakeRequest. Default `1/1`. */
  readonly stores?: string | undefined;
}

/** A counter, as shown to operators. */
export interface CounterRecord {
  readonly counter: string;
  /**
   * Kind, `k/N`, and meaning, as in errors of a mismatch: `dense 1/1`, `clock 1024 1/1 t41-...`.
   */
  readonly form: string;
  /** The next position to grant. */
  readonly next: bigint;
  readonly era: number;
  /** The time until the counter grants again, ms; 0 if it grants now. */
  readonly waitMs: number;
}

/**
 * A store that counts. Every operation is one atomic step, by the store's clock. It throws failures
 * as SnowflakeErrors, preferably STORE_UNAVAILABLE. A take whose response is lost may have
 * succeeded. The caller simply repeats it, at the cost of some positions.
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
  /** @throws SnowflakeError CONFIG_INVALID for an invalid request */
  take(request: TakeRequest): Promise<TakeAnswer>;
  /**
   * Takes back the last `unused` positions of a grant, for callers that stop. Does nothing for a
   * clock counter, after a later take, or after a loss of data.
   */
  giveBack?(grant: string, unused: bigint): Promise<void>;
  /** Creates a dense counter; false if the counter already exists. */
  create?(counter: NewCounter): Promise<boolean>;
  counters?(): Promise<CounterRecord[]>;
  /**
   * The maximum age of acknowledged writes that the store can lose. 0 if it loses none. Otherwise,
   * the time between two fsyncs plus how long an old primary responds after a failover.
   */
  readonly lossWindowMs: number;
  /** Describes the counters' location for operators, without secrets. */
  readonly location?: string | undefined;
  /** One sentence for each risk to the counters. */
  advice?(): Promise<string[]>;
  /** Closes only connections that the store itself opened. */
  close?(): Promise<void>;
}

/*
 * Finds errors in counter stores and in the numbers from them.
 *
 * Guarantee: no message shows a store, since it may contain a password.
 */

export const STORE_COUNT_MAX = 1024;

export function storeFaults(option: string, stores: unknown): string[] {
  const isList = Array.isArray(stores) && stores.length > 0 && stores.length <= STORE_COUNT_MAX;
  if (!isList || !stores.every(isCounterStore)) {
    return [
      `Expected \`${option}\` to have 1 to ${STORE_COUNT_MAX} counter stores, such as ` +
        `sqlCounters() or redisCounters().`,
    ];
  }
  if (new Set(stores).size === stores.length) return [];
  return [`The same store is given twice in \`${option}\`. Give each of them once.`];
}

/** Recognizes any store by its methods. */
export function isCounterStore(value: unknown): value is CounterStore {
  const candidate = value as Partial<CounterStore> | null | undefined;
  return typeof candidate === 'object' && typeof candidate?.take === 'function';
}

/** Checks values that may not fit a Number. */
export function bigFaults(name: string, value: unknown, min: bigint): string[] {
  const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value);
  if (isWhole && BigInt(value as number) >= min && BigInt(value as number) <= ID_MAX) return [];
  return [
    `Expected \`${name}\` to be a bigint or a safe integer from ${min}, got ${format(value)}.`,
  ];
}

/*
 * Counters, as shown to operators.
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
 * A grant as text: its first position and a random string, so no two grants are equal, even after a
 * loss. The caller's copy also names the counter.
 */

export interface NamedGrant {
  readonly counter: string;
  /** The grant as the store keeps it. */
  readonly text: string;
  readonly first: bigint;
}

const NAMED = /^((\d+)\.[^.|]+)\.(.+)$/s;

/** Returns undefined for a grant in an unknown form. */
export function namedGrant(grant: string): NamedGrant | undefined {
  const [, text, digits, counter] = NAMED.exec(grant) ?? [];
  const first = numberIn(digits);
  if (text === undefined || first === undefined || counter === undefined) return undefined;
  return { counter, text, first };
}

/*
 * The input and output of the counter rules: the store's records, read at one moment, and the
 * records to write. The store never interprets a record.
 */

/** The record that all counters of a store share. */
export type CounterHeader = Pick<
  RegistryHeader,
  'incarnation' | 'server' | 'lastTimeMs' | 'slewMs' | 'era'
>;

/** One counter in a store. */
export interface CounterRow {
  /** The kind and `k/N`, compared as text. */
  readonly form: string;
  /** The next position to grant. */
  readonly next: bigint;
  /**
   * The era in which the counter last started or jumped; if the header has another era, the counter
   * jumps first.
   */
  readonly era: number;
  /** The largest requested margin: a loss gap in positions or, for kind clock, ms ahead. */
  readonly margin: bigint;
  /** The counter grants nothing before this time. */
  readonly readyAtMs: number;
  /** The start of the current loss window, in which `windowCount` positions were granted. */
  readonly windowAtMs: number;
  readonly windowCount: bigint;
  /** The last grant; empty after a give-back or a jump. */
  readonly grant: string;
}

export interface CounterSnapshot {
  /** Undefined if the store has no header yet. */
  readonly header: CounterHeader | undefined;
  readonly row: CounterRow | undefined;
}

/**
 * The result of an operation, valid once header and row are written; an absent record stays
 * unchanged.
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

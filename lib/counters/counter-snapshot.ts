/**
 * A counter as its rules see it: what a store remembers of it, read at one moment, and what is
 * written out. The store never has to understand what it writes.
 */
import type { RegistryHeader, StoreReading } from '../registry/snapshot.js';

/** What a store remembers besides its counters. */
export type CounterHeader = Pick<
  RegistryHeader,
  'incarnation' | 'server' | 'lastTimeMs' | 'slewMs' | 'era'
>;

/** What a store remembers of one counter. */
export interface CounterRow {
  /** Kind and `k/N`, compared as text. */
  readonly form: string;
  /** The next position to be granted. */
  readonly next: bigint;
  /** In which it last began or jumped: another one than the header's means to jump first. */
  readonly era: number;
  /** The largest ever asked for: a lossGap in positions, for kind clock ms ahead. */
  readonly margin: bigint;
  /** Nothing is granted before. */
  readonly readyAtMs: number;
  /** Where the window began in which positions are counted, and how many were granted in it. */
  readonly windowAtMs: number;
  readonly windowCount: bigint;
  /** Of the last grant, empty where it was taken back or a jump follows it. */
  readonly grant: string;
}

export interface CounterSnapshot {
  /** Undefined where there is none. */
  readonly header: CounterHeader | undefined;
  readonly row: CounterRow | undefined;
}

/** What an operation answers, once what it says is written; what is absent stays as it is. */
export interface CounterStep<T> {
  readonly answer: T;
  readonly header?: CounterHeader;
  readonly row?: CounterRow;
}

/** What the store itself brings to an operation. `random` names the grant. */
export type CounterReading = StoreReading;

/** A counter of which nothing has been granted yet. */
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

/**
 * A counter as its rules see it: the rules read what a store remembers of it at one moment, and say
 * what to write. The store never has to understand what it writes.
 */
import type { RegistryHeader, StoreReading } from '../registry/snapshot.js';

/** The part of a store that all its counters share. */
export type CounterHeader = Pick<
  RegistryHeader,
  'incarnation' | 'server' | 'lastTimeMs' | 'slewMs' | 'era'
>;

/** One counter in a store. */
export interface CounterRow {
  /** Kind and `k/N`, compared as text. */
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

/** The store adds this to an operation. `random` names the grant. */
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

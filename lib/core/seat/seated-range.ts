/**
 * A range of the lease in its three forms: as it was leased, as it lies in memory, and as a thread
 * sees it.
 */
import type { FreePlace } from './place-cursor.js';

/** "Worker id 7, for ids whose time lies in [floor, ceiling)", Unix ms. */
export interface LeasedRange {
  readonly workerId: number;
  /** Inclusive; -Infinity where no registry knows any better. */
  readonly floorMs: number;
  /** Exclusive; Infinity for a worker id that is owned without end. */
  readonly ceilingMs: number;
}

/** A range in ticks, as it lies in memory. */
export interface StoredRange {
  readonly workerId: number;
  readonly floorTick: number;
  readonly ceilingTick: number;
}

/** A range in ticks, as one thread sees it. */
export interface SeatedRange {
  /** 1, 2, 3 in the order in which the ranges were granted. */
  readonly number: number;
  readonly workerId: number;
  /** Inclusive. */
  readonly floorTick: number;
  /** Exclusive. */
  ceilingTick: number;
  /** Half of what was left at the last grant; reaching it asks for more. */
  halfTick: number;
  /** True when ids may go back in time on entering it: an intended switch after a rollback. */
  readonly rewinds: boolean;
}

export function seatedRange(number: number, stored: StoredRange, rewinds: boolean): SeatedRange {
  return { number, ...stored, halfTick: halfway(stored.floorTick, stored.ceilingTick), rewinds };
}

/** The first tick of a range in which there can be an id. */
export function beginningOf({ floorTick }: StoredRange): number {
  return Math.max(0, floorTick);
}

/** True as long as no id of the range was taken. */
export function isBeginning(range: SeatedRange, { tick, sequence }: FreePlace): boolean {
  return tick === beginningOf(range) && sequence === 0;
}

/** -Infinity to Infinity has no middle: such a range never asks for more. */
export function halfway(from: number, to: number): number {
  return to === Infinity ? Infinity : from + (to - from) / 2;
}

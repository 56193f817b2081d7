/**
 * What became of the renewals, for status, metrics and dashboard.
 *
 * Promise: a few numbers, however long the process runs.
 */
import type { LeaseAnswer } from './distributed-support.js';

/** What the store answered, or 'error' where it did not. */
export type RenewalOutcome = LeaseAnswer['status'] | 'error';

/** How long one renewal took, and to what end. */
export interface RenewalTime {
  readonly outcome: RenewalOutcome;
  readonly tookMs: number;
}

/** Inclusive ends of the spans in which durations are counted; the last span has no end. */
export const DURATION_BOUNDS_MS: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000,
];
/** Enough for any interval between two looks of those who collect durations one by one. */
const RECENT_COUNT = 64;

export class RenewalRecord {
  readonly countByAnswer: Record<string, number> = {};
  /** True from a renewal, or a try to lease anew, that failed until one that did not. */
  isFailing = false;
  /** All the time they took, by the host's clock. */
  waitedMs = 0;
  /** When the store prolonged the lease last, by the host's clock, Unix ms. */
  lastMs: number | undefined;
  /** How many took as long as each span of DURATION_BOUNDS_MS says, and longer than the last. */
  readonly countByDuration: number[] = [...DURATION_BOUNDS_MS, Infinity].map(() => 0);
  /** The last ones, the newest at the end. */
  readonly recent: RenewalTime[] = [];

  note(outcome: RenewalOutcome, sentAtMs: number, nowMs: number): void {
    this.countByAnswer[outcome] = (this.countByAnswer[outcome] ?? 0) + 1;
    // A clock that was set back meanwhile took no time.
    const tookMs = Math.max(0, nowMs - sentAtMs);
    this.waitedMs += tookMs;
    const span = DURATION_BOUNDS_MS.findIndex((boundMs) => tookMs <= boundMs);
    this.countByDuration[span < 0 ? DURATION_BOUNDS_MS.length : span]! += 1;
    this.recent.push({ outcome, tookMs });
    if (this.recent.length > RECENT_COUNT) this.recent.shift();
    if (outcome === 'ok') this.lastMs = nowMs;
  }

  /** What came behind the time limit was counted as an error; what it said must not be missed. */
  noteLate(outcome: RenewalOutcome, nowMs: number): void {
    if (outcome === 'ok') this.lastMs = nowMs;
    else this.countByAnswer[outcome] = (this.countByAnswer[outcome] ?? 0) + 1;
  }
}

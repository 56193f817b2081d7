/**
 * What became of the renewals, for those who watch.
 *
 * Promise: a few numbers, however long it runs.
 */
import type { LeaseAnswer } from './distributed-support.js';

/** What the store answered, or 'error' where it did not. */
export type RenewalOutcome = LeaseAnswer['status'] | 'error';

export class RenewalRecord {
  readonly countByAnswer: Record<string, number> = {};
  /** True from a renewal, or a try to lease anew, that failed until one that did not. */
  isFailing = false;
  /** All the time they took, by the host's clock. */
  waitedMs = 0;
  /** When the store prolonged the lease last, by the host's clock, Unix ms. */
  lastMs: number | undefined;

  note(outcome: RenewalOutcome, sentAtMs: number, nowMs: number): void {
    this.countByAnswer[outcome] = (this.countByAnswer[outcome] ?? 0) + 1;
    // A clock that was set back meanwhile took no time.
    this.waitedMs += Math.max(0, nowMs - sentAtMs);
    if (outcome === 'ok') this.lastMs = nowMs;
  }

  /** What came behind the time limit was counted as an error; what it said must not be missed. */
  noteLate(outcome: RenewalOutcome, nowMs: number): void {
    if (outcome === 'ok') this.lastMs = nowMs;
    else this.countByAnswer[outcome] = (this.countByAnswer[outcome] ?? 0) + 1;
  }
}

/**
 * How many numbers are asked for at a time, and when: by the rate at which they are used.
 *
 * Promise: the rate is one of at least a second, whatever the clock does, and the step at most
 * doubles from one refill to the next; so no burst and no jump of the clock orders numbers for
 * hours, which a crash would lose.
 */

export interface StepTerms {
  /** For how long numbers shall be in hand. */
  readonly lastsMs: number;
  readonly stepMin: number;
  readonly stepMax: number;
}

/** What a shorter time has used is taken for the use of a second. */
const MEASURED_MS_MIN = 1000;
/** A shop that closes at night does not begin the day with the rate of the night. */
const MEASURED_MS_MAX = 60_000;

export class StepSize {
  private stepNow: number;
  private perMs = 0;
  private since: { readonly atMs: number; readonly issuedCount: number } | undefined;

  constructor(private readonly terms: StepTerms) {
    this.stepNow = terms.stepMin;
  }

  /** How many the next call asks for. */
  get step(): number {
    return this.stepNow;
  }

  /** At so many in hand, or fewer, more are asked for. */
  get mark(): number {
    const enough = Math.min(Math.ceil(this.perMs * this.terms.lastsMs), 2 * this.stepNow);
    return Math.max(Math.floor(this.stepNow / 2), enough);
  }

  /** How long so many last at the current rate; undefined while there is none. */
  lastingMs(count: number): number | undefined {
    return this.perMs === 0 ? undefined : Math.floor(count / this.perMs);
  }

  /** Before a refill: measures, and sets the step by it. */
  measure(issuedCount: number, nowMs: number): void {
    this.since ??= { atMs: nowMs, issuedCount };
    const { atMs, issuedCount: before } = this.since;
    const tookMs = nowMs - atMs;
    // A clock that was set back measured nothing: the next refill measures from here.
    if (tookMs < 0) this.since = { atMs: nowMs, issuedCount };
    else this.rate(issuedCount - before, tookMs);
    if (tookMs >= MEASURED_MS_MIN) this.since = { atMs: nowMs, issuedCount };
  }

  private rate(usedCount: number, tookMs: number): void {
    const measured = usedCount / Math.min(MEASURED_MS_MAX, Math.max(MEASURED_MS_MIN, tookMs));
    // Of a part of a second no more is known than that it was at least so many.
    this.perMs = tookMs >= MEASURED_MS_MIN ? measured : Math.max(this.perMs, measured);
    const { lastsMs, stepMin, stepMax } = this.terms;
    const wanted = Math.ceil((this.perMs * lastsMs) / 2);
    this.stepNow = Math.max(stepMin, Math.min(wanted, 2 * this.stepNow, stepMax));
  }
}

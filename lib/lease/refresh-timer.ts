/**
 * The renewals outside the schedule, after half of a range is used or a call has failed.
 *
 * Promise: at most one is due at a time, and none after cancel().
 */
import type { TimerHandle, Timers } from '../patience/timers.js';

/** Between the news that half a range is used and the renewal: many ids may follow at once. */
const SOON_MS = 20;

export class RefreshTimer {
  private due: TimerHandle;
  private isOver = false;

  constructor(
    private readonly timers: Timers,
    private readonly refresh: () => Promise<void>,
  ) {}

  /** Each of many refused ids asks: none may put off the call that would help. */
  soon(): void {
    if (this.due === undefined) this.in(SOON_MS);
  }

  in(delayMs: number): void {
    if (this.isOver) return;
    this.timers.cancel(this.due);
    this.due = this.timers.after(delayMs, () => {
      this.due = undefined;
      void this.refresh();
    });
  }

  cancel(): void {
    this.isOver = true;
    this.timers.cancel(this.due);
  }
}

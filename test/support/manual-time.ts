/**
 * Time that stands still until a test moves it: clock and timers of one world.
 */
import type { Clock } from '../../lib/core/clock.js';
import type { Timers } from '../../lib/lease/timers.js';

interface Due {
  atMs: number;
  readonly everyMs: number | undefined;
  readonly run: () => void;
}

export class ManualTime implements Clock, Timers {
  private readonly due = new Set<Due>();
  private elapsedMs = 0;

  constructor(public wallMs = Date.UTC(2026, 0, 1)) {}

  now(): number {
    return this.wallMs;
  }

  after(ms: number, run: () => void): Due {
    return this.add({ atMs: this.elapsedMs + ms, everyMs: undefined, run });
  }

  every(ms: number, run: () => void): Due {
    return this.add({ atMs: this.elapsedMs + ms, everyMs: ms, run });
  }

  cancel(timer: unknown): void {
    this.due.delete(timer as Due);
  }

  get timerCount(): number {
    return this.due.size;
  }

  /** Moves clock and timers on, running what becomes due in order. */
  async advance(ms: number): Promise<void> {
    const endMs = this.elapsedMs + ms;
    for (;;) {
      await settle();
      const [next] = [...this.due].toSorted((a, b) => a.atMs - b.atMs);
      if (next === undefined || next.atMs > endMs) break;
      this.pass(next.atMs - this.elapsedMs);
      if (next.everyMs === undefined) this.due.delete(next);
      else next.atMs += next.everyMs;
      next.run();
    }
    this.pass(endMs - this.elapsedMs);
    await settle();
  }

  private pass(ms: number): void {
    this.elapsedMs += Math.max(0, ms);
    this.wallMs += Math.max(0, ms);
  }

  private add(due: Due): Due {
    this.due.add(due);
    return due;
  }
}

/** Lets every promise that can go on do so. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

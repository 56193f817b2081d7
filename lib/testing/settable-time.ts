/**
 * Time that moves only when a test advances it: a clock and timers in one.
 *
 * Guarantee: only `advance` runs timers, in order, and each step settles every promise that can
 * settle. A test may also set the wall clock alone; timers follow the elapsed time.
 */
import type { Clock } from '../core/clock.js';
import { turn, type TimerHandle, type Timers } from '../time/timers.js';

/** This is 2026-01-01T00:00:00Z. */
const START_MS = 1_767_225_600_000;

/**
 * Use it for the options `clock` and `timers` of the module, so that tests never sleep.
 *
 * @example
 * ```ts
 * import { MemorySupport, SnowflakeModule } from 'nestjs-snowflake';
 * import { SettableTime } from 'nestjs-snowflake/testing';
 *
 * const time = new SettableTime();
 * SnowflakeModule.forRoot({
 *   support: new MemorySupport({ clock: time }),
 *   clock: time,
 *   timers: time,
 * });
 * await time.advance(10_000);
 * ```
 */
export class SettableTime implements Clock, Timers {
  /** In the order of their time; a canceled task stays until its time comes. */
  private readonly tasks: Due[] = [];
  private elapsedMs = 0;

  /** @param wallMs the reading of the clock, Unix ms; it may be set at any time */
  constructor(public wallMs = START_MS) {}

  now(): number {
    return this.wallMs;
  }

  /** The elapsed time, regardless of any step of the clock. */
  get passedMs(): number {
    return this.elapsedMs;
  }

  after(ms: number, run: () => void): TimerHandle {
    return this.put({ atMs: this.elapsedMs + ms, run, isCancelled: false });
  }

  every(ms: number, run: () => void): TimerHandle {
    return this.put({ atMs: this.elapsedMs + ms, everyMs: ms, run, isCancelled: false });
  }

  cancel(timer: TimerHandle): void {
    if (timer !== undefined) (timer as Due).isCancelled = true;
  }

  /** The number of timers that wait to fire. */
  get timerCount(): number {
    return this.tasks.filter((due) => !due.isCancelled).length;
  }

  /** Advances the time by `ms` and runs everything that becomes due, in order. */
  async advance(ms: number): Promise<void> {
    const endMs = this.elapsedMs + ms;
    await turn();
    for (let due = this.take(endMs); due; due = this.take(endMs)) {
      this.pass(due.atMs - this.elapsedMs);
      due.run();
      await turn();
    }
    this.pass(endMs - this.elapsedMs);
  }

  private pass(ms: number): void {
    const passedMs = Math.max(0, ms);
    this.elapsedMs += passedMs;
    this.wallMs += passedMs;
  }

  /** Removes the first task that is due by then; a repeated task is rescheduled. */
  private take(endMs: number): Due | undefined {
    for (;;) {
      const [first] = this.tasks;
      if (first === undefined || (first.atMs > endMs && !first.isCancelled)) return undefined;
      this.tasks.shift();
      if (first.isCancelled) continue;
      if (first.everyMs === undefined) return first;
      const taken = { ...first };
      first.atMs += first.everyMs;
      this.put(first);
      return taken;
    }
  }

  /** Inserts a task after all of the same time, so that a seed determines a whole simulation. */
  private put(due: Due): Due {
    let [from, to] = [0, this.tasks.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.tasks[middle]!.atMs <= due.atMs) from = middle + 1;
      else to = middle;
    }
    this.tasks.splice(from, 0, due);
    return due;
  }
}

interface Due {
  atMs: number;
  readonly everyMs?: number;
  readonly run: () => void;
  isCancelled: boolean;
}

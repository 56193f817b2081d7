/**
 * Time that stands still until a test moves it: a clock and timers in one.
 *
 * Promise: nothing happens but what `advance` lets happen, in order, each step with every promise
 * settled that can be. The wall clock may be set alone; timers follow the time that elapses.
 */
import type { Clock } from '../core/clock.js';
import { turn, type TimerHandle, type Timers } from '../patience/timers.js';
import { Agenda, type Due } from './agenda.js';

/** 2026-01-01T00:00:00Z. */
const START_MS = 1_767_225_600_000;

/**
 * For the options `clock` and `timers` of the module, so that tests never sleep.
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
  private readonly agenda = new Agenda();
  private elapsedMs = 0;

  /** @param wallMs what the clock shows, Unix ms; it may be set at any time */
  constructor(public wallMs = START_MS) {}

  now(): number {
    return this.wallMs;
  }

  /** How much time went by, whatever was done to the clock. */
  get passedMs(): number {
    return this.elapsedMs;
  }

  after(ms: number, run: () => void): TimerHandle {
    return this.agenda.add(this.elapsedMs + ms, run);
  }

  every(ms: number, run: () => void): TimerHandle {
    return this.agenda.add(this.elapsedMs + ms, run, ms);
  }

  cancel(timer: TimerHandle): void {
    if (timer !== undefined) (timer as Due).isCancelled = true;
  }

  /** Timers that wait to fire. */
  get timerCount(): number {
    return this.agenda.openCount;
  }

  /** Lets `ms` go by, running in order what becomes due. */
  async advance(ms: number): Promise<void> {
    const endMs = this.elapsedMs + ms;
    await turn();
    for (let due = this.agenda.take(endMs); due; due = this.agenda.take(endMs)) {
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
}

/**
 * Time that stands still until a test moves it: a clock and timers in one.
 *
 * Guarantee: only `advance` lets things happen, in order, and each step settles every promise that
 * can be settled. The wall clock may be set alone; timers follow the time that elapses.
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
  private readonly agenda = new Agenda();
  private elapsedMs = 0;

  /** @param wallMs the reading of the clock, Unix ms; it may be set at any time */
  constructor(public wallMs = START_MS) {}

  now(): number {
    return this.wallMs;
  }

  /** The time that went by, whatever was done to the clock. */
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

  /** Lets `ms` go by and runs in order everything that becomes due. */
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

/*
 * The agenda: by time, and among equals in the order of the calls.
 *
 * Guarantee: the same calls give the same order, so that a seed decides a whole simulation.
 */

interface Due {
  atMs: number;
  readonly everyMs: number | undefined;
  readonly run: () => void;
  /** Among equals the smaller goes first. */
  order: number;
  isCancelled: boolean;
}

/** A binary heap. A cancelled task stays in it until its time comes. */
class Agenda {
  private readonly heap: Due[] = [];
  private count = 0;

  add(atMs: number, run: () => void, everyMs?: number): Due {
    return this.push({ atMs, everyMs, run, order: 0, isCancelled: false });
  }

  get openCount(): number {
    return this.heap.filter((due) => !due.isCancelled).length;
  }

  /** Takes the first task due by then; a repeated one is put back for its next time. */
  take(endMs: number): Due | undefined {
    for (;;) {
      const first = this.heap[0];
      if (first === undefined || (first.atMs > endMs && !first.isCancelled)) return undefined;
      this.pop();
      if (first.isCancelled) continue;
      if (first.everyMs === undefined) return first;
      const taken = { ...first };
      first.atMs += first.everyMs;
      this.push(first);
      return taken;
    }
  }

  private push(due: Due): Due {
    due.order = this.count++;
    const { heap } = this;
    let at = heap.length;
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = heap[(at - 1) >> 1]!;
      if (!isBefore(due, parent)) break;
      heap[at] = parent;
    }
    heap[at] = due;
    return due;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (child >= heap.length || !isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Due, b: Due): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

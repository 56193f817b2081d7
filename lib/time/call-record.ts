/**
 * What became of the calls to a store, for status, metrics and dashboard.
 *
 * Guarantee: a few numbers, however long the process runs.
 */
import { withinLimit, type Timers } from './timers.js';

/** How long one call took, and to what end. */
interface CallTime<Outcome extends string = string> {
  readonly outcome: Outcome;
  readonly tookMs: number;
}

/** The calls of a generator to its store, as its status shows them. */
export interface CallStatus {
  /** `ok`, `wait` ... as the store answered, `error` where it did not. */
  readonly countByAnswer: Readonly<Record<string, number>>;
  /** All the time they took. */
  readonly waitedMs: number;
  /** How many took up to `maxMs` and longer than the entry before says; the last has no end. */
  readonly durations: readonly { readonly maxMs: number; readonly count: number }[];
  /** Up to 64 of the last ones, the newest at the end: what was answered, and how long it took. */
  readonly recent: readonly { readonly answer: string; readonly tookMs: number }[];
  /** When the store gave last what it was asked for. */
  readonly lastAt: Date | undefined;
}

/** Inclusive ends of the spans in which durations are counted; the last span has no end. */
export const DURATION_BOUNDS_MS: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000,
];
/** Enough for any interval between two looks of those who collect durations one by one. */
const RECENT_COUNT = 64;

export class CallRecord<Outcome extends string = string> {
  readonly countByAnswer: Record<string, number> = {};
  /** True from a call that failed until one that did not. */
  isFailing = false;
  /** All the time they took, by the host's clock. */
  waitedMs = 0;
  /** When the store answered `ok` last, by the host's clock, Unix ms. */
  lastMs: number | undefined;
  /** How many took as long as each span of DURATION_BOUNDS_MS says, and longer than the last. */
  readonly countByDuration: number[] = [...DURATION_BOUNDS_MS, Infinity].map(() => 0);
  /** The last ones, the newest at the end. */
  readonly recent: CallTime<Outcome>[] = [];

  note(outcome: Outcome, sentAtMs: number, nowMs: number): void {
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

  /** What came after the time limit was counted as an error; what it said must not be missed. */
  noteLate(outcome: Outcome, nowMs: number): void {
    if (outcome === 'ok') this.lastMs = nowMs;
    else this.countByAnswer[outcome] = (this.countByAnswer[outcome] ?? 0) + 1;
  }

  get status(): CallStatus {
    const { countByAnswer, waitedMs, lastMs, countByDuration, recent } = this;
    return {
      countByAnswer: { ...countByAnswer },
      waitedMs,
      lastAt: lastMs === undefined ? undefined : new Date(lastMs),
      durations: countByDuration.map((count, at) => ({
        maxMs: DURATION_BOUNDS_MS[at] ?? Infinity,
        count,
      })),
      recent: recent.map(({ outcome, tookMs }) => ({ answer: outcome, tookMs })),
    };
  }
}

/*
 * The answer to a question that many ask.
 *
 * Guarantee: it is put at most once per period and never twice at a time, however many ask. Whoever
 * asks waits no longer than the limit, and is given what stands for an answer then.
 */

interface Sharing<T> {
  readonly everyMs: number;
  readonly limitMs: number;
  /** What is answered where nothing comes within the limit. */
  readonly over: () => T;
  readonly timers: Timers;
}

export class SharedAnswer<T> {
  private askedAtMs = -Infinity;
  private isOpen = false;
  private answer: Promise<T> | undefined;

  constructor(
    private readonly ask: (nowMs: number) => Promise<T>,
    private readonly sharing: Sharing<T>,
  ) {}

  read(nowMs: number): Promise<T> {
    const { everyMs, limitMs: ms, over, timers } = this.sharing;
    // A clock that was set back must not delay the next question.
    const isDue = Math.abs(nowMs - this.askedAtMs) >= everyMs;
    if (this.answer === undefined || (isDue && !this.isOpen)) {
      this.askedAtMs = nowMs;
      this.answer = withinLimit(this.asked(nowMs), { timers, ms, over });
    }
    return this.answer;
  }

  private async asked(nowMs: number): Promise<T> {
    this.isOpen = true;
    try {
      return await this.ask(nowMs);
    } finally {
      this.isOpen = false;
    }
  }
}

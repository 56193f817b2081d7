/**
 * Records store calls for status, metrics and the dashboard, and closes a store that is in use.
 *
 * Guarantee: memory use is constant, however long the process runs.
 */
/** A generator's calls to its store, for its status. */
export interface CallStatus {
  /** Counts by response of the store, such as `ok` or `wait`; `error` without a response. */
  readonly countByAnswer: Readonly<Record<string, number>>;
  /** The total duration of all calls. */
  readonly waitedMs: number;
  /**
   * The number of calls that took up to `maxMs` and longer than the previous entry; the last entry
   * has no limit.
   */
  readonly durations: readonly { readonly maxMs: number; readonly count: number }[];
  /** The response and the duration of up to 64 recent calls, the newest last. */
  readonly recent: readonly { readonly answer: string; readonly tookMs: number }[];
  /** The time of the last call that the store granted. */
  readonly lastAt: Date | undefined;
}

/** The inclusive upper bounds of the histogram of durations; the last bucket has no bound. */
export const DURATION_BOUNDS_MS: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000,
];
/** Enough calls between two collections, for readers that collect single durations. */
const RECENT_COUNT = 64;

export class CallRecord<Outcome extends string = string> {
  readonly countByAnswer: Record<string, number> = {};
  /** True from a failed call until one that succeeds. */
  isFailing = false;
  /** The total duration of all calls, by the host's clock. */
  waitedMs = 0;
  /** The time of the last `ok` response, by the host's clock, Unix ms. */
  lastMs: number | undefined;
  /** The number of calls in each bucket of DURATION_BOUNDS_MS, and above the last bound. */
  readonly countByDuration: number[] = [...DURATION_BOUNDS_MS, Infinity].map(() => 0);
  /** The last calls, the newest last. */
  readonly recent: { readonly outcome: Outcome; readonly tookMs: number }[] = [];

  note(outcome: Outcome, sentAtMs: number, nowMs: number): void {
    this.countByAnswer[outcome] = (this.countByAnswer[outcome] ?? 0) + 1;
    // If the clock was set back during the call, the duration counts as 0.
    const tookMs = Math.max(0, nowMs - sentAtMs);
    this.waitedMs += tookMs;
    const span = DURATION_BOUNDS_MS.findIndex((boundMs) => tookMs <= boundMs);
    this.countByDuration[span < 0 ? DURATION_BOUNDS_MS.length : span]! += 1;
    this.recent.push({ outcome, tookMs });
    if (this.recent.length > RECENT_COUNT) this.recent.shift();
    if (outcome === 'ok') this.lastMs = nowMs;
  }

  /** A late response already counted as an error, but its outcome must not be lost. */
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
 * Closes a store that is still in use. A call during or after close() makes the store open its
 * connections again.
 *
 * Guarantee: when such a call has ended and the same user has no other pending call, the store
 * closes again.
 */

type Call = (...args: unknown[]) => unknown;

/** Wraps a store for one of its users. */
export function closedAfterLastCall<S extends { close?(): Promise<void> }>(store: S): S {
  let [underWayCount, isOver] = [0, false];
  const close = async (): Promise<void> => {
    isOver = true;
    await store.close?.();
  };
  const run = async (call: Call, args: unknown[]): Promise<unknown> => {
    underWayCount++;
    try {
      return await call.apply(store, args);
    } finally {
      underWayCount--;
      // A failed close must not fail the call.
      if (isOver && underWayCount === 0) await close().catch(() => undefined);
    }
  };
  return new Proxy(store, {
    get: (_, name) => {
      const member: unknown = Reflect.get(store, name);
      if (typeof member !== 'function' || name === 'constructor') return member;
      if (name === 'close') return close;
      return (...args: unknown[]) => run(member as Call, args);
    },
  });
}

/**
 * Queues of calls: one at a time for each key, or a few at once.
 *
 * Guarantee: calls begin in order, and each gets only its own error. In a queue with a limit, a
 * call that exceeds it no longer blocks the others.
 */
import { afterTurn, withinLimit, type Timers } from './timers.js';

/** The time after which the next call begins, even if the one before it has not ended. */
interface TurnLimit {
  readonly ms: number;
  readonly timers: Timers;
}

const over = () => undefined;

/** Runs one call at a time for each key. */
export class OneAtATime<K> {
  constructor(
    private readonly limit?: TurnLimit,
    /** The end of the last turn by key; passed in if several queues share it. */
    private readonly ends = new Map<K, Promise<unknown>>(),
  ) {}

  run<T>(key: K, call: () => Promise<T>): Promise<T> {
    const { limit, ends } = this;
    const before = ends.get(key) ?? Promise.resolve();
    const own = before.then(call);
    const ended = own.then(over, over);
    const turn = limit ? before.then(() => withinLimit(ended, { ...limit, over })) : ended;
    const end = turn.then(() => {
      if (ends.get(key) === end) ends.delete(key);
    });
    ends.set(key, end);
    return own;
  }
}

/** Runs a few calls at once. */
export class FewAtOnce {
  readonly #waiting = new Set<() => void>();
  #count = 0;

  constructor(
    private readonly countMax: number,
    private readonly limit?: TurnLimit,
  ) {}

  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#count < this.countMax) this.#count++;
    else await new Promise<void>((begin) => this.#waiting.add(begin));
    let isOver = false;
    const leave = () => {
      if (!isOver) this.#passOn();
      isOver = true;
    };
    const late = this.limit?.timers.after(this.limit.ms, leave);
    try {
      return await call();
    } finally {
      this.limit?.timers.cancel(late);
      leave();
    }
  }

  #passOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#count--;
    else this.#waiting.delete(next);
    next?.();
  }
}

/** Few enough for a short turn of the event loop, even if no call waits for a store. */
const TURN_COUNT = 16;

/** Spreads thousands of concurrent calls over several turns of the event loop, in order. */
export class FewInATurn {
  readonly #waiting = new Set<() => void>();
  #count = 0;

  /** Resolves in the caller's turn; undefined if that is the current turn. */
  next(): Promise<void> | undefined {
    if (this.#count === 0) afterTurn(() => this.#begin());
    if (this.#count < TURN_COUNT) return void this.#count++;
    return new Promise((go) => this.#waiting.add(go));
  }

  #begin(): void {
    this.#count = 0;
    for (const go of this.#waiting) {
      if (this.#count === TURN_COUNT) break;
      this.#waiting.delete(go);
      this.#count++;
      go();
    }
    if (this.#count > 0) afterTurn(() => this.#begin());
  }
}

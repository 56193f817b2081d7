/**
 * Operations on rows that several processes change: again and again until nobody else was faster.
 *
 * Promise: no lock is taken, so that a process which stalls between reading and writing stops
 * nobody; the callers of one process come one after another, so that they do not race each other.
 */
import { SnowflakeError } from '../errors.js';
import { RetryDelay } from '../patience/retry-delay.js';
import { pause, systemTimers, type Timers } from '../patience/timers.js';
import { RefusedWrites } from './refused-writes.js';

/** Each time somebody else got on. */
const ATTEMPT_COUNT = 40;
const PAUSE_MS_MAX = 500;

export interface RowTurnsParts {
  readonly timers?: Timers;
  /** From 0 up to 1. */
  readonly random?: () => number;
}

/**
 * Undefined where somebody else was faster.
 *
 * @param refused is told of each write that was not carried out
 */
export type RowAttempt<T> = (refused: RefusedWrites) => Promise<{ readonly answer: T } | undefined>;

export class RowTurns {
  readonly #place: string;
  readonly #timers: Timers;
  readonly #random: () => number;
  /** By key, the end of the last call. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(place: string, parts: RowTurnsParts = {}) {
    const { timers = systemTimers, random = Math.random } = parts;
    this.#place = place;
    this.#timers = timers;
    this.#random = random;
  }

  async run<T>(key: string, attempt: RowAttempt<T>): Promise<T> {
    const before = this.#turns.get(key) ?? Promise.resolve();
    const own = before.then(() => this.#attempts(attempt));
    // What one caller hears is no matter of the next.
    const end = own.catch(() => undefined);
    this.#turns.set(key, end);
    try {
      return await own;
    } finally {
      if (this.#turns.get(key) === end) this.#turns.delete(key);
    }
  }

  async #attempts<T>(attempt: RowAttempt<T>): Promise<T> {
    const delay = new RetryDelay(this.#random, 1, PAUSE_MS_MAX);
    const refused = new RefusedWrites(this.#place);
    for (let count = 0; count < ATTEMPT_COUNT; count++) {
      const taken = await attempt(refused);
      if (taken !== undefined) return taken.answer;
      await pause(this.#timers, delay.next());
    }
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `Other processes kept changing what was read from ${this.#place}, so nothing was written. ` +
        `It will be asked again.`,
    );
  }
}

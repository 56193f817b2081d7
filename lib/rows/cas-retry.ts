/**
 * Operations on rows that several processes change: again and again until nobody else was faster.
 *
 * Guarantee: no lock is taken, so that a process which stalls between reading and writing stops
 * nobody; the callers of one process come one after another, so that they do not race each other.
 */
import { SnowflakeError } from '../errors.js';
import { pause, RetryDelay, systemTimers, type Timers } from '../time/timers.js';

/** Each time somebody else got on. */
const ATTEMPT_COUNT = 40;
const PAUSE_MS_MAX = 500;

/** Timers and chance, which tests may replace. */
export interface RowTurnsParts {
  readonly timers?: Timers | undefined;
  /** From 0 up to 1. */
  readonly random?: (() => number) | undefined;
}

/**
 * Undefined where somebody else was faster.
 *
 * @param refused is told of each write that was not carried out
 */
type RowAttempt<T> = (refused: RefusedWrites) => Promise<{ readonly answer: T } | undefined>;

export class CasRetry {
  readonly #location: string;
  readonly #timers: Timers;
  readonly #random: () => number;
  /** By key, the end of the last call. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(location: string, parts: RowTurnsParts = {}) {
    const { timers = systemTimers, random = Math.random } = parts;
    this.#location = location;
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
    const refused = new RefusedWrites(this.#location);
    for (let count = 0; count < ATTEMPT_COUNT; count++) {
      const taken = await attempt(refused);
      if (taken !== undefined) return taken.answer;
      await pause(this.#timers, delay.next());
    }
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `Other processes kept changing what was read from ${this.#location}, so nothing was ` +
        `written. It will be asked again.`,
    );
  }
}

/*
 * One operation at a time for each token: its caller may have given up and asked again since, and
 * what comes after a later operation would look as if a copy of the holder had asked.
 *
 * Guarantee: whoever asks the same again waits for the answer that is on its way, however busy the
 * store; only for so long, since some answers never come.
 */

/**
 * Longer than a fleet of a thousand takes to be served by a slow store, and shorter than a start
 * waits by default.
 */
export const SAME_ANSWER_MS_MAX = 20_000;

interface Question {
  readonly token: string;
}

interface Operation {
  /** In JSON, while the same question gets the same answer. */
  question?: string | undefined;
  answer?: Promise<unknown>;
}

export class SupersedingCalls {
  /** By token, the operation that was asked for last. */
  readonly #latest = new Map<string, Operation>();

  constructor(private readonly timers: Timers) {}

  /** @param run is told whether it is still the one that was asked for last */
  of<T>({ token }: Question, run: (isLatest: () => boolean) => Promise<T>): Promise<T> {
    return this.#run(token, {}, run);
  }

  /** As `of`, for a question that may be asked again with `answerOnItsWay`. */
  async repeatable<T>(
    question: Question,
    run: (isLatest: () => boolean) => Promise<T>,
  ): Promise<T> {
    const own: Operation = { question: JSON.stringify(question) };
    const timer = this.timers.after(SAME_ANSWER_MS_MAX, () => (own.question = undefined));
    const answer = this.#run(question.token, own, run);
    own.answer = answer;
    try {
      return await answer;
    } finally {
      this.timers.cancel(timer);
    }
  }

  /** Of the operation under way, where it was asked the very same and not too long ago. */
  answerOnItsWay<T>(question: Question): Promise<T> | undefined {
    const { question: theirs, answer } = this.#latest.get(question.token) ?? {};
    return theirs === JSON.stringify(question) ? (answer as Promise<T>) : undefined;
  }

  async #run<T>(
    token: string,
    own: Operation,
    run: (isLatest: () => boolean) => Promise<T>,
  ): Promise<T> {
    this.#latest.set(token, own);
    const isLatest = () => this.#latest.get(token) === own;
    try {
      return await run(isLatest);
    } finally {
      if (isLatest()) this.#latest.delete(token);
    }
  }
}

/*
 * Tells a store that refuses every write from one where somebody else was faster: what a write
 * rests on is read before each, and stays the same where nobody changes it.
 */

/** Those of a fleet that starts get on meanwhile; a call has not ended by then. */
const REFUSED_COUNT = 5;

/** Of one call. */
export class RefusedWrites {
  readonly #location: string;
  #rests = '';
  #count = 0;

  constructor(location: string) {
    this.#location = location;
  }

  /**
   * @param rests the row that was refused, and all that its write rests on, as it was read
   * @throws SnowflakeError STORE_UNAVAILABLE once it is clear
   */
  note(...rests: readonly unknown[]): void {
    const name = JSON.stringify(rests);
    this.#count = name === this.#rests ? this.#count + 1 : 1;
    this.#rests = name;
    if (this.#count === REFUSED_COUNT) throw refusing(this.#location);
  }
}

function refusing(location: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The store carried out none of ${REFUSED_COUNT} writes to ${location}, although nobody had ` +
      `changed what they rest on. See whether a trigger or row-level security keeps rows from ` +
      `being written, or a proxy sends reads and writes to different servers.`,
  );
}

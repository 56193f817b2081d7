/**
 * One operation at a time for each token: its caller may have given up and asked again since, and
 * what comes after a later operation would look as if a copy of the holder had asked.
 *
 * Promise: whoever asks the same again waits for the answer that is on its way, however busy the
 * store; only for so long, since some answers never come.
 */
import type { Timers } from '../patience/timers.js';

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

export class LatestOperation {
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

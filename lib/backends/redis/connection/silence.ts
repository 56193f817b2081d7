/**
 * Notices that a connection has gone silent: somebody waits on it, and nothing comes.
 *
 * A server that is gone with its machine closes no connection. The kernel repeats what was written,
 * on Linux for some fifteen minutes, and a client without a limit waits as long. Promise: a
 * connection that answers anybody is left alone.
 */
import { systemTimers, type TimerHandle, type Timers } from '../../../patience/timers.js';

/** Scripts take microseconds. A server that is busy says so to everybody after 5 s, by default. */
export const SILENCE_MS = 10_000;

export class Silence {
  readonly #onSilence: () => void;
  readonly #timers: Timers;
  #waitingCount = 0;
  #isHeard = false;
  #timer: TimerHandle;

  /** @param onSilence at each SILENCE_MS that passed without an answer */
  constructor(onSilence: () => void, timers = systemTimers) {
    this.#onSilence = onSilence;
    this.#timers = timers;
  }

  /** @param answer one that is waited for on the connection */
  async until<T>(answer: Promise<T>): Promise<T> {
    if (this.#waitingCount++ === 0) this.#listen();
    try {
      return await answer;
    } finally {
      this.#isHeard = true;
      if (--this.#waitingCount === 0) this.#timers.cancel(this.#timer);
    }
  }

  #listen(): void {
    this.#isHeard = false;
    this.#timer = this.#timers.after(SILENCE_MS, () => {
      if (!this.#isHeard) this.#onSilence();
      this.#listen();
    });
  }
}

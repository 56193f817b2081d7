/**
 * Who waits for which lock, and is woken by the message of its release.
 *
 * Promise: nothing rests on a message. One that is not heard, because a connection broke or may not
 * subscribe, leaves whoever waits to ask again at its own time.
 */
import type { RedisConnection } from '../connection/redis-connection.js';

interface Waiting {
  readonly wakes: Set<() => void>;
  /** Resolves when the server sends the messages. */
  readonly subscribed: Promise<void>;
}

export class Releases {
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #waiting = new Map<string, Waiting>();

  constructor(connection: RedisConnection, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
    connection.hear((channel) => {
      for (const wake of this.#waiting.get(channel.slice(prefix.length))?.wakes ?? []) wake();
    });
  }

  /** @param isFree asked once: the lock may have been released before messages came */
  async until(lock: string, signal: AbortSignal, isFree: () => Promise<boolean>): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', wake);
        this.#leave(lock, wake);
        resolve();
      };
      signal.addEventListener('abort', wake);
      const { subscribed } = this.#enter(lock, wake);
      const look = async () => {
        await subscribed;
        if (!signal.aborted && (await isFree())) wake();
      };
      // Whoever waits asks again at its own time.
      look().catch(() => undefined);
      if (signal.aborted) wake();
    });
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #enter(lock: string, wake: () => void): Waiting {
    const known = this.#waiting.get(lock);
    if (known !== undefined) {
      known.wakes.add(wake);
      return known;
    }
    this.#connection.reopen();
    const subscribed = this.#connection.subscribe(this.#prefix + lock);
    const waiting = { wakes: new Set([wake]), subscribed };
    this.#waiting.set(lock, waiting);
    return waiting;
  }

  #leave(lock: string, wake: () => void): void {
    const waiting = this.#waiting.get(lock);
    if (waiting === undefined || !waiting.wakes.delete(wake) || waiting.wakes.size > 0) return;
    this.#waiting.delete(lock);
    const left = waiting.subscribed.then(() => {
      // Somebody else may have come to wait meanwhile.
      if (this.#waiting.has(lock)) return undefined;
      return this.#connection.unsubscribe(this.#prefix + lock);
    });
    // A message that nobody waits for does no harm.
    left.catch(() => undefined);
  }
}

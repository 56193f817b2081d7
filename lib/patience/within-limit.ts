/**
 * A time limit for a promise.
 *
 * Promise: no timer is left running, and what the promise does afterwards is no unhandled error.
 */
import type { Timers } from './timers.js';

export interface Limit {
  readonly ms: number;
  readonly timers: Timers;
  /** What is thrown when the time is over. */
  error(): Error;
}

export async function withinLimit<T>(asked: Promise<T>, limit: Limit): Promise<T> {
  const { timers, ms } = limit;
  let timer: unknown;
  const over = new Promise<never>((_, reject) => {
    timer = timers.after(ms, () => reject(limit.error()));
  });
  try {
    return await Promise.race([asked, over]);
  } finally {
    timers.cancel(timer);
  }
}

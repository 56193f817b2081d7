/**
 * A time limit for a promise.
 *
 * Promise: no timer is left running, and what the promise does afterwards is no unhandled error.
 */
import type { Timers } from './timers.js';

export interface Limit<T> {
  readonly ms: number;
  readonly timers: Timers;
  /** What stands for the answer when the time is over; may throw. */
  over(): T;
}

export async function withinLimit<T>(asked: Promise<T>, limit: Limit<T>): Promise<T> {
  const { timers, ms } = limit;
  let timer: unknown;
  const late = new Promise<T>((resolve, reject) => {
    timer = timers.after(ms, () => {
      // In the turn of the timer: an answer that comes after it must not win.
      try {
        resolve(limit.over());
      } catch (error) {
        reject(error as Error);
      }
    });
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    timers.cancel(timer);
  }
}

/**
 * Waits for something for a while, and under a signal.
 *
 * Promise: no timer and no listener is left, and what is waited for is told when nobody waits any
 * more.
 */
import { pause, type Timers } from './timers.js';

export interface Waiting {
  readonly ms: number;
  readonly timers: Timers;
  readonly signal: AbortSignal;
}

/**
 * @param begin is given a signal that is aborted when the waiting ends
 * @returns whether it came in time; rejects with the reason of the signal
 */
export async function comesWithin(
  begin: (signal: AbortSignal) => Promise<unknown>,
  { ms, timers, signal }: Waiting,
): Promise<boolean> {
  signal.throwIfAborted();
  const over = new AbortController();
  const end = () => over.abort(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    const late = pause(timers, ms, over.signal).then(() => false);
    const came = (async () => begin(over.signal))().then(() => true);
    const isInTime = await Promise.race([came, late]);
    signal.throwIfAborted();
    return isInTime;
  } finally {
    signal.removeEventListener('abort', end);
    // Without a reason an error would be made for it, with its stack.
    over.abort(null);
  }
}

/**
 * The only place that waits: timers through a port, so that tests move the time and never sleep.
 * No timer has to fire for ids to stay unique. A repeated one does not keep a process alive; a
 * wait does.
 */

/** Opaque to everybody but the port that made it. */
export type TimerHandle = unknown;

/** Where all timers of the library come from: those of Node by default, SettableTime in tests. */
export interface Timers {
  after(ms: number, run: () => void): TimerHandle;
  every(ms: number, run: () => void): TimerHandle;
  cancel(timer: TimerHandle): void;
}

export const systemTimers: Timers = {
  after: (ms, run) => setTimeout(run, ms),
  every: (ms, run) => setInterval(run, ms).unref(),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

/** The next turn of the event loop: every promise that can go on has done so by then. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Resolves after `ms`, or rejects with the signal's reason when it is aborted first. */
export function pause(timers: Timers, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      timers.cancel(timer);
      reject(signal!.reason as Error);
    };
    const timer = timers.after(ms, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

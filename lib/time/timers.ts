/**
 * The only place that waits. Timers go through a port, so tests move the time instead of sleeping.
 * IDs stay unique even if no timer fires. A repeated timer does not keep a process alive; a wait
 * does.
 */
/** Opaque outside the port that created it. */
export type TimerHandle = unknown;

/** The source of all timers in the library: Node's timers by default, SettableTime in tests. */
export interface Timers {
  after(ms: number, run: () => void): TimerHandle;
  every(ms: number, run: () => void): TimerHandle;
  cancel(timer: TimerHandle): void;
}

// Like systemClock, so fake timers that a test framework installs later stop nothing.
const { setTimeout, setInterval, clearTimeout, setImmediate } = globalThis;

export const systemTimers: Timers = {
  after: (ms, run) => setTimeout(run, ms),
  every: (ms, run) => setInterval(run, ms).unref(),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

/** Runs in the next turn of the event loop, after all pending promise callbacks. */
export function afterTurn(run: () => void): void {
  setImmediate(run);
}

/** Waits for the next turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise(afterTurn);
}

/** Resolves after `ms`, or rejects with the signal's reason if the signal is aborted first. */
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

/*
 * Limits the time of a promise.
 *
 * Guarantee: no timer stays running, and a later rejection of the promise is never unhandled.
 */

/** How long to wait for a promise, and what happens afterwards. */
export interface Limit<T> {
  readonly ms: number;
  readonly timers: Timers;
  /** Returns the result in case of a timeout; may throw. */
  readonly over: () => T;
  /** Receives a late result. Its own errors are ignored. */
  readonly late?: ((result: T) => unknown) | undefined;
}

export function withinLimit<T>(asked: Promise<T>, limit: Limit<T>): Promise<T> {
  const { timers, ms, over, late } = limit;
  let isOver = false;
  // The caller already has a result, so later errors are ignored.
  if (late) asked.then((result) => isOver && late(result)).catch(() => undefined);
  return new Promise((resolve, reject) => {
    const timer = timers.after(ms, () => {
      isOver = true;
      // This happens in the timer's own turn, so a later result does not win.
      try {
        resolve(over());
      } catch (error) {
        reject(error as Error);
      }
    });
    const answered = (result: T) => {
      timers.cancel(timer);
      resolve(result);
    };
    const failed = (error: Error) => {
      timers.cancel(timer);
      reject(error);
    };
    asked.then(answered, failed);
  });
}

/**
 * A timer that callers usually postpone. The underlying timer keeps running, and restarts if it
 * fires too early, so a call needs no timer of its own.
 *
 * Guarantee: it fires exactly at the time that was set last. It does not keep a process alive.
 */
export class Alarm {
  readonly #time: AlarmTime;
  readonly #ring: () => void;
  #timer: TimerHandle;
  /** When the underlying timer fires, and when the alarm is due; Infinity for never. */
  #comesMs = Infinity;
  #dueMs = Infinity;

  constructor(time: AlarmTime, ring: () => void) {
    [this.#time, this.#ring] = [time, ring];
  }

  /** @param ms replaces the previous setting; Infinity disables the alarm */
  set(ms: number): void {
    this.#dueMs = this.#time.monotonic.now() + ms;
    if (this.#dueMs < this.#comesMs) this.#start(ms);
  }

  end(): void {
    this.#time.timers.cancel(this.#timer);
    this.#comesMs = Infinity;
  }

  #start(ms: number): void {
    const { timers, monotonic } = this.#time;
    timers.cancel(this.#timer);
    const leastMs = Math.max(1, Math.ceil(ms));
    this.#comesMs = monotonic.now() + leastMs;
    this.#timer = timers.every(leastMs, () => this.#came());
  }

  #came(): void {
    this.end();
    const leftMs = this.#dueMs - this.#time.monotonic.now();
    if (leftMs > 0) return this.set(leftMs);
    this.#dueMs = Infinity;
    this.#ring();
  }
}

/** Timers, and a monotonic clock of the same time. */
export interface AlarmTime {
  readonly timers: Timers;
  readonly monotonic: { now(): number };
}

const FIRST_MS = 100;
const LAST_MS = 2000;

/**
 * The delay before a retry: full jitter over a span that doubles, so a fleet does not retry in
 * step.
 */
export class RetryDelay {
  private spanMs: number;

  constructor(
    private readonly random: () => number,
    private readonly firstMs = FIRST_MS,
    private readonly lastMs = LAST_MS,
  ) {
    this.spanMs = firstMs;
  }

  /** @param spanMs overrides the span for this call */
  next(spanMs = this.spanMs): number {
    this.spanMs = Math.min(this.lastMs, this.spanMs * 2);
    return Math.ceil(this.random() * spanMs);
  }

  reset(): void {
    this.spanMs = this.firstMs;
  }
}

interface Listening<C> {
  readonly callers: Set<C>;
  stopListening(): void;
}

/**
 * Callers that wait with an abort signal.
 *
 * Guarantee: a signal has only one listener, however many callers wait with it, and none
 * afterwards.
 */
export class BySignal<C extends { readonly signal?: AbortSignal | undefined }> {
  private readonly listened = new Map<AbortSignal, Listening<C>>();

  constructor(private readonly giveUp: (caller: C, reason: unknown) => void) {}

  add(caller: C): void {
    if (caller.signal !== undefined) this.under(caller.signal).callers.add(caller);
  }

  remove(caller: C): void {
    const known = caller.signal && this.listened.get(caller.signal);
    known?.callers.delete(caller);
    if (known?.callers.size === 0) known.stopListening();
  }

  private under(signal: AbortSignal): Listening<C> {
    const known = this.listened.get(signal);
    if (known !== undefined) return known;
    const callers = new Set<C>();
    const abort = () => {
      for (const caller of callers) this.giveUp(caller, signal.reason);
    };
    const stopListening = () => {
      this.listened.delete(signal);
      signal.removeEventListener('abort', abort);
    };
    signal.addEventListener('abort', abort);
    this.listened.set(signal, { callers, stopListening });
    return { callers, stopListening };
  }
}

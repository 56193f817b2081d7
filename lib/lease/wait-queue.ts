/**
 * The callers that wait for an ID: one queue per generator.
 *
 * Guarantee: first come, first served. However many callers wait, only one timer runs and only the
 * first caller tries. A new range for the generator wakes the queue. An aborted caller leaves at
 * once.
 */
import { checkedCount, type CallFields, type IdSource } from '../core/generator/id-source.js';
import type { LeaseWindow } from '../core/window/lease-window.js';
import { isSnowflakeError } from '../errors.js';
import { BySignal, turn, type TimerHandle, type Timers } from '../time/timers.js';
export interface WaitOptions {
  readonly signal?: AbortSignal;
  readonly fields?: CallFields;
}

interface Caller extends WaitOptions {
  resolve(id: bigint): void;
  reject(reason: unknown): void;
}

/**
 * The queue retries after 1 ms, doubling up to this: the clock may have advanced, or this thread
 * may have missed a change by another thread.
 */
const LOOK_AGAIN_MS_MAX = 100;

/** After this many IDs, the event loop gets a turn; a tick of the default layout has no more. */
const SERVED_AT_ONCE_MAX = 4096;

export class WaitQueue {
  private readonly callers = new Set<Caller>();
  private readonly bySignal = new BySignal<Caller>((caller, reason) => this.refuse(caller, reason));
  private timer: TimerHandle;
  private lookAgainMs = 1;
  private isWoken = false;
  private isListening = false;

  constructor(
    private readonly source: Pick<IdSource, 'nextIdAtOnce'>,
    private readonly timers: Timers,
    /** Other threads may change it. */
    private readonly window?: Pick<LeaseWindow, 'sharedMemory' | 'signals'>,
  ) {}

  /**
   * Returns one ID, as soon as one is available and earlier callers have theirs.
   * @throws the reason of the signal, or a SnowflakeError if waiting cannot help.
   */
  async next(options: WaitOptions): Promise<bigint> {
    options.signal?.throwIfAborted();
    if (this.callers.size === 0) {
      try {
        return this.source.nextIdAtOnce(options.fields);
      } catch (error) {
        if (!canPass(error)) throw error;
      }
    }
    return new Promise((resolve, reject) => this.join({ ...options, resolve, reject }));
  }

  /**
   * Returns many IDs in rising order, one by one as in next(). If one fails, the earlier IDs are
   * lost.
   */
  async nextMany(count: number, options: WaitOptions): Promise<bigint[]> {
    const ids: bigint[] = [];
    while (ids.length < checkedCount(count)) {
      if (ids.length > 0 && ids.length % SERVED_AT_ONCE_MAX === 0) await turn();
      ids.push(await this.next(options));
    }
    return ids;
  }

  private join(caller: Caller): void {
    this.callers.add(caller);
    this.bySignal.add(caller);
    if (this.callers.size === 1) this.lookAgain();
    void this.listen();
  }

  private leave(caller: Caller): void {
    this.callers.delete(caller);
    this.bySignal.remove(caller);
    if (this.callers.size > 0) return;
    this.timers.cancel(this.timer);
    this.lookAgainMs = 1;
  }

  private serve(): void {
    this.timers.cancel(this.timer);
    let count = 0;
    for (const caller of this.callers) {
      if (++count > SERVED_AT_ONCE_MAX) return this.lookAgainIn(0);
      try {
        const id = this.source.nextIdAtOnce(caller.fields);
        this.leave(caller);
        caller.resolve(id);
        this.lookAgainMs = 1;
      } catch (error) {
        if (canPass(error)) return this.lookAgain();
        // One caller's invalid fields must not affect other callers.
        const refused = caller.fields === undefined ? this.callers : [caller];
        for (const each of refused) this.refuse(each, error);
      }
    }
  }

  private refuse(caller: Caller, reason: unknown): void {
    this.leave(caller);
    caller.reject(reason);
  }

  private lookAgain(): void {
    this.lookAgainIn(this.lookAgainMs);
    this.lookAgainMs = Math.min(LOOK_AGAIN_MS_MAX, this.lookAgainMs * 2);
  }

  private lookAgainIn(delayMs: number): void {
    this.timer = this.timers.after(delayMs, () => this.serve());
  }

  /**
   * Call this after a new range, or if no range will follow. It acts later, since the code that
   * adds a range has more to do before IDs are generated in it.
   */
  wake(): void {
    if (this.isWoken || this.callers.size === 0) return;
    this.isWoken = true;
    queueMicrotask(() => {
      this.isWoken = false;
      this.lookAgainMs = 1;
      this.serve();
    });
  }

  /** Another thread's changes wake the queue while a caller waits. */
  private async listen(): Promise<void> {
    if (this.isListening || this.window?.sharedMemory === undefined) return;
    this.isListening = true;
    while (this.callers.size > 0) {
      await this.window.signals.untilChange();
      this.wake();
    }
    this.isListening = false;
  }
}

function canPass(error: unknown): boolean {
  return isSnowflakeError(error) && error.retryable;
}

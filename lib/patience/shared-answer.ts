/**
 * The answer to a question that many ask.
 *
 * Promise: it is put at most once per period and never twice at a time, however many ask. Whoever
 * asks waits no longer than the limit, and is given what stands for an answer then.
 */
import type { Timers } from './timers.js';
import { withinLimit } from './within-limit.js';

export interface Sharing<T> {
  readonly everyMs: number;
  readonly limitMs: number;
  /** What is answered where nothing comes within the limit. */
  readonly over: () => T;
  readonly timers: Timers;
}

export class SharedAnswer<T> {
  private askedAtMs = -Infinity;
  private isOpen = false;
  private answer: Promise<T> | undefined;

  constructor(
    private readonly ask: (nowMs: number) => Promise<T>,
    private readonly sharing: Sharing<T>,
  ) {}

  read(nowMs: number): Promise<T> {
    const { everyMs, limitMs: ms, over, timers } = this.sharing;
    // A clock that was set back must not delay the next question.
    const isDue = Math.abs(nowMs - this.askedAtMs) >= everyMs;
    if (this.answer === undefined || (isDue && !this.isOpen)) {
      this.askedAtMs = nowMs;
      this.answer = withinLimit(this.asked(nowMs), { timers, ms, over });
    }
    return this.answer;
  }

  private async asked(nowMs: number): Promise<T> {
    this.isOpen = true;
    try {
      return await this.ask(nowMs);
    } finally {
      this.isOpen = false;
    }
  }
}

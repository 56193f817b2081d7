/**
 * Who waits for positions: callers that wait for ids, and the stock of those taken ahead.
 *
 * Promise: first come, first served; and whoever came after a call was sent gets nothing of it, so
 * an id asked for after another was given is higher than that one.
 */
import type { CallWords } from '../../core/generator/call-words.js';
import { BySignal } from '../../patience/by-signal.js';
import type { PositionRun } from './position-run.js';

export interface Asker {
  readonly signal?: AbortSignal | undefined;
  /** How many it still wants. */
  readonly left: number;
  /** Takes as many as it wants, if there are so many. @param sentAtMs when they were asked for */
  takeFrom(run: PositionRun, sentAtMs: number): void;
  refuse(reason: unknown): void;
}

/** A call to a store: what it may serve, and when it was sent. */
export interface Sent {
  readonly lastNumber: number;
  readonly atMs: number;
}

export class IdQueue {
  private readonly numbers = new Map<Asker, number>();
  private readonly bySignal = new BySignal<Asker>((asker, reason) => this.refuse(asker, reason));
  private lastNumber = 0;
  private wanted = 0;

  get wantedCount(): number {
    return this.wanted;
  }

  sent(atMs: number): Sent {
    return { lastNumber: this.lastNumber, atMs };
  }

  join(asker: Asker): void {
    this.numbers.set(asker, ++this.lastNumber);
    this.bySignal.add(asker);
    this.wanted += asker.left;
  }

  /** What nobody wants of it any more is lost. */
  serve(run: PositionRun, { lastNumber, atMs }: Sent): void {
    for (const [asker, number] of this.numbers) {
      if (run.left === 0 || number > lastNumber) return;
      const { left } = asker;
      asker.takeFrom(run, atMs);
      this.wanted -= left - asker.left;
      if (asker.left === 0) this.leave(asker);
    }
  }

  refuseAll(reason: unknown): void {
    for (const asker of this.numbers.keys()) this.refuse(asker, reason);
  }

  private refuse(asker: Asker, reason: unknown): void {
    this.leave(asker);
    asker.refuse(reason);
  }

  private leave(asker: Asker): void {
    this.wanted -= asker.left;
    this.numbers.delete(asker);
    this.bySignal.remove(asker);
  }
}

interface Call {
  readonly count: number;
  readonly words: CallWords;
  readonly signal?: AbortSignal | undefined;
}

/** One caller that waits for its ids. */
export class WaitingCaller implements Asker {
  private readonly ids: bigint[] = [];

  constructor(
    private readonly call: Call,
    private readonly resolve: (ids: bigint[]) => void,
    readonly refuse: (reason: unknown) => void,
  ) {}

  get signal(): AbortSignal | undefined {
    return this.call.signal;
  }

  get left(): number {
    return this.call.count - this.ids.length;
  }

  takeFrom(run: PositionRun): void {
    const { ids, call } = this;
    for (let count = Math.min(this.left, run.left); count > 0; count--) {
      ids.push(run.next(call.words));
    }
    if (this.left === 0) this.resolve(ids);
  }
}

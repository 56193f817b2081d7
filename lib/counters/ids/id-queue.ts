/**
 * The queue for positions: callers wait in it for ids, and so does the stock of ids taken ahead.
 *
 * Guarantee: first come, first served. A call serves only those that came before it was sent, so an
 * id asked for after another was given is higher than that one.
 */
import type { Clock } from '../../core/clock.js';
import {
  callWords,
  checkedCount,
  tooWideForNumber,
  type CallFields,
  type CallWords,
  type IdSource,
} from '../../core/generator/id-source.js';
import type { BitLayout } from '../../core/layout/bit-layout.js';
import type { SnowflakeError } from '../../errors.js';
import { BySignal } from '../../time/timers.js';
import { needsPrefetch, type PositionRun, type PrefetchOptions } from './store-ids-options.js';

export interface Asker {
  readonly signal?: AbortSignal | undefined;
  /** How many it still wants. */
  readonly left: number;
  /** A call to a store: it may serve all up to `lastNumber`, and was sent at `atMs`. */
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

  /** Ids that are left over when all have theirs are lost. */
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

/*
 * Ids that are given without waiting: from positions that were taken ahead, or not at all.
 *
 * Guarantee: no id is given that was taken longer ago than `staleMs`; a call gets all its ids or
 * none; within this process the ids of a shard rise.
 */

/** The source of a generator without prefetch: every call refuses. */
export class NoIdsAtOnce implements IdSource {
  get issuedCount(): number {
    return 0;
  }

  /** How often a call found too few buffered. */
  get spentCount(): number {
    return 0;
  }

  get buffered(): number {
    return 0;
  }

  nextId(fields?: CallFields): bigint {
    return this.take(1, fields)[0]!;
  }

  nextIdAtOnce(fields?: CallFields): bigint {
    return this.nextId(fields);
  }

  nextIdString(fields?: CallFields): string {
    return String(this.nextId(fields));
  }

  nextIdNumber(fields?: CallFields): number {
    return Number(this.nextId(fields));
  }

  nextIds(count: number, fields?: CallFields): bigint[] {
    return this.take(checkedCount(count), fields);
  }

  nextIdStrings(count: number, fields?: CallFields): string[] {
    return this.nextIds(count, fields).map(String);
  }

  fill(target: BigUint64Array | BigInt64Array, fields?: CallFields): void {
    target.set(this.take(target.length, fields));
  }

  protected take(_count: number, _fields: CallFields | undefined): bigint[] {
    throw needsPrefetch();
  }
}

interface PrefetchedParts {
  readonly layout: BitLayout;
  readonly prefetch: PrefetchOptions;
  readonly clock: Clock;
  /** Lets the stock wait for more. */
  readonly join: (asker: Asker) => void;
  /** The error for callers that find too few buffered. */
  readonly spent: () => SnowflakeError;
}

interface Taken {
  readonly run: PositionRun;
  readonly atMs: number;
}

export class PrefetchedIds extends NoIdsAtOnce {
  private readonly stock: Taken[] = [];
  private isWaiting = false;
  private isClosed = false;
  private issued = 0;
  private spentTimes = 0;

  constructor(private readonly parts: PrefetchedParts) {
    super();
  }

  override get issuedCount(): number {
    return this.issued;
  }

  override get spentCount(): number {
    return this.spentTimes;
  }

  override get buffered(): number {
    return this.fresh.reduce((sum, { run }) => sum + run.left, 0);
  }

  /** How long until the newest of them is too old; 0 where there are none. */
  get freshForMs(): number {
    if (this.buffered === 0) return 0;
    const newestMs = Math.max(...this.fresh.map(({ atMs }) => atMs));
    return newestMs + this.parts.prefetch.staleMs - this.parts.clock.now();
  }

  override nextIdNumber(fields?: CallFields): number {
    const { totalBits } = this.parts.layout;
    if (totalBits > 53) throw tooWideForNumber(totalBits);
    return super.nextIdNumber(fields);
  }

  /** Asks for more where few are buffered or the newest are half as old as they may be. */
  refresh(): void {
    this.dropStale();
    const { count, staleMs } = this.parts.prefetch;
    if (this.buffered * 2 <= count || this.freshForMs * 2 <= staleMs) void this.refill();
  }

  /** Resolves once more are buffered. @throws SnowflakeError what cannot pass */
  refill(): Promise<void> | undefined {
    if (this.isWaiting || this.isClosed) return undefined;
    this.isWaiting = true;
    const filled = new Promise<void>((resolve, reject) => {
      this.parts.join(new StockAsker(this.parts.prefetch.count, this.stock, resolve, reject));
    }).finally(() => (this.isWaiting = false));
    // The caller handles the error, if there is one.
    filled.catch(() => undefined);
    return filled;
  }

  close(): void {
    this.isClosed = true;
    this.stock.length = 0;
  }

  protected override take(count: number, fields: CallFields | undefined): bigint[] {
    const words = callWords(this.parts.layout, fields);
    this.dropStale();
    const { buffered } = this;
    if (buffered - count <= this.parts.prefetch.count / 2) void this.refill();
    if (buffered < count) {
      this.spentTimes++;
      throw this.parts.spent();
    }
    const ids: bigint[] = [];
    while (ids.length < count) {
      const { run } = this.stock[0]!;
      if (run.left === 0) this.stock.shift();
      else ids.push(run.next(words));
    }
    this.issued += count;
    return ids;
  }

  private get fresh(): Taken[] {
    return this.stock.filter((taken) => !this.isStale(taken));
  }

  /** If the clock was set back, the age is unknown, so the ids count as stale. */
  private isStale({ atMs }: Taken): boolean {
    const ageMs = this.parts.clock.now() - atMs;
    return ageMs < 0 || ageMs > this.parts.prefetch.staleMs;
  }

  private dropStale(): void {
    // A call that hung comes in behind later ones of other stores.
    const { fresh } = this;
    if (fresh.length < this.stock.length) this.stock.splice(0, Infinity, ...fresh);
  }
}

/** Stands in the queue for the stock. */
class StockAsker implements Asker {
  constructor(
    private wanted: number,
    private readonly stock: Taken[],
    private readonly resolve: () => void,
    readonly refuse: (reason: unknown) => void,
  ) {}

  get left(): number {
    return this.wanted;
  }

  takeFrom(run: PositionRun, atMs: number): void {
    const count = Math.min(this.wanted, run.left);
    this.stock.push({ run: run.split(count), atMs });
    this.wanted -= count;
    if (this.wanted === 0) this.resolve();
  }
}

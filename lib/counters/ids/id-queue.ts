/**
 * The queue of callers that wait for IDs. The stock of prefetched IDs waits in it too.
 *
 * Guarantee: first come, first served. A store call serves only callers that arrived before it was
 * sent. So an ID requested after another ID was delivered is higher.
 */
import type { Clock } from '../../core/clock.js';
import {
  callWords,
  checkedCount,
  tooWideForNumber,
  type CallFields,
  type IdSource,
} from '../../core/generator/id-source.js';
import type { BitLayout } from '../../core/layout/bit-layout.js';
import { SnowflakeError } from '../../errors.js';
import { BySignal } from '../../time/timers.js';
import type { PositionRun, PrefetchOptions } from './store-ids-options.js';

export interface Asker {
  readonly signal?: AbortSignal | undefined;
  /** The number of IDs still required. */
  left: number;
  /** Takes `count` IDs of a run whose request was sent at `sentAtMs`. */
  take(run: PositionRun, count: number, sentAtMs: number): void;
  /** Called once the caller has all its IDs. */
  resolve(): void;
  refuse(reason: unknown): void;
}

/** A call to a store: the last caller that it may serve, and when it was sent. */
export interface Sent {
  readonly lastNumber: number;
  readonly atMs: number;
}

export class IdQueue {
  /** The number of IDs that the callers in the queue still require. */
  wantedCount = 0;
  private readonly numbers = new Map<Asker, number>();
  private readonly bySignal = new BySignal<Asker>((asker, reason) => this.refuse(asker, reason));
  private lastNumber = 0;

  sent(atMs: number): Sent {
    return { lastNumber: this.lastNumber, atMs };
  }

  join(asker: Asker): void {
    this.numbers.set(asker, ++this.lastNumber);
    this.bySignal.add(asker);
    this.wantedCount += asker.left;
  }

  /** IDs left over after every caller is served are lost. */
  serve(run: PositionRun, { lastNumber, atMs }: Sent): void {
    for (const [asker, number] of this.numbers) {
      if (run.left === 0 || number > lastNumber) return;
      const count = Math.min(asker.left, run.left);
      asker.take(run, count, atMs);
      asker.left -= count;
      this.wantedCount -= count;
      if (asker.left > 0) return;
      this.leave(asker);
      asker.resolve();
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
    this.wantedCount -= asker.left;
    this.numbers.delete(asker);
    this.bySignal.remove(asker);
  }
}

/*
 * IDs without waiting, from prefetched positions only.
 *
 * Guarantee: no delivered ID is older than `staleMs`, a call gets all its IDs or none, and the IDs
 * of a shard rise within this process.
 */

interface IdsAtOnceParts {
  readonly layout: BitLayout;
  /** Without prefetch, every call is refused. */
  readonly prefetch: PrefetchOptions | undefined;
  readonly clock: Clock;
  /** Adds the stock to the queue. */
  readonly join: (asker: Asker) => void;
  /** The error for callers that find too few IDs buffered. */
  readonly spent: () => SnowflakeError;
}

interface Taken {
  readonly run: PositionRun;
  readonly atMs: number;
}

export class IdsAtOnce implements IdSource {
  issuedCount = 0;
  /** The number of calls that found too few IDs buffered. */
  spentCount = 0;
  private readonly stock: Taken[] = [];
  private isWaiting = false;
  private isClosed = false;

  constructor(private readonly parts: IdsAtOnceParts) {}

  get buffered(): number {
    return this.fresh.reduce((sum, { run }) => sum + run.left, 0);
  }

  /** The time until the newest buffered ID is too old; 0 if there is none. */
  get freshForMs(): number | undefined {
    const { prefetch, clock } = this.parts;
    if (prefetch === undefined) return undefined;
    if (this.buffered === 0) return 0;
    const newestMs = Math.max(...this.fresh.map(({ atMs }) => atMs));
    return newestMs + prefetch.staleMs - clock.now();
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
    const { layout, prefetch } = this.parts;
    if (prefetch && layout.totalBits > 53) throw tooWideForNumber(layout.totalBits);
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

  /** Requests more IDs if few are buffered, or if the newest have reached half the allowed age. */
  refresh(): void {
    this.dropStale();
    const { count, staleMs } = this.parts.prefetch!;
    if (this.buffered * 2 <= count || this.freshForMs! * 2 <= staleMs) void this.refill();
  }

  /** Resolves once more IDs are buffered. @throws SnowflakeError if waiting cannot help */
  refill(): Promise<void> | undefined {
    const { prefetch, join } = this.parts;
    if (this.isWaiting || this.isClosed || prefetch === undefined) return undefined;
    this.isWaiting = true;
    const take = (run: PositionRun, count: number, atMs: number) =>
      void this.stock.push({ run: run.split(count), atMs });
    const filled = new Promise<void>((resolve, refuse) => {
      join({ left: prefetch.count, take, resolve, refuse });
    }).finally(() => (this.isWaiting = false));
    // The caller handles any error.
    filled.catch(() => undefined);
    return filled;
  }

  close(): void {
    this.isClosed = true;
    this.stock.length = 0;
  }

  private take(count: number, fields: CallFields | undefined): bigint[] {
    const { layout, prefetch, spent } = this.parts;
    if (prefetch === undefined) {
      throw new SnowflakeError(
        'CONFIG_INVALID',
        'These ids are generated in a store, which cannot be asked without waiting, so no id was ' +
          'generated. Call nextIdAsync() or nextIdsAsync(), or give `prefetch: { count: 1000, ' +
          'staleMs: 1000 }`, with which ids are taken ahead: nextId(), @SnowflakeId() and inserts ' +
          'of TypeORM need it.',
      );
    }
    const words = callWords(layout, fields);
    this.dropStale();
    const { buffered } = this;
    if (buffered - count <= prefetch.count / 2) void this.refill();
    if (buffered < count) {
      this.spentCount++;
      throw spent();
    }
    const ids: bigint[] = [];
    while (ids.length < count) {
      const { run } = this.stock[0]!;
      if (run.left === 0) this.stock.shift();
      else ids.push(run.next(words));
    }
    this.issuedCount += count;
    return ids;
  }

  private get fresh(): Taken[] {
    return this.stock.filter((taken) => !this.isStale(taken));
  }

  /** If the clock was set back, the age is unknown, so the IDs count as stale. */
  private isStale({ atMs }: Taken): boolean {
    const ageMs = this.parts.clock.now() - atMs;
    return ageMs < 0 || ageMs > this.parts.prefetch!.staleMs;
  }

  private dropStale(): void {
    // A response that was delayed may arrive after later ones of other stores.
    const { fresh } = this;
    if (fresh.length < this.stock.length) this.stock.splice(0, Infinity, ...fresh);
  }
}

/**
 * Delivers IDs from the stores to waiting callers.
 *
 * Guarantee: callers in the same turn of the event loop share a store call, and each gets IDs of a
 * call sent after its arrival.
 */
import { callWords, checkedCount } from '../../core/generator/id-source.js';
import type { BitLayout } from '../../core/layout/bit-layout.js';
import type { SnowflakeError } from '../../errors.js';
import type { CallerQueue, GeneratorEnvironment, OpenGenerator } from '../../generator.js';
import { formatName } from '../../messages.js';
import { turn, withinLimit, type TimerHandle } from '../../time/timers.js';
import { CounterClient, type Ask } from '../counter-client.js';
import type { TakeAnswer, TakeGrant } from '../counter-store.js';
import { StoreKeeper } from '../store-keeper.js';
import { IdQueue, IdsAtOnce, type Asker } from './id-queue.js';
import { PositionSpace, type CountedTerms, type PositionRun } from './store-ids-options.js';

type CountedCall = Parameters<CallerQueue['next']>[0];

export class StoreIds extends StoreKeeper<PositionRun> implements OpenGenerator, CallerQueue {
  readonly line = this;
  readonly layout: BitLayout;
  readonly source: IdsAtOnce;
  private readonly queue = new IdQueue();
  private givenCount = 0;
  private refreshing: TimerHandle;

  constructor(
    private readonly terms: CountedTerms,
    environment: GeneratorEnvironment,
  ) {
    const { stores, tag, layout, prefetch } = terms;
    super(environment, {
      kind: 'store',
      stores,
      counter: tag,
      open: (store, parts) => new StoreClient(store, parts, terms),
      soon: turn,
      waitAdvice: 'Wait with nextIdAsync(); if this lasts, raise `aheadMs`.',
      granted: `Ids of ${tag} are made in`,
      notStarted: 'The store has given no ids',
      stopped: 'The generator was stopped',
      spent: `All prefetched ids of ${formatName(tag)} are used or older than \`staleMs\``,
      cure: '`prefetch.count`',
    });
    this.layout = layout;
    const { clock } = environment;
    const join = (asker: Asker) => this.join(asker);
    this.source = new IdsAtOnce({ layout, prefetch, clock, join, spent: () => this.spent() });
  }

  protected override get supply() {
    const { source, givenCount } = this;
    const issuedCount = givenCount + source.issuedCount;
    return { issuedCount, bufferedMs: source.freshForMs, step: this.terms.prefetch?.count };
  }

  /** Resolves with IDs in rising order, as soon as earlier callers have their IDs. */
  async nextMany(count: number, { fields, signal }: CountedCall = {}): Promise<bigint[]> {
    signal?.throwIfAborted();
    this.stopping.signal.throwIfAborted();
    const words = callWords(this.layout, fields);
    if (checkedCount(count) === 0) return [];
    const ids: bigint[] = [];
    const take = (run: PositionRun, some: number) => {
      for (let at = 0; at < some; at++) ids.push(run.next(words));
    };
    await new Promise<void>((resolve, refuse) =>
      this.join({ left: count, signal, take, resolve, refuse }),
    );
    this.givenCount += count;
    return ids;
  }

  async next(call: CountedCall): Promise<bigint> {
    const [id] = await this.nextMany(1, call);
    return id!;
  }

  /** Resolves once prefetched IDs are buffered too, if prefetch is on. */
  override async start(): Promise<void> {
    const { timers, callTimeoutMs: ms } = this.environment;
    await super.start();
    const filled = this.source.refill() ?? Promise.resolve();
    await withinLimit(filled, { timers, ms, over: () => undefined });
  }

  /** Calls all stores, to detect a store with another layout or order now. */
  protected override askFirst(): Promise<unknown> {
    const { prefetch } = this.terms;
    if (prefetch !== undefined) {
      const everyMs = Math.ceil(prefetch.staleMs / 2);
      this.refreshing = this.environment.timers.every(everyMs, () => this.source.refresh());
    }
    const idle = this.stores.filter(({ isIdle }) => isIdle);
    return Promise.all(idle.map((client) => this.ask(client, 1)));
  }

  protected override wanted(): number {
    const { queue, hasTaken, askedCount } = this;
    return Math.max(queue.wantedCount, hasTaken ? 0 : 1) - askedCount;
  }

  protected override sent() {
    const sent = this.queue.sent(this.environment.clock.now());
    return (run: PositionRun): void => {
      if (!this.stopping.signal.aborted) this.queue.serve(run, sent);
    };
  }

  protected override giveUp(reason: SnowflakeError): void {
    this.queue.refuseAll(reason);
  }

  protected override async end(): Promise<void> {
    this.source.close();
    this.environment.timers.cancel(this.refreshing);
  }

  private join(asker: Asker): void {
    this.queue.join(asker);
    this.wake();
  }
}

/** One of the stores that supply IDs. */
class StoreClient extends CounterClient<PositionRun, CountedTerms> {
  private readonly space = new PositionSpace(
    this.terms.layout,
    this.parts.place,
    this.parts.storeCount,
  );

  protected override answer(ask: Ask): Promise<TakeAnswer> {
    const { space, reckonedMs } = this;
    const { aheadMs, layout } = this.terms;
    const about = layout.fingerprint;
    return ask({ kind: 'clock', perMs: space.perMs, aheadMs, about, reckonedMs });
  }

  protected override rangeOf({ first, end }: TakeGrant): PositionRun {
    return this.space.run(first, end);
  }
}

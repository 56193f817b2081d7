/**
 * Brings ids from the stores to the callers that wait for them. The start, the calls and the stop
 * are in one file, since they decide together which store is asked.
 *
 * Guarantee: callers of one turn of the event loop share a call, and each store has one call under
 * way at most. A store that is away, hangs or lost its counter costs time, never an id twice.
 */
import { callWords, checkedCount, type CallFields } from '../../core/generator/id-source.js';
import type { BitLayout } from '../../core/layout/bit-layout.js';
import type { SnowflakeError } from '../../errors.js';
import type {
  CallerQueue,
  GeneratorState,
  GeneratorStatus,
  GeneratorEnvironment,
  OpenGenerator,
} from '../../generator.js';
import { pause, turn, withinLimit, type TimerHandle, RetryDelay } from '../../time/timers.js';
import { CounterClient, type CounterClientLimits } from '../counter-client.js';
import { StoreKeeper } from '../store-keeper.js';
import {
  IdQueue,
  NoIdsAtOnce,
  PrefetchedIds,
  WaitingCaller,
  type Asker,
  type Sent,
} from './id-queue.js';
import {
  bufferSpent,
  notStarted,
  stopped,
  type CountedTerms,
  type PositionRun,
  PositionSpace,
  WAIT_ADVICE,
} from './store-ids-options.js';
import type { CounterStore, TakeAnswer } from '../counter-store.js';

/** The start looks so often whether a store has rested. */
const LOOK_AGAIN_MS = 20;

interface CountedCall {
  readonly signal?: AbortSignal;
  readonly fields?: CallFields;
}

export class StoreIds extends StoreKeeper<StoreClient> implements OpenGenerator, CallerQueue {
  readonly line = this;
  readonly layout: BitLayout;
  readonly source: NoIdsAtOnce;
  private readonly stock: PrefetchedIds | undefined;
  private readonly queue = new IdQueue();
  /** The number of positions that calls under way have asked for. */
  private askedCount = 0;
  private givenCount = 0;
  private isWoken = false;
  private hasTaken = false;
  private refreshing: TimerHandle;

  constructor(
    private readonly terms: CountedTerms,
    environment: GeneratorEnvironment,
  ) {
    super(environment);
    const parts = { ...environment, terms, calls: this.calls };
    this.open(terms.stores, (store, place) => new StoreClient(store, place, parts));
    const { layout, prefetch } = terms;
    this.layout = layout;
    const { clock } = environment;
    const join = (asker: Asker) => this.join(asker);
    const spent = () => this.spent();
    this.stock = prefetch && new PrefetchedIds({ layout, prefetch, clock, join, spent });
    this.source = this.stock ?? new NoIdsAtOnce();
  }

  override get state(): GeneratorState {
    if (this.stopping.signal.aborted) return 'released';
    if (!this.hasTaken) return 'unassigned';
    if (this.fault === undefined) return 'active';
    return this.source.buffered > 0 ? 'degraded' : 'exhausted';
  }

  get status(): GeneratorStatus {
    const { source, stock, state, givenCount } = this;
    return {
      kind: 'store',
      state,
      issuedCount: givenCount + source.issuedCount,
      waitCount: source.spentCount,
      readAt: new Date(this.environment.clock.now()),
      buffered: source.buffered,
      bufferedMs: stock?.freshForMs,
      step: this.terms.prefetch?.count,
      calls: this.calls.status,
      idsLeft: source.buffered,
    };
  }

  /** Resolves with ids in rising order, as soon as earlier callers have theirs. */
  async nextMany(count: number, { fields, signal }: CountedCall = {}): Promise<bigint[]> {
    signal?.throwIfAborted();
    this.stopping.signal.throwIfAborted();
    const words = callWords(this.terms.layout, fields);
    if (checkedCount(count) === 0) return [];
    const ids = await new Promise<bigint[]>((resolve, reject) =>
      this.join(new WaitingCaller({ count, words, signal }, resolve, reject)),
    );
    this.givenCount += count;
    return ids;
  }

  async next(call: CountedCall): Promise<bigint> {
    const [id] = await this.nextMany(1, call);
    return id!;
  }

  /**
   * Asks each store, so that a store with another layout or another order is found now.
   * @throws SnowflakeError the last error after startTimeoutMs, or one that cannot pass
   */
  async start(): Promise<void> {
    const { timers, startTimeoutMs, callTimeoutMs } = this.environment;
    const over = new AbortController();
    const timer = timers.after(startTimeoutMs, () => over.abort());
    try {
      await this.firstGrant(AbortSignal.any([over.signal, this.stopping.signal]));
      const filled = this.stock?.refill() ?? Promise.resolve();
      await withinLimit(filled, { timers, ms: callTimeoutMs, over: () => undefined });
    } finally {
      timers.cancel(timer);
    }
    const { prefetch } = this.terms;
    if (prefetch === undefined) return;
    const everyMs = Math.ceil(prefetch.staleMs / 2);
    this.refreshing = timers.every(everyMs, () => this.stock?.refresh());
  }

  /** Refreshes a generator that starts in the background; never fails. */
  async refresh(): Promise<void> {
    if (this.hasTaken) return this.stock?.refresh();
    // The next caller that asks for an id gets the error.
    await this.start().catch(() => undefined);
  }

  /** Stops for good: no id is made afterwards. */
  async stop(): Promise<void> {
    if (this.stopping.signal.aborted) return;
    const reason = stopped();
    this.stopping.abort(reason);
    this.stock?.close();
    this.queue.refuseAll(reason);
    this.environment.timers.cancel(this.refreshing);
    for (const client of this.stores) client.wakeUp();
    this.report('Stopped.');
    await this.close();
  }

  private async firstGrant(signal: AbortSignal): Promise<void> {
    while (!this.hasTaken) {
      const idle = this.stores.filter(({ isIdle }) => isIdle);
      await Promise.all(idle.map((client) => this.ask(client, 1)));
      this.stopping.signal.throwIfAborted();
      const lasting = this.stores.find(({ fault }) => fault?.retryable === false);
      if (lasting !== undefined) throw lasting.fault!;
      if (this.hasTaken) return;
      // The signal ends the pause early, and is checked next.
      await pause(this.environment.timers, LOOK_AGAIN_MS, signal).catch(() => undefined);
      if (signal.aborted) throw this.stopping.signal.reason ?? this.fault ?? notStarted();
    }
  }

  private join(asker: Asker): void {
    this.queue.join(asker);
    this.wake();
  }

  /** Waits for the end of this turn of the event loop, so that all its callers share one call. */
  private wake(): void {
    if (this.isWoken) return;
    this.isWoken = true;
    void turn().then(() => {
      this.isWoken = false;
      this.askAll();
    });
  }

  private askAll(): void {
    for (;;) {
      const missing = this.queue.wantedCount - this.askedCount;
      if (missing <= 0 || this.stopping.signal.aborted) return;
      const client = this.nextClient();
      if (client === undefined) return;
      void this.ask(client, missing);
    }
  }

  /** Takes the stores in turn; a store that hangs is asked only if no other can help. */
  private nextClient(): StoreClient | undefined {
    const idle = this.inTurn().filter(({ isIdle }) => isIdle);
    const isAnswering = this.stores.some(({ isAsking, isSilent }) => isAsking && !isSilent);
    const client = idle.find(({ isSilent }) => !isSilent) ?? (isAnswering ? undefined : idle[0]);
    if (client !== undefined) this.passOn(client);
    return client;
  }

  /** Asks one store; never fails. */
  private async ask(client: StoreClient, count: number): Promise<void> {
    const sent = this.queue.sent(this.environment.clock.now());
    this.askedCount += count;
    try {
      const run = await client.take(count, (late) => this.takeIn(client, late, sent));
      this.askedCount -= count;
      this.takeIn(client, run, sent);
    } catch (error) {
      this.askedCount -= count;
      this.failed(client, error as SnowflakeError);
    }
    this.wake();
  }

  private takeIn(client: StoreClient, run: PositionRun, sent: Sent): void {
    if (this.stopping.signal.aborted) return;
    this.hasTaken = true;
    this.queue.serve(run, sent);
    this.report(`Ids of ${this.terms.tag} are made in ${client.location}.`);
  }

  private failed(client: StoreClient, error: SnowflakeError): void {
    if (this.stopping.signal.aborted) return;
    client.rest(error, () => this.wake());
    // With several stores a lasting fault of one would stay unseen.
    if (!error.retryable && this.hasTaken) this.listener?.news(error.message);
    const { fault } = this;
    if (fault === undefined) return;
    this.report(fault.message);
    if (!fault.retryable) this.queue.refuseAll(fault);
  }

  /** The error if no store gives ids. One that may pass counts more, since waiting can help. */
  private get fault(): SnowflakeError | undefined {
    const faults = this.stores.flatMap(({ fault }) => fault ?? []);
    if (faults.length < this.stores.length) return undefined;
    return faults.find(({ retryable }) => retryable) ?? faults[0];
  }

  private spent(): SnowflakeError {
    const { fault, state } = this;
    if (state === 'released') return stopped();
    if (fault?.retryable === false) return fault;
    if (fault !== undefined) this.report(fault.message);
    return state === 'unassigned' ? notStarted() : bufferSpent(this.terms.tag, fault);
  }
}

/*
 * One of the stores that ids are made in: it gets one call at a time, and a rest after a failure.
 *
 * Guarantee: a store that hangs, refuses or waits costs only its own calls; the others are asked
 * meanwhile.
 */

interface StoreClientParts extends CounterClientLimits {
  readonly terms: CountedTerms;
  readonly random: () => number;
}

/** So short a wait is not reported: it is over before an operator could act. */
const SHORT_WAIT_MS = 100;

/** A timer takes no more than 2^31 ms, and a store may come to its senses before. */
const WAIT_MS_MAX = 60_000;

class StoreClient extends CounterClient {
  /** The last call failed with this; undefined after a short wait. */
  fault: SnowflakeError | undefined;
  private readonly terms: CountedTerms;
  private readonly space: PositionSpace;
  private readonly delay: RetryDelay;
  private isBusy = false;
  private timer: TimerHandle;

  /** @param place the position of the store among all, from 1 on */
  constructor(store: CounterStore, place: number, { terms, random, ...limits }: StoreClientParts) {
    super(store, { ...limits, counter: terms.tag, waitAdvice: WAIT_ADVICE });
    this.terms = terms;
    this.space = new PositionSpace(terms.layout, place, terms.stores.length);
    this.delay = new RetryDelay(random);
  }

  get isAsking(): boolean {
    return this.isBusy;
  }

  get isIdle(): boolean {
    return !this.isBusy && this.timer === undefined;
  }

  /**
   * @param late takes what is granted after the time limit
   * @throws SnowflakeError why there are none, which is its `fault` until the next grant
   */
  async take(count: number, late: (run: PositionRun) => void): Promise<PositionRun> {
    this.isBusy = true;
    try {
      const answer = await this.askFor(BigInt(count), late);
      const run = this.runOf(answer, BigInt(count));
      this.fault = undefined;
      this.delay.reset();
      return run;
    } catch (error) {
      // The store grants as far ahead as it may, so it is not away.
      this.fault = isShort(waitMsOf(error)) ? undefined : (error as SnowflakeError);
      throw error;
    } finally {
      this.isBusy = false;
    }
  }

  /** Waits as long as the store said, or longer each time. @param done is called at the end */
  rest(error: SnowflakeError, done: () => void): void {
    const waitMs = waitMsOf(error);
    const ms =
      waitMs === undefined ? this.delay.next() : Math.min(Math.max(1, waitMs), WAIT_MS_MAX);
    this.timer = this.parts.timers.after(ms, () => {
      this.timer = undefined;
      done();
    });
  }

  wakeUp(): void {
    this.parts.timers.cancel(this.timer);
    this.timer = undefined;
  }

  private askFor(count: bigint, late: (run: PositionRun) => void): Promise<TakeAnswer> {
    const { have, era, reckonedMs, terms } = this;
    const { tag: counter, aheadMs, layout } = terms;
    const { stores, perMs } = this.space;
    const about = layout.fingerprint;
    return this.ask(
      { kind: 'clock', counter, count, have, era, stores, perMs, aheadMs, about, reckonedMs },
      (answer) => late(this.runOf(answer, count)),
    );
  }

  private runOf(answer: TakeAnswer, count: bigint): PositionRun {
    const { first, end } = this.checkGrant(answer, count);
    return this.space.run(first, end);
  }
}

function waitMsOf(error: unknown): number | undefined {
  const waitMs = (error as SnowflakeError).details['waitMs'];
  return typeof waitMs === 'number' ? waitMs : undefined;
}

function isShort(waitMs = Infinity): boolean {
  return waitMs <= SHORT_WAIT_MS;
}

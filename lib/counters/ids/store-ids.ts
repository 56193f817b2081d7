/**
 * Brings ids from the stores to whoever waits for them. The start, the calls and the stop are
 * in one file, since they decide together which store is asked.
 *
 * Guarantee: callers of one turn of the event loop share a call, and each store has one call under
 * way at most. A store that is away, hangs or lost its counter costs time, never an id twice.
 */
import { callWords, checkedCount, type CallFields } from '../../core/generator/id-source.js';
import type { BitLayout } from '../../core/layout/bit-layout.js';
import type { SnowflakeError } from '../../errors.js';
import {
  type CallerQueue,
  type GeneratorListener,
  type GeneratorState,
  type GeneratorStatus,
  type GeneratorEnvironment,
  type OpenGenerator,
} from '../../generator.js';
import { CallRecord } from '../../time/call-record.js';
import { pause, turn, withinLimit, type TimerHandle } from '../../time/timers.js';
import { adviceOf, closeAll, locationsOf } from '../counter-client.js';
import {
  IdQueue,
  NoIdsAtOnce,
  PrefetchedIds,
  WaitingCaller,
  type Asker,
  type Sent,
} from './id-queue.js';
import { StoreClient } from './store-client.js';
import {
  handSpent,
  notStarted,
  stopped,
  type CountedTerms,
  type PositionRun,
} from './store-ids-options.js';
/** What closing a connection may take. */
const CLOSE_MS = 1000;
/** How often the start looks whether a store has rested. */
const LOOK_AGAIN_MS = 20;

interface CountedCall {
  readonly signal?: AbortSignal;
  readonly fields?: CallFields;
}

export class StoreIds implements OpenGenerator, CallerQueue {
  readonly line = this;
  readonly layout: BitLayout;
  readonly source: NoIdsAtOnce;
  private readonly stock: PrefetchedIds | undefined;
  private readonly queue = new IdQueue();
  private readonly calls = new CallRecord();
  private readonly lanes: readonly StoreClient[];
  private readonly stopping = new AbortController();
  private listener: GeneratorListener | undefined;
  private turnCount: number;
  /** Positions that calls under way were sent for. */
  private askedCount = 0;
  private givenCount = 0;
  private isWoken = false;
  private hasTaken = false;
  private shownState: GeneratorState = 'unassigned';
  private refreshing: TimerHandle;

  constructor(
    private readonly terms: CountedTerms,
    private readonly environment: GeneratorEnvironment,
  ) {
    const parts = { ...environment, terms, calls: this.calls };
    this.lanes = terms.stores.map((store, at) => new StoreClient(store, at + 1, parts));
    // Not all processes begin with the same store.
    this.turnCount = Math.floor(environment.random() * this.lanes.length);
    const { layout, prefetch } = terms;
    this.layout = layout;
    const { clock } = environment;
    const join = (asker: Asker) => this.join(asker);
    const spent = () => this.spent();
    this.stock = prefetch && new PrefetchedIds({ layout, prefetch, clock, join, spent });
    this.source = this.stock ?? new NoIdsAtOnce();
  }

  get location(): string {
    return locationsOf(this.lanes);
  }

  get state(): GeneratorState {
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

  listen(listener: GeneratorListener): void {
    this.listener = listener;
  }

  /** Ids in rising order, as soon as those who came before have theirs. */
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
   * Asks each store, so that one that keeps another layout or another order is found now.
   * @throws SnowflakeError what kept it from ids for startTimeoutMs, or what cannot pass
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

  /** For a generator that starts in the background; never fails. */
  async refresh(): Promise<void> {
    if (this.hasTaken) return this.stock?.refresh();
    // What it fails with is told to whoever asks for an id.
    await this.start().catch(() => undefined);
  }

  advice(): Promise<string[]> {
    return adviceOf(this.terms.stores);
  }

  /** No id is made from here on. */
  async stop(): Promise<void> {
    if (this.stopping.signal.aborted) return;
    const { timers } = this.environment;
    const reason = stopped();
    this.stopping.abort(reason);
    this.stock?.close();
    this.queue.refuseAll(reason);
    timers.cancel(this.refreshing);
    for (const lane of this.lanes) lane.wakeUp();
    this.report('Stopped.');
    const over = () => undefined;
    await withinLimit(closeAll(this.terms.stores), { timers, ms: CLOSE_MS, over });
  }

  private async firstGrant(signal: AbortSignal): Promise<void> {
    while (!this.hasTaken) {
      const idle = this.lanes.filter(({ isIdle }) => isIdle);
      await Promise.all(idle.map((lane) => this.ask(lane, 1)));
      this.stopping.signal.throwIfAborted();
      const lasting = this.lanes.find(({ fault }) => fault?.retryable === false);
      if (lasting !== undefined) throw lasting.fault!;
      if (this.hasTaken) return;
      // Woken early by the signal, which is looked for next.
      await pause(this.environment.timers, LOOK_AGAIN_MS, signal).catch(() => undefined);
      if (signal.aborted) throw this.stopping.signal.reason ?? this.fault ?? notStarted();
    }
  }

  private join(asker: Asker): void {
    this.queue.join(asker);
    this.wake();
  }

  /** At the end of this turn of the event loop, so that all its callers share one call. */
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
      const lane = this.nextLane();
      if (lane === undefined) return;
      void this.ask(lane, missing);
    }
  }

  /** In turn; one that hangs only where no other is of use. */
  private nextLane(): StoreClient | undefined {
    const { lanes } = this;
    const from = this.turnCount % lanes.length;
    const idle = [...lanes.slice(from), ...lanes.slice(0, from)].filter(({ isIdle }) => isIdle);
    const isAnswering = lanes.some(({ isAsking, isSilent }) => isAsking && !isSilent);
    const lane = idle.find(({ isSilent }) => !isSilent) ?? (isAnswering ? undefined : idle[0]);
    if (lane !== undefined) this.turnCount = lanes.indexOf(lane) + 1;
    return lane;
  }

  /** Never fails. */
  private async ask(lane: StoreClient, count: number): Promise<void> {
    const sent = this.queue.sent(this.environment.clock.now());
    this.askedCount += count;
    try {
      const run = await lane.take(count, (late) => this.takeIn(lane, late, sent));
      this.askedCount -= count;
      this.takeIn(lane, run, sent);
    } catch (error) {
      this.askedCount -= count;
      this.failed(lane, error as SnowflakeError);
    }
    this.wake();
  }

  private takeIn(lane: StoreClient, run: PositionRun, sent: Sent): void {
    if (this.stopping.signal.aborted) return;
    this.hasTaken = true;
    this.queue.serve(run, sent);
    this.report(`Ids of ${this.terms.tag} are made in ${lane.location}.`);
  }

  private failed(lane: StoreClient, error: SnowflakeError): void {
    if (this.stopping.signal.aborted) return;
    lane.rest(error, () => this.wake());
    // Of several stores one that can never grant would go unseen.
    if (!error.retryable && this.hasTaken) this.listener?.news(error.message);
    const { fault } = this;
    if (fault === undefined) return;
    this.report(fault.message);
    if (!fault.retryable) this.queue.refuseAll(fault);
  }

  /** Why no store gives ids; what may pass counts for more, since it is worth to wait for. */
  private get fault(): SnowflakeError | undefined {
    const faults = this.lanes.flatMap(({ fault }) => fault ?? []);
    if (faults.length < this.lanes.length) return undefined;
    return faults.find(({ retryable }) => retryable) ?? faults[0];
  }

  private spent(): SnowflakeError {
    const { fault, state } = this;
    if (state === 'released') return stopped();
    if (fault?.retryable === false) return fault;
    if (fault !== undefined) this.report(fault.message);
    return state === 'unassigned' ? notStarted() : handSpent(this.terms.tag, fault);
  }

  private report(reason: string): void {
    const [from, to] = [this.shownState, this.state];
    if (from === to) return;
    this.shownState = to;
    this.listener?.changed({ from, to, reason });
  }
}

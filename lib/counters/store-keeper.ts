/**
 * Supplies a generator from one counter in one or several stores. Start, calls, rests, and stop are
 * in one file, since together they choose the store to call.
 *
 * Guarantee: each store has at most one call in progress. A store that is unavailable, hangs,
 * refuses, or has lost its counter costs numbers or time, causes no duplicates, and does not keep
 * other stores open.
 */
import type { IdSource } from '../core/generator/id-source.js';
import { SnowflakeError, tooEarly } from '../errors.js';
import type {
  GeneratorEnvironment,
  GeneratorListener,
  GeneratorState,
  GeneratorStatus,
} from '../generator.js';
import { CallRecord, closedAfterLastCall } from '../time/call-record.js';
import { withinLimit } from '../time/timers.js';
import type { CounterClient, CounterClientParts } from './counter-client.js';
import type { CounterStore } from './counter-store.js';

/** The time limit for closing the connections. */
const CLOSE_MS = 1000;

interface KeeperParts<R> {
  readonly kind: GeneratorStatus['kind'];
  readonly stores: readonly CounterStore[];
  readonly counter: string;
  readonly waitAdvice: string;
  open(store: CounterStore, parts: CounterClientParts): CounterClient<R>;
  /** Resolves when the next store call may be sent. */
  soon(): Promise<void>;
  // The endings of the generator's messages.
  /** A location follows. */
  readonly granted: string;
  /** "yet" follows. */
  readonly notStarted: string;
  readonly stopped: string;
  readonly spent: string;
  /** Advice if callers often find nothing buffered. */
  readonly cure: string;
}

/** @typeParam R the IDs of one grant */
export abstract class StoreKeeper<R> {
  /** The source of IDs, with the buffer, and the count of calls that found too few IDs in it. */
  abstract readonly source: IdSource & { readonly buffered: number; readonly spentCount: number };
  protected readonly stores: readonly CounterClient<R>[];
  protected readonly stopping = new AbortController();
  protected listener: GeneratorListener | undefined;
  protected hasBegun = false;
  protected hasTaken = false;
  /** The number of positions that calls in progress have requested. */
  protected askedCount = 0;
  /** Resolves once the last call has ended. */
  protected asked: Promise<unknown> = Promise.resolve();
  private readonly calls = new CallRecord();
  private starting: { resolve(): void; reject(reason: unknown): void } | undefined;
  private isWoken = false;
  /** The index of the next store to call. */
  private turn: number;
  private lastState: GeneratorState = 'unassigned';

  constructor(
    protected readonly environment: GeneratorEnvironment,
    private readonly parts: KeeperParts<R>,
  ) {
    const { stores, counter, waitAdvice } = parts;
    const { length: storeCount } = stores;
    const own = { ...environment, calls: this.calls, counter, waitAdvice, storeCount };
    this.stores = stores.map((store, at) =>
      parts.open(closedAfterLastCall(store), { ...own, place: at + 1 }),
    );
    // Different processes begin with different stores.
    this.turn = Math.floor(environment.random() * storeCount);
  }

  /** How many positions the next call should request; at most 0 if no call is needed. */
  protected abstract wanted(): number;
  /** Called when a call begins. @returns the receiver of its grant */
  protected abstract sent(): (range: R, isLate: boolean) => void;
  /** Rejects all waiting callers. */
  protected abstract giveUp(reason: SnowflakeError): void;
  /** Ends the source, and returns its unused positions. */
  protected abstract end(): Promise<void>;
  protected abstract get supply(): Pick<GeneratorStatus, 'issuedCount' | 'bufferedMs' | 'step'>;

  /** The locations of all stores, without duplicates. */
  get location(): string {
    return [...new Set(this.stores.map(({ location }) => location))].join(', ');
  }

  get state(): GeneratorState {
    if (this.stopping.signal.aborted) return 'released';
    if (!this.hasTaken) return 'unassigned';
    const isEmpty = this.source.buffered === 0;
    if (this.fault !== undefined) return isEmpty ? 'exhausted' : 'degraded';
    // Segments supply only buffered numbers.
    return isEmpty && this.parts.kind === 'segments' ? 'exhausted' : 'active';
  }

  get status(): GeneratorStatus {
    const { buffered, spentCount } = this.source;
    return {
      kind: this.parts.kind,
      state: this.state,
      waitCount: spentCount,
      readAt: new Date(this.environment.clock.now()),
      buffered,
      calls: this.calls.status,
      idsLeft: buffered,
      ...this.supply,
    };
  }

  listen(listener: GeneratorListener): void {
    this.listener = listener;
  }

  async advice(): Promise<string[]> {
    const advice = await Promise.all(this.stores.map(async ({ store }) => store.advice?.()));
    return advice.flatMap((texts) => texts ?? []);
  }

  /** @throws SnowflakeError why no call succeeded within startTimeoutMs, or a permanent error */
  async start(): Promise<void> {
    const { timers, startTimeoutMs: ms } = this.environment;
    const over = async () => {
      await this.asked;
      if (!this.hasTaken) throw this.fault ?? this.notYet();
    };
    await withinLimit<void | Promise<void>>(this.firstGrant(), { timers, ms, over });
  }

  /** Starts, or calls a store now if IDs are needed; never fails. */
  async refresh(): Promise<void> {
    if (this.hasBegun) this.wake();
    // The next caller of nextId() gets the error.
    else await this.start().catch(() => undefined);
  }

  /** Stops permanently: no ID is generated afterwards. */
  async stop(): Promise<void> {
    if (this.stopping.signal.aborted) return;
    const reason = this.stopped();
    this.stopping.abort(reason);
    this.starting?.reject(reason);
    for (const client of this.stores) client.wakeUp();
    const ended = this.end();
    this.report('Stopped.');
    this.giveUp(reason);
    await ended;
    const { timers } = this.environment;
    const closing = Promise.allSettled(this.stores.map(async ({ store }) => store.close?.()));
    await withinLimit(closing, { timers, ms: CLOSE_MS, over: () => [] });
  }

  private async firstGrant(): Promise<void> {
    const begun = new Promise<void>((resolve, reject) => (this.starting = { resolve, reject }));
    this.hasBegun = true;
    this.asked = this.askFirst();
    await Promise.all([begun, this.asked]);
    const lasting = this.stores.find(({ fault }) => fault?.retryable === false);
    if (lasting !== undefined) throw lasting.fault!;
  }

  /** Never fails. */
  protected askFirst(): Promise<unknown> {
    this.askAll();
    return this.asked;
  }

  /** Calls a store soon, with one call for all demand until then. */
  protected wake(): void {
    if (this.isWoken) return;
    this.isWoken = true;
    void this.parts.soon().then(() => {
      this.isWoken = false;
      this.askAll();
    });
  }

  private askAll(): void {
    while (!this.stopping.signal.aborted) {
      const client = this.nextClient();
      const count = client === undefined ? 0 : this.wanted();
      if (client === undefined || count <= 0) return;
      this.turn = (this.stores.indexOf(client) + 1) % this.stores.length;
      this.asked = this.ask(client, count);
    }
  }

  /** Uses the stores in turn; a store that hangs is called only if no other store can help. */
  private nextClient(): CounterClient<R> | undefined {
    const inTurn = [...this.stores.slice(this.turn), ...this.stores.slice(0, this.turn)];
    const idle = inTurn.filter(({ isIdle }) => isIdle);
    const isAnswering = inTurn.some(({ isAsking, isSilent }) => isAsking && !isSilent);
    return idle.find(({ isSilent }) => !isSilent) ?? (isAnswering ? undefined : idle[0]);
  }

  /** Calls one store; never fails. */
  protected async ask(client: CounterClient<R>, count: number): Promise<void> {
    const takeIn = this.sent();
    const granted = (range: R, isLate: boolean) => {
      takeIn(range, isLate);
      if (this.stopping.signal.aborted) return;
      this.hasTaken = true;
      this.report(`${this.parts.granted} ${client.location}.`);
      this.starting?.resolve();
    };
    const { fault: before } = client;
    this.askedCount += count;
    try {
      granted(await client.take(count, (late) => granted(late, true)), false);
    } catch (error) {
      this.failed(client, error as SnowflakeError, before);
    }
    this.askedCount -= count;
    this.wake();
  }

  private failed(client: CounterClient<R>, error: SnowflakeError, before?: SnowflakeError): void {
    if (this.stopping.signal.aborted) return;
    client.rest(error, () => this.wake());
    const isNew = before?.code !== error.code;
    if (!error.retryable) {
      this.starting?.reject(error);
      // Among several stores one that can never grant would go unseen.
      if (this.hasTaken && isNew) this.listener?.news(error.message);
    }
    const { fault } = this;
    if (fault === undefined) return;
    // Without ids so far, the state stays what it was.
    if (!this.hasTaken && isNew)
      this.listener?.news(`${this.parts.notStarted} yet. ${fault.message}`);
    this.report(fault.message);
    if (!fault.retryable) this.giveUp(fault);
  }

  /** The error if no store supplies IDs. A temporary error has priority, since waiting can help. */
  private get fault(): SnowflakeError | undefined {
    const faults = this.stores.flatMap(({ fault }) => fault ?? []);
    if (faults.length < this.stores.length) return undefined;
    return faults.find(({ retryable }) => retryable) ?? faults[0];
  }

  /** The error for a caller that finds too few IDs buffered. The call has used up no ID. */
  protected spent(): SnowflakeError {
    const { fault, state, parts } = this;
    if (state === 'released') return this.stopped();
    // An error that needs an operator is reported unchanged.
    if (fault?.retryable === false) return fault;
    if (state === 'unassigned') return this.notYet();
    if (fault !== undefined) this.report(fault.message);
    const why = fault === undefined ? 'The next ones are on their way.' : fault.message;
    const waitMs = fault?.details['waitMs'];
    return new SnowflakeError(
      'SEGMENT_SPENT',
      `${parts.spent}, so no id was generated. ${why} Wait with nextIdAsync(); if this is seen ` +
        `often, raise ${parts.cure}.`,
      { cause: fault, details: waitMs === undefined ? {} : { waitMs } },
    );
  }

  private stopped(): SnowflakeError {
    return new SnowflakeError(
      'NOT_READY',
      `${this.parts.stopped} at shutdown, so no id was generated. This is the last shutdown step. ` +
        'Generate ids earlier, in the onApplicationShutdown hooks at the latest.',
      { retryable: false },
    );
  }

  private notYet(): SnowflakeError {
    return tooEarly(this.parts.notStarted, this.hasBegun);
  }

  private report(reason: string): void {
    const [from, to] = [this.lastState, this.state];
    if (from === to) return;
    this.lastState = to;
    this.listener?.changed({ from, to, reason });
  }
}

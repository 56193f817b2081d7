/**
 * Keeps numbers buffered: takes segments ahead of need, from one store or from several in turn, and
 * gives back at the end what was not used. Start, refills and stop stand in one file, since at most
 * one of them may run.
 *
 * Guarantee: one refill is under way at most, and what is buffered is bounded by three steps. A
 * store that is away, hangs or has lost its counter costs numbers or time, never a number twice.
 */
import type { SnowflakeError } from '../../errors.js';
import type {
  GeneratorState,
  GeneratorStatus,
  GeneratorEnvironment,
  OpenGenerator,
} from '../../generator.js';
import { pause, RetryDelay, withinLimit } from '../../time/timers.js';
import { StoreKeeper } from '../store-keeper.js';
import { NumberedStore, NumberSpace, type GrantedSegment } from './numbered-store.js';
import { SegmentGenerator } from './segment-generator.js';
import { notStarted, spent, stopped, type SegmentTerms } from './segment-options.js';

export class SegmentKeeper extends StoreKeeper<NumberedStore> implements OpenGenerator {
  readonly source = new SegmentGenerator<GrantedSegment>({
    low: () => void (this.hasBegun && this.refresh()),
    spent: () => this.spent(),
  });
  private readonly size: StepSize;
  /** The last refill failed with this. */
  private fault: SnowflakeError | undefined;
  /** A fault of one store that cannot pass, even if another store grants. */
  private lasting: SnowflakeError | undefined;
  private hasBegun = false;
  private hasTaken = false;
  private isFilling = false;
  private filling: Promise<void> = Promise.resolve();
  /** Ends when segments that came after the stop were given back. */
  private returning: Promise<void> = Promise.resolve();

  constructor(
    private readonly terms: SegmentTerms,
    environment: GeneratorEnvironment,
  ) {
    super(environment);
    const late = (segment: GrantedSegment) => this.takeLate(segment);
    const parts = { ...environment, terms, calls: this.calls, late };
    const { length } = terms.stores;
    this.size = new StepSize(terms);
    this.open(
      terms.stores,
      (store, place) => new NumberedStore(store, new NumberSpace(place, length), parts),
    );
  }

  override get state(): GeneratorState {
    if (this.stopping.signal.aborted) return 'released';
    if (!this.hasTaken) return 'unassigned';
    if (this.source.buffered === 0) return 'exhausted';
    return this.fault === undefined ? 'active' : 'degraded';
  }

  get status(): GeneratorStatus {
    const { source, size, state } = this;
    const { buffered, issuedCount, spentCount } = source;
    return {
      kind: 'segments',
      state,
      issuedCount,
      waitCount: spentCount,
      readAt: new Date(this.environment.clock.now()),
      buffered,
      bufferedMs: size.lastingMs(buffered),
      step: size.step,
      calls: this.calls.status,
      idsLeft: buffered,
    };
  }

  /** @throws SnowflakeError why nothing could be taken for startTimeoutMs, or what cannot pass */
  async start(): Promise<void> {
    this.hasBegun = this.isFilling = true;
    const starting = this.takeFirst();
    // Callers that wait for a refill do not handle its error; the caller of start() does.
    this.filling = starting.catch(() => undefined);
    await starting;
  }

  /** Asks until enough is buffered; never fails. One at a time. */
  refresh(): Promise<void> {
    this.hasBegun = true;
    if (!this.isFilling && !this.stopping.signal.aborted) {
      this.isFilling = true;
      this.filling = this.fill();
    }
    return this.filling;
  }

  /** No number is made from here on. */
  async stop(): Promise<void> {
    if (this.stopping.signal.aborted) return;
    const unused = this.source.close();
    this.stopping.abort(stopped());
    this.report('Stopped.');
    this.listener?.woken();
    const { timers, callTimeoutMs } = this.environment;
    const over = () => this.listener?.news('The buffered numbers were not given back in time.');
    const giveBack = async () => {
      await this.filling;
      await this.returning;
      // The last grant goes first: only after it is the one before it the last.
      for (const { segment, left } of unused.toReversed()) {
        await segment.store.giveBack(segment, left);
      }
    };
    await withinLimit(giveBack(), { timers, ms: callTimeoutMs, over });
    await this.close();
  }

  private async takeFirst(): Promise<void> {
    const { timers, startTimeoutMs, random } = this.environment;
    const over = new AbortController();
    const timer = timers.after(startTimeoutMs, () => over.abort(notStarted()));
    const signal = AbortSignal.any([over.signal, this.stopping.signal]);
    const delay = new RetryDelay(random);
    try {
      for (;;) {
        const waitMs = await this.refillOnce(delay);
        this.stopping.signal.throwIfAborted();
        if (this.lasting !== undefined) throw this.lasting;
        if (waitMs === undefined) return;
        await this.rest(waitMs, signal);
        if (over.signal.aborted) throw this.fault!;
      }
    } finally {
      timers.cancel(timer);
      this.isFilling = false;
    }
  }

  private async fill(): Promise<void> {
    const delay = new RetryDelay(this.environment.random);
    try {
      // The caller whose id led here goes on first.
      await Promise.resolve();
      while (!this.stopping.signal.aborted && this.source.buffered <= this.size.mark) {
        const waitMs = await this.refillOnce(delay);
        if (waitMs !== undefined) await this.rest(waitMs);
      }
    } finally {
      // This happens in the turn of the last look at the buffer, so that the next caller starts
      // again.
      this.isFilling = false;
    }
  }

  private async rest(ms: number, signal = this.stopping.signal): Promise<void> {
    // A stop ends the pause early; the callers check for it.
    await pause(this.environment.timers, ms, signal).catch(() => undefined);
  }

  /** Asks each store once until one grants; else how long to wait before the next round, ms. */
  private async refillOnce(delay: RetryDelay): Promise<number | undefined> {
    this.size.measure(this.source.issuedCount, this.environment.clock.now());
    let fault: SnowflakeError | undefined;
    for (const store of this.nextStores()) {
      try {
        this.takeIn(await store.take(this.size.step));
        delay.reset();
        return undefined;
      } catch (error) {
        fault = worse(fault, error as SnowflakeError);
        this.reportLasting(error as SnowflakeError);
        if (this.stopping.signal.aborted) break;
      }
    }
    this.fault = fault;
    this.report(fault!.message);
    if (fault?.retryable === false) this.listener?.woken();
    const waitMs = fault!.details['waitMs'];
    return typeof waitMs === 'number' ? Math.max(1, waitMs) : delay.next();
  }

  /** Stores that hang lose their turn if another does not. */
  private nextStores(): readonly NumberedStore[] {
    const all = this.inTurn();
    this.passOn(all[0]!);
    const answering = all.filter(({ isSilent }) => !isSilent);
    return answering.length > 0 ? answering : all;
  }

  private takeIn(segment: GrantedSegment): void {
    if (this.stopping.signal.aborted) {
      this.returning = segment.store.giveBack(segment, segment.count);
      return;
    }
    this.source.add(segment);
    this.source.mark = this.size.mark;
    this.hasTaken = true;
    this.fault = undefined;
    this.report(`Numbers of ${this.terms.counter} are taken from ${segment.store.location}.`);
    this.listener?.woken();
  }

  /** Numbers of a late answer are used only if too few are buffered. */
  private takeLate(segment: GrantedSegment): void {
    if (this.source.buffered <= this.size.mark) this.takeIn(segment);
  }

  /** Among several stores one that can never grant would go unseen. */
  private reportLasting(fault: SnowflakeError): void {
    if (fault.retryable) return;
    if (this.lasting?.code !== fault.code && this.hasTaken) this.listener?.news(fault.message);
    this.lasting = fault;
  }

  private spent(): SnowflakeError {
    const { fault, state } = this;
    if (state === 'released') return stopped();
    // A fault that the operator has to remove is reported as it is.
    if (fault?.retryable === false) return fault;
    if (state === 'unassigned') return notStarted();
    if (fault !== undefined) this.report(fault.message);
    return spent({ counter: this.terms.counter, location: this.location }, fault);
  }
}

/** Prefers a fault that may pass, since it says when to ask again. */
function worse(known: SnowflakeError | undefined, next: SnowflakeError): SnowflakeError {
  if (known === undefined) return next;
  return known.retryable && !next.retryable ? known : next;
}

/*
 * How many numbers are asked for at a time, and when: by the rate at which they are used.
 *
 * Guarantee: the rate is one of at least a second, whatever the clock does, and the step at most
 * doubles from one refill to the next; so no burst and no jump of the clock orders numbers for
 * hours, which a crash would lose.
 */

interface StepTerms {
  /** Numbers shall be buffered for so long. */
  readonly lastsMs: number;
  readonly stepMin: number;
  readonly stepMax: number;
}

/** Numbers used in a shorter time count as the use of a second. */
const MEASURED_MS_MIN = 1000;
/** A shop that closes at night does not begin the day with the rate of the night. */
const MEASURED_MS_MAX = 60_000;

export class StepSize {
  private stepNow: number;
  private perMs = 0;
  private since: { readonly atMs: number; readonly issuedCount: number } | undefined;

  constructor(private readonly terms: StepTerms) {
    this.stepNow = terms.stepMin;
  }

  /** How many the next call asks for. */
  get step(): number {
    return this.stepNow;
  }

  /** More are asked for when so many are buffered, or fewer. */
  get mark(): number {
    const enough = Math.min(Math.ceil(this.perMs * this.terms.lastsMs), 2 * this.stepNow);
    return Math.max(Math.floor(this.stepNow / 2), enough);
  }

  /** How long so many last at the current rate; undefined while there is none. */
  lastingMs(count: number): number | undefined {
    return this.perMs === 0 ? undefined : Math.floor(count / this.perMs);
  }

  /** Before a refill: measures, and sets the step by it. */
  measure(issuedCount: number, nowMs: number): void {
    this.since ??= { atMs: nowMs, issuedCount };
    const { atMs, issuedCount: before } = this.since;
    const tookMs = nowMs - atMs;
    // A clock that was set back measured nothing: the next refill measures from here.
    if (tookMs < 0) this.since = { atMs: nowMs, issuedCount };
    else this.rate(issuedCount - before, tookMs);
    if (tookMs >= MEASURED_MS_MIN) this.since = { atMs: nowMs, issuedCount };
  }

  private rate(usedCount: number, tookMs: number): void {
    const measured = usedCount / Math.min(MEASURED_MS_MAX, Math.max(MEASURED_MS_MIN, tookMs));
    // Part of a second proves only that the rate is at least so high.
    this.perMs = tookMs >= MEASURED_MS_MIN ? measured : Math.max(this.perMs, measured);
    const { lastsMs, stepMin, stepMax } = this.terms;
    const wanted = Math.ceil((this.perMs * lastsMs) / 2);
    this.stepNow = Math.max(stepMin, Math.min(wanted, 2 * this.stepNow, stepMax));
  }
}

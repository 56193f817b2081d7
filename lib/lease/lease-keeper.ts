/**
 * The life of a lease. The keeper acquires a worker ID, renews it, replaces it after a loss, and
 * releases it. One file contains this in the order of events, so each change of state has only one
 * place.
 *
 * Guarantee: the lease window has only ranges that the support has acknowledged, and a response
 * counts only for the lease of its request. Retries of a lease reuse its token, so a lost response
 * costs no worker ID. A store error changes only the displayed state, and IDs stay unique even if
 * no timer fires.
 */
import { forwardSignals } from '../core/window/shared-lease.js';
import type { WindowRange, WindowWatch } from '../core/window/lease-window.js';
import type { SnowflakeError } from '../errors.js';
import { pause, RetryDelay, type TimerHandle } from '../time/timers.js';
import type { LeaseAnswer, LeaseRequest, WorkerLease } from './distributed-support.js';
import {
  HeldLease,
  LEASE_STATES,
  NO_REGISTRY,
  numberOf,
  type Acquired,
  type LeaseEvent,
  type LeaseState,
} from './held-lease.js';
import { RenewalRecord, type Keeper, type KeeperParts } from './keeper.js';
import type { LeaseOptions } from './lease-options.js';
import * as texts from './lease-texts.js';
import { ClockSkew, RequestTerms } from './request-terms.js';
import { claimEndless, giveBackEndless, untilNewIds } from './static.support.js';
import { answerWithin, checkedAnswer, type AskedFor } from './support-caller.js';

type StartLimits = Pick<LeaseOptions, 'startTimeoutMs' | 'onNoWorkerFree'>;

/** A call that leases or renews, with the handling of a response after the timeout. */
interface Call {
  readonly run: () => Promise<LeaseAnswer>;
  readonly askedFor: AskedFor;
  readonly consequence: string;
  readonly late?: (answer: LeaseAnswer) => Promise<void>;
}

/** The reason why there is no lease; without `waitMs`, the usual delay between attempts applies. */
interface Refused {
  readonly error: SnowflakeError;
  readonly waitMs?: number;
  /** True if the same request succeeds after that time. */
  readonly isStored?: boolean | undefined;
}

/** The longest delay before the next attempt to lease a worker ID, whatever the response. */
const WAIT_MS_MAX = 5000;
/** So long a generator of this process that has the same number may take to close. */
const CLOSING_MS_MAX = 3000;
const LOOK_AGAIN_MS = 50;
/** Shutdown does not wait longer for the store. */
const RELEASE_TIMEOUT_MS = 1000;
/** The delay of the renewal at half of a range, since many IDs may follow at once. */
const SOON_MS = 20;

export class LeaseKeeper implements Keeper, WindowWatch {
  readonly renewsItself = true;
  readonly renewals = new RenewalRecord();
  state: LeaseState = 'unassigned';
  lease: HeldLease | undefined;
  private readonly skew: ClockSkew;
  readonly terms: RequestTerms;
  private readonly retryDelay: RetryDelay;
  private readonly stopping = new AbortController();
  /** Reported causes that have not ended. */
  private readonly reported = new Set<string>();
  /** The last worker ID that the application was notified of. */
  private reportedId: number | undefined;
  private acquiring: Promise<void> | undefined;
  private refreshing: Promise<void> | undefined;
  /** The timer of the unscheduled renewal; at most one is pending. */
  private timer: TimerHandle;

  constructor(private readonly parts: KeeperParts) {
    this.skew = new ClockSkew(parts);
    this.terms = new RequestTerms(parts);
    this.retryDelay = new RetryDelay(parts.random);
  }

  get workerId(): number | undefined {
    return this.lease?.workerId;
  }

  get endMs(): number | undefined {
    return this.parts.window.endMs;
  }

  get incarnation(): string | undefined {
    return (this.lease && texts.registryName(this.lease.asked.mark)) || undefined;
  }

  get clockSkewMs(): number {
    return this.skew.skewMs;
  }

  get nowMs(): number {
    return this.parts.idClock.now();
  }

  async start(): Promise<void> {
    this.attend();
    await this.acquire(this.parts.options);
    const { refusal } = this.skew;
    if (refusal === undefined) return;
    await this.stop();
    throw refusal;
  }

  /** From the first call on, it receives the events of the lease window, from all threads. */
  private attend(): void {
    const { window } = this.parts;
    if (window.watch === this) return;
    window.watch = this;
    if (window.sharedMemory !== undefined) void forwardSignals(window);
  }

  /** One call at a time: a late response and a renewal may both find the lease lost. */
  private acquire(limits?: StartLimits): Promise<void> {
    return (this.acquiring ??= this.leaseOne(limits).finally(() => (this.acquiring = undefined)));
  }

  /** Leases a worker ID, with or without a startup timeout, and places its range. */
  private async leaseOne(limits?: StartLimits): Promise<void> {
    if (this.parts.identity.isSnapshot()) throw texts.inSnapshot();
    const acquired = await this.untilGranted(limits);
    const { grant, asked, sentAtMs } = acquired;
    try {
      await untilNewIds(grant, this.parts, this.stopping.signal, limits?.startTimeoutMs);
    } catch (error) {
      await this.giveBack(asked, undefined);
      throw error;
    }
    // The store granted the lease while the application was closing, so it is not needed.
    if (this.stopping.signal.aborted) return this.giveBack(asked, undefined);
    this.skew.measure(grant, sentAtMs);
    this.reported.delete('no worker id');
    this.place(acquired, texts.grantText(grant), { rewinds: false });
    this.checkClock();
  }

  /** Sends requests, with the delay of each response between them. Logs each reason only once. */
  private async untilGranted(limits: StartLimits | undefined): Promise<Acquired> {
    const { timers, random, onNews } = this.parts;
    const request = this.request();
    const delay = new RetryDelay(random);
    let isOver = limits?.startTimeoutMs === 0;
    const timer = limits && timers.after(limits.startTimeoutMs, () => (isOver = true));
    const reported = new Set<string>();
    let inUseMs = 0;
    try {
      for (;;) {
        const outcome = await this.askForLease(request);
        if (!('error' in outcome)) return outcome;
        const { error, waitMs } = outcome;
        const failsAtOnce = limits?.onNoWorkerFree === 'fail' && error.code === 'NO_WORKER_FREE';
        if (!error.retryable || failsAtOnce) throw error;
        const isInUse = error.code === 'CONFIG_INVALID';
        if (isInUse && inUseMs >= CLOSING_MS_MAX) throw texts.gaveUp(inUseMs, error);
        if (isOver) throw texts.gaveUp(limits!.startTimeoutMs, error);
        if (!reported.has(error.code)) onNews(`Waiting for a worker id. ${error.message}`);
        reported.add(error.code);
        this.noteFailure(error.message);
        if (isInUse) inUseMs += LOOK_AGAIN_MS;
        await this.pause(isInUse ? LOOK_AGAIN_MS : (waitMs ?? delay.next()));
      }
    } finally {
      timers.cancel(timer);
    }
  }

  private request(): LeaseRequest {
    const { terms, options, identity, window, support } = this.parts;
    const { min, max } = this.parts.workerIds;
    const isAll = min === 0 && max >= window.layout.workerIdMax;
    return {
      ...terms,
      // A 'wait' is for at least a whole lease, which is available once the clock reaches its
      // floor.
      ...(options.onFreshRegistry === 'wait' && { minRangeMs: terms.ttlMs }),
      token: identity.randomText(),
      nonce: identity.randomText(),
      workerIdMin: min,
      workerIdMax: max,
      haveMs: 0,
      holder: { ...identity.label(), ...(!isAll && { workerIds: `${min}-${max}` }) },
      takesOver: support.takesOver === true,
    };
  }

  private async askForLease(request: LeaseRequest): Promise<Acquired | Refused> {
    const { support, hostClock, window, identity, terms, workerIds } = this.parts;
    const sentAtMs = hostClock.now();
    const { minRangeMs: _, ...learned } = this.terms.now;
    const sent = { ...request, ...learned, haveMs: window.endMs ?? 0, seen: this.terms.seen };
    try {
      // A late grant is not lost: the next attempt uses this token and gets the same grant.
      const answer = await this.ask({
        run: () => support.getNextWorkId(sent),
        askedFor: workerIds,
        consequence: 'The call is repeated.',
      });
      if (answer.status !== 'ok') {
        const error = texts.refusal(answer, request);
        // A worker ID can become free at any time, so the delay of 'none-free' is ignored.
        if (answer.status !== 'wait' && answer.status !== 'hold') return { error };
        return { error, waitMs: answer.waitMs, isStored: answer.isStored };
      }
      const grant = claimEndless(answer, request);
      const { workerId, ceilingMs: haveMs, mark = NO_REGISTRY } = grant;
      const nonceNext = identity.randomText();
      // The terms come last, since the conditions of a first range do not apply to renewals.
      const asked = { ...request, ...terms, workerId, haveMs, mark, nonceNext };
      return { grant, sentAtMs, asked };
    } catch (error) {
      return { error: error as SnowflakeError };
    }
  }

  /** Checks every response, even a late one, and records it for the terms of the next call. */
  private async ask({ run, askedFor, consequence, late = async () => {} }: Call) {
    const { timers, options } = this.parts;
    const { askedAtMs } = this.terms;
    const observed = (given: LeaseAnswer) => {
      const answer = checkedAnswer(given, askedFor);
      this.terms.observe(answer, askedAtMs);
      return answer;
    };
    const limit = { timers, ms: options.callTimeoutMs, consequence };
    const given = await answerWithin(run, { ...limit, late: (given) => late(observed(given)) });
    return observed(given);
  }

  /** A waiting process calls as often as a renewing one, since only calls report its clock. */
  private pause(ms: number): Promise<void> {
    const { timers, options } = this.parts;
    const longestMs = Math.min(WAIT_MS_MAX, options.refreshAliveIntervalMs);
    return pause(timers, Math.min(ms, longestMs), this.stopping.signal);
  }

  /** Places the range after the ranges in use, or instead of them if IDs should move back. */
  private place(acquired: Acquired, reason: string, { rewinds }: { rewinds: boolean }): void {
    const lease = new HeldLease(this.parts.window, acquired);
    lease.enterWindow(rewinds);
    this.hold(lease, 'leased', reason);
    this.noteSuccess();
  }

  /** The only code that changes the lease: the window first, the application last. */
  private hold(lease: HeldLease | undefined, event: LeaseEvent, reason: string): void {
    this.lease = lease;
    this.change(event, reason);
    const [from, to] = [this.reportedId, this.workerId];
    this.reportedId = to;
    if (from !== to) quietly(() => this.parts.onWorkerIdChange?.({ from, to, reason }));
  }

  entered(range: WindowRange): void {
    if (this.lease?.entered(range)) this.change('entered', 'Ids come from the new range now.');
  }

  /** Every rejected ID requests a renewal, but must not postpone a pending one. */
  halfUsed(): void {
    if (this.timer === undefined) this.refreshIn(SOON_MS);
  }

  exhausted(): void {
    this.change('exhausted', 'The leased range is used up; ids come back when the store answers.');
    this.halfUsed();
  }

  private refreshIn(delayMs: number): void {
    const { timers } = this.parts;
    if (this.stopping.signal.aborted) return;
    timers.cancel(this.timer);
    this.timer = timers.after(delayMs, () => {
      this.timer = undefined;
      void this.refresh();
    });
  }

  refresh(): Promise<void> {
    if (this.stopping.signal.aborted) return Promise.resolve();
    this.attend();
    return (this.refreshing ??= this.renew().finally(() => (this.refreshing = undefined)));
  }

  private async renew(): Promise<void> {
    const { lease, renewals } = this;
    if (lease === undefined) return this.replaceLease();
    if (lease.pid !== process.pid)
      return this.drop(texts.dropped('This process is a fork of the lease holder.'));
    const { support, hostClock } = this.parts;
    const asked = { ...lease.asked, ...this.terms.now };
    const { workerId, haveMs } = asked;
    const sentAtMs = hostClock.now();
    try {
      const answer = await this.ask({
        run: () => support.refreshAlive(asked),
        askedFor: { min: workerId, max: workerId, haveMs },
        consequence: 'The range already leased lasts; the call is repeated.',
        late: (answer) => {
          renewals.noteLate(answer.status, hostClock.now());
          return this.apply(lease, answer, asked, sentAtMs);
        },
      });
      renewals.note(answer.status, sentAtMs, hostClock.now());
      await this.apply(lease, answer, asked, sentAtMs);
    } catch (error) {
      renewals.note('error', sentAtMs, hostClock.now());
      this.retryLater((error as Error).message);
    }
  }

  /** A response counts only for the lease of its request, even if it is late. */
  private async apply(
    lease: HeldLease,
    answer: LeaseAnswer,
    asked: WorkerLease,
    sentAtMs: number,
  ): Promise<void> {
    if (lease !== this.lease) return;
    switch (answer.status) {
      case 'ok':
        lease.apply(answer, asked, () => this.parts.identity.randomText());
        this.noteSuccess();
        this.skew.measure(answer, sentAtMs);
        this.change('renewed', 'The store answers again.');
        this.checkClock();
        return this.switchBack(lease);
      case 'hold':
        // The range stays valid. The application is notified if the range ends before its
        // continuation.
        if (lease.asked.haveMs <= this.nowMs + answer.waitMs) {
          this.change('renewal-failed', texts.holdText(answer));
        }
        return this.refreshIn(answer.waitMs);
      case 'fenced':
      case 'unknown':
      case 'moved': {
        // The range stays valid to its end, unless it provably overlaps the new holder's range.
        const { floorMs = Infinity } = answer as { readonly floorMs?: number };
        if (floorMs < lease.asked.haveMs) return this.drop(texts.overlapping(lease, floorMs));
        return this.lose('fenced', texts.fencedText(answer.status, this.parts.support));
      }
      case 'cloned':
        return this.drop(texts.clonedText(answer));
      case 'layout-mismatch':
        return this.drop(texts.otherLayout(answer.fingerprint, asked.fingerprint));
      case 'other-version':
        this.notify('other version', texts.otherVersion(answer.version).message);
        return this.retryLater('Another version of the protocol keeps the registry.');
      default:
        this.retryLater(`The registry answered ${JSON.stringify(answer)}.`);
    }
  }

  private noteSuccess(): void {
    this.renewals.isFailing = false;
    this.retryDelay.reset();
  }

  /** A rejected clock empties the lease window; an accepted clock restores the lease. */
  private checkClock(): void {
    const { isSkewed, refusal, text, storeText } = this.skew;
    this.notify('skew', isSkewed ? text : undefined);
    this.notify('store clock', storeText);
    if (refusal !== undefined) {
      this.parts.window.vacate(() => refusal);
      this.change('dropped', text);
    } else if (this.lease !== undefined && this.parts.window.current === undefined) {
      this.lease.enterWindow(false);
      this.change('leased', 'The clock of this host agrees with the store again.');
    }
  }

  /**
   * ICH.Snowflake's recovery from a clock that was set back: another worker ID, whose IDs have the
   * right time again. IDs are unique without this. It is tried only if the store agrees with the
   * clock, and a worker ID that does not help is released at once.
   */
  private async switchBack(old: HeldLease): Promise<void> {
    const { nowMs } = this;
    const { maxDriftMs } = this.parts.options;
    const isDrifting = (old.lastIssuedMs ?? -Infinity) - nowMs > maxDriftMs;
    if (!isDrifting || old.isAhead(nowMs)) return;
    if (old.asked.mark.incarnation === '' || this.skew.isSkewed) return;
    // A claim would take over the worker ID that this process already holds.
    const request = { ...this.request(), takesOver: false };
    let outcome = await this.askForLease(request);
    while ('error' in outcome && outcome.isStored === true) {
      await this.pause(outcome.waitMs!);
      outcome = await this.askForLease(request);
    }
    if ('error' in outcome) return;
    const { asked, grant } = outcome;
    // The application may have stopped during the call, so the step that places the lease checks
    // this.
    const isLate = this.stopping.signal.aborted || this.lease !== old;
    const gainMs = old.lastIssuedMs! - grant.floorMs;
    if (isLate || gainMs < maxDriftMs) return this.giveBack(asked, undefined);
    const reason = texts.movedText(old.workerId, grant.workerId);
    this.place(outcome, reason, { rewinds: true });
    this.report(reason);
    // Other threads may have used the old range until the window left it.
    await this.giveBack(old.asked, old.lastIssuedMs);
  }

  private retryLater(reason: string): void {
    this.noteFailure(reason);
    this.refreshIn(this.retryDelay.next());
  }

  private noteFailure(reason: string): void {
    if (this.stopping.signal.aborted) return;
    this.renewals.isFailing = true;
    this.change('renewal-failed', reason);
    const { endMs, nowMs } = this;
    if (endMs === undefined || nowMs < endMs - this.parts.options.reserveMs) return;
    const text = `The range is ending; ids come from its reserve now. ${reason}`;
    this.change('reserve-entered', text);
  }

  /** The range ends at once. */
  private drop(refusal: SnowflakeError): Promise<void> {
    this.parts.window.vacate(() => refusal);
    return this.lose('dropped', refusal.message);
  }

  /** The only code that loses the lease. Another lease follows. */
  private lose(event: 'fenced' | 'dropped', reason: string): Promise<void> {
    this.hold(undefined, event, reason);
    return this.replaceLease();
  }

  private async replaceLease(): Promise<void> {
    try {
      await this.acquire();
    } catch (error) {
      const { message } = error as Error;
      this.notify('no worker id', `No worker id could be leased. ${message}`);
      this.retryLater(message);
    }
  }

  /** Stops generating IDs, releases the worker ID, and closes the support's connections. */
  async stop(): Promise<void> {
    if (this.stopping.signal.aborted) return;
    const { support, window, timers } = this.parts;
    this.stopping.abort(texts.stopped());
    timers.cancel(this.timer);
    const { lease } = this;
    window.close(texts.stopped);
    this.hold(undefined, 'released', 'The application is shutting down.');
    await Promise.allSettled([this.refreshing, this.acquiring]);
    if (lease !== undefined) await this.giveBack(lease.asked, lease.lastIssuedMs);
    await support.close?.();
  }

  /** Sends only one request, since the worker ID is free after one ttl anyway. */
  private async giveBack(lease: WorkerLease, lastMs: number | undefined): Promise<void> {
    const { support, timers, onNews } = this.parts;
    giveBackEndless(lease, lastMs);
    try {
      await answerWithin(async () => support.release?.({ ...lease, ...this.terms.now }, lastMs), {
        timers,
        ms: RELEASE_TIMEOUT_MS,
        consequence: 'It is asked only once, because the worker id is no longer needed.',
      });
    } catch (error) {
      onNews(
        `Worker id ${lease.workerId} could not be given back and is free in ` +
          `${lease.ttlMs} ms at the latest: ${(error as Error).message}`,
      );
    }
  }

  private change(event: LeaseEvent, reason: string): void {
    const from = this.state;
    this.state = LEASE_STATES[from][event] ?? from;
    if (from === this.state) return;
    this.parts.window.signals.state = numberOf(this.state);
    const change = { from, to: this.state, workerId: this.workerId, reason };
    quietly(() => this.parts.onChange(change));
  }

  /** Reports a cause only once while it lasts; without a text, the cause has ended. */
  private notify(cause: string, text: string | undefined): void {
    if (text === undefined) return void this.reported.delete(cause);
    if (!this.reported.has(cause)) this.report(text);
    this.reported.add(cause);
  }

  private report(text: string): void {
    if (!this.stopping.signal.aborted) quietly(() => this.parts.onNews(text));
  }
}

/** A logger that throws costs no ID and does not prevent the placement of a lease. */
function quietly(report: () => void): void {
  try {
    report();
  } catch {
    // The state still shows it.
  }
}

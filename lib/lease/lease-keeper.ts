/**
 * The keeper gets the lease, keeps it fresh, gives it back, and fills the lease window. All changes
 * of state are in one file, in the order of the events.
 *
 * Guarantee: the lease window holds only ranges that the support has acknowledged. An error of the
 * store changes only the displayed state; no timer has to fire for ids to stay unique.
 */
import { forwardSignals } from '../core/window/shared-lease.js';
import type { WindowRange, WindowWatch } from '../core/window/lease-window.js';
import type { SnowflakeError } from '../errors.js';
import { RetryDelay, type TimerHandle, type Timers } from '../time/timers.js';
import type { LeaseGrant } from './distributed-support.js';
import {
  HeldLease,
  nextState,
  numberOf,
  type Acquired,
  type LeaseEvent,
  type LeaseState,
} from './held-lease.js';
import type { Keeper, KeeperParts, LeaseChange, RenewalRecord } from './keeper.js';
import { LeaseAcquirer, type StartLimits } from './lease-acquirer.js';
import * as texts from './lease-texts.js';
import { RequestTerms, ClockSkew, Renewal, type Renewed } from './renewal.js';
import { SupportCaller } from './support-caller.js';

type Fenced = { readonly status: 'fenced' | 'unknown'; readonly floorMs?: number };

export class LeaseKeeper implements Keeper, WindowWatch {
  readonly renewsItself = true;
  state: LeaseState = 'unassigned';
  lease: HeldLease | undefined;
  private readonly skew: ClockSkew;
  private readonly terms: RequestTerms;
  private readonly caller: SupportCaller;
  private readonly acquirer: LeaseAcquirer;
  private readonly renewal: Renewal;
  private readonly rollbackRecovery: ClockRollbackRecovery;
  private readonly retryDelay: RetryDelay;
  private readonly stopping = new AbortController();
  private readonly news: LeaseEvents;
  private refreshing: Promise<void> | undefined;
  private acquiring: Promise<void> | undefined;
  private readonly timer: RefreshTimer;

  constructor(private readonly parts: KeeperParts) {
    this.skew = new ClockSkew(parts, parts.idClock, parts.options);
    this.caller = new SupportCaller(parts.timers, parts.options.callTimeoutMs);
    this.retryDelay = new RetryDelay(parts.random);
    this.terms = new RequestTerms(parts.terms, parts);
    this.news = new LeaseEvents(parts, this.stopping.signal);
    this.acquirer = new LeaseAcquirer(parts, this.terms, this.caller, this.stopping.signal);
    this.rollbackRecovery = new ClockRollbackRecovery(parts, this.acquirer, this.skew);
    const { terms, caller, skew } = this;
    this.renewal = new Renewal({ support: parts.support, terms, caller, skew });
    this.timer = new RefreshTimer(parts.timers, () => this.refresh());
  }

  get workerId(): number | undefined {
    return this.lease?.workerId;
  }

  get endMs(): number | undefined {
    return this.parts.window.endMs;
  }

  get furthestMs(): number | undefined {
    return this.terms.furthestMs;
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

  get renewals(): RenewalRecord {
    return this.renewal.record;
  }

  async start(): Promise<void> {
    this.attend();
    await this.acquire(this.parts.options);
    const { refusal } = this.skew;
    if (refusal === undefined) return;
    await this.stop();
    throw refusal;
  }

  /**
   * From the first call on, it receives the events of the lease window, also from other threads.
   */
  private attend(): void {
    const { window } = this.parts;
    if (window.watch === this) return;
    window.watch = this;
    if (window.sharedMemory !== undefined) void forwardSignals(window);
  }

  /** One call at a time: a late answer and a renewal may both find the lease lost. */
  private acquire(limits?: StartLimits): Promise<void> {
    const failed = (reason: string) => this.noteFailure(reason);
    const take = async () => {
      if (this.parts.identity.isSnapshot()) throw texts.inSnapshot();
      return this.takeLease(await this.acquirer.acquire(failed, limits));
    };
    return (this.acquiring ??= take().finally(() => (this.acquiring = undefined)));
  }

  private async takeLease(acquired: Acquired): Promise<void> {
    // The lease was granted while the application was closing, so it is not needed.
    if (this.stopping.signal.aborted) return this.acquirer.giveBack(acquired.asked, undefined);
    this.skew.measure(acquired.grant, acquired.sentAtMs);
    this.news.clear('no worker id');
    this.placeLease(acquired, texts.grantText(acquired.grant), { rewinds: false });
    this.checkClock();
  }

  /**
   * Places the range in the window: after those in use, or in their place if ids shall go back in
   * time.
   */
  private placeLease(acquired: Acquired, reason: string, { rewinds }: { rewinds: boolean }): void {
    const lease = new HeldLease(this.parts.window, acquired);
    lease.enterWindow(rewinds);
    this.hold(lease, 'leased', reason);
    this.noteSuccess();
  }

  /** The one place where the lease changes: the window first, the application last. */
  private hold(lease: HeldLease | undefined, event: LeaseEvent, reason: string): void {
    this.lease = lease;
    this.change(event, reason);
    this.news.reportWorkerId(this.workerId, reason);
  }

  private noteSuccess(): void {
    this.renewal.record.isFailing = false;
    this.retryDelay.reset();
  }

  /** A rejected clock empties the lease window; a good one places the lease again. */
  private checkClock(): void {
    const { isSkewed, refusal, text, storeText } = this.skew;
    this.news.notifyWhile('skew', isSkewed ? text : undefined);
    this.news.notifyWhile('store clock', storeText);
    if (refusal !== undefined) {
      this.parts.window.vacate(() => refusal);
      this.change('dropped', text);
    } else if (this.lease !== undefined && this.parts.window.current === undefined) {
      this.lease.enterWindow(false);
      this.change('leased', 'The clock of this host agrees with the store again.');
    }
  }

  private async switchBack(old: HeldLease): Promise<void> {
    const acquired = await this.rollbackRecovery.earlierThan(old);
    if (acquired === undefined) return;
    // This check is made in the step that places the lease: while the store was asked, the
    // application may have stopped.
    if (this.stopping.signal.aborted || this.lease !== old)
      return this.acquirer.giveBack(acquired.asked, undefined);
    const reason = texts.movedText(old.workerId, acquired.grant.workerId);
    this.placeLease(acquired, reason, { rewinds: true });
    this.news.report(reason);
    // Until the window left the old range, other threads went on in it.
    await this.acquirer.giveBack(old.asked, old.lastIssuedMs);
  }

  entered(range: WindowRange): void {
    if (this.lease?.entered(range)) this.change('entered', 'Ids come from the new range now.');
  }

  halfUsed(): void {
    this.timer.soon();
  }

  refresh(): Promise<void> {
    if (this.state === 'released' || this.stopping.signal.aborted) return Promise.resolve();
    this.attend();
    return (this.refreshing ??= this.refreshOnce().finally(() => (this.refreshing = undefined)));
  }

  private async refreshOnce(): Promise<void> {
    const { lease } = this;
    if (lease === undefined) return this.replaceLease();
    if (lease.pid !== process.pid) return this.drop(texts.forked());
    try {
      await this.renewal.ask(lease.asked, (renewed) => this.apply(lease, renewed));
    } catch (error) {
      this.retryLater((error as Error).message);
    }
  }

  /** An answer counts only for the lease it was asked for, however late it comes. */
  private async apply(lease: HeldLease, renewed: Renewed): Promise<void> {
    const { answer, asked, sentAtMs, askedAtMs } = renewed;
    this.terms.observe(answer, askedAtMs);
    if (lease !== this.lease) return;
    switch (answer.status) {
      case 'ok':
        lease.apply(answer, asked, () => this.parts.identity.randomText());
        return this.afterRenewal(lease, answer, sentAtMs);
      case 'hold':
        return this.afterHold(lease, answer);
      case 'fenced':
      case 'unknown':
        return this.afterFence(lease, answer);
      case 'cloned':
        return this.drop(texts.clonedText(answer));
      case 'layout-mismatch':
        return this.drop(texts.otherLayout(answer.fingerprint, asked.fingerprint));
      case 'other-version':
        this.news.notify('other version', texts.otherVersion(answer.version).message);
        return this.retryLater('Another version of the protocol keeps the registry.');
      default:
        this.retryLater(`The registry answered ${JSON.stringify(answer)}.`);
    }
  }

  private async afterRenewal(lease: HeldLease, grant: LeaseGrant, sentAtMs: number): Promise<void> {
    this.noteSuccess();
    this.skew.measure(grant, sentAtMs);
    this.change('renewed', 'The store answers again.');
    this.checkClock();
    await this.switchBack(lease);
  }

  /** The range lasts. If it ends before its continuation comes, the application is told. */
  private afterHold(lease: HeldLease, hold: Parameters<typeof texts.holdText>[0]): void {
    if (lease.asked.haveMs <= this.parts.idClock.now() + hold.waitMs) {
      this.change('renewal-failed', texts.holdText(hold));
    }
    this.timer.in(hold.waitMs);
  }

  private retryLater(reason: string): void {
    this.noteFailure(reason);
    this.timer.in(this.retryDelay.next());
  }

  private noteFailure(reason: string): void {
    if (this.stopping.signal.aborted) return;
    const { idClock, options, window } = this.parts;
    this.renewal.record.isFailing = true;
    this.change('renewal-failed', reason);
    const endMs = window.endMs;
    if (endMs !== undefined && idClock.now() >= endMs - options.reserveMs) {
      this.change(
        'reserve-entered',
        `The range is ending; ids come from its reserve now. ${reason}`,
      );
    }
  }

  exhausted(): void {
    this.change('exhausted', 'The leased range is used up; ids come back when the store answers.');
    this.timer.soon();
  }

  /** The range lasts to its end, unless it is proved to overlap that of the new holder. */
  private afterFence(lease: HeldLease, answer: Fenced): Promise<void> {
    const { floorMs: itsFloorMs = Infinity } = answer;
    if (itsFloorMs < lease.asked.haveMs) return this.drop(texts.overlapping(lease, itsFloorMs));
    this.hold(undefined, 'fenced', texts.fencedText(answer.status, this.parts.support));
    return this.replaceLease();
  }

  private drop(refusal: SnowflakeError): Promise<void> {
    this.parts.window.vacate(() => refusal);
    this.hold(undefined, 'dropped', refusal.message);
    return this.replaceLease();
  }

  private async replaceLease(): Promise<void> {
    try {
      await this.acquire();
    } catch (error) {
      const { message } = error as Error;
      this.news.notify('no worker id', `No worker id could be leased. ${message}`);
      this.retryLater(message);
    }
  }

  /** Stops making ids, gives the worker id back and closes what the support opened. */
  async stop(): Promise<void> {
    if (this.stopping.signal.aborted) return;
    const { support, window } = this.parts;
    this.stopping.abort(texts.stopped());
    this.timer.cancel();
    const { lease } = this;
    window.close(texts.stopped);
    this.hold(undefined, 'released', 'The application is shutting down.');
    await Promise.allSettled([this.refreshing, this.acquiring]);
    if (lease !== undefined) await this.acquirer.giveBack(lease.asked, lease.lastIssuedMs);
    await support.close?.();
  }

  private change(event: LeaseEvent, reason: string): void {
    const from = this.state;
    this.state = nextState(from, event);
    if (from === this.state) return;
    this.parts.window.signals.state = numberOf(this.state);
    this.news.reportChange({ from, to: this.state, workerId: this.lease?.workerId, reason });
  }
}

/*
 * Reports to the application: changes of state and of the worker id, and other news.
 *
 * Guarantee: a cause is reported once while it lasts, however its text changes. A logger that
 * throws costs no id and does not keep a lease from being placed.
 */

class LeaseEvents {
  /** Causes that were reported and have not ended. */
  private readonly reported = new Set<string>();
  /** The worker id that the application was last told of. */
  private workerId: number | undefined;

  constructor(
    private readonly listeners: Pick<KeeperParts, 'onChange' | 'onNews' | 'onWorkerIdChange'>,
    private readonly stopping: AbortSignal,
  ) {}

  notify(cause: string, text: string): void {
    if (!this.reported.has(cause)) this.report(text);
    this.reported.add(cause);
  }

  /** The next occurrence is reported again. */
  clear(cause: string): void {
    this.reported.delete(cause);
  }

  /** Reports a cause as long as there is a text for it. */
  notifyWhile(cause: string, text: string | undefined): void {
    if (text === undefined) this.clear(cause);
    else this.notify(cause, text);
  }

  report(text: string): void {
    if (!this.stopping.aborted) quietly(() => this.listeners.onNews(text));
  }

  reportChange(change: LeaseChange): void {
    quietly(() => this.listeners.onChange(change));
  }

  reportWorkerId(to: number | undefined, reason: string): void {
    const from = this.workerId;
    this.workerId = to;
    if (from !== to) quietly(() => this.listeners.onWorkerIdChange?.({ from, to, reason }));
  }
}

function quietly(report: () => void): void {
  try {
    report();
  } catch {
    // The state still shows it.
  }
}

/*
 * Renewals outside the schedule, after half of a range is used or a call has failed.
 *
 * Guarantee: at most one is due at a time, and none after cancel().
 */

/** The delay after half a range is used, since many ids may follow at once. */
const SOON_MS = 20;

class RefreshTimer {
  private due: TimerHandle;
  private isOver = false;

  constructor(
    private readonly timers: Timers,
    private readonly refresh: () => Promise<void>,
  ) {}

  /** Every refused id asks for a renewal, and none of them may postpone it. */
  soon(): void {
    if (this.due === undefined) this.in(SOON_MS);
  }

  in(delayMs: number): void {
    if (this.isOver) return;
    this.timers.cancel(this.due);
    this.due = this.timers.after(delayMs, () => {
      this.due = undefined;
      void this.refresh();
    });
  }

  cancel(): void {
    this.isOver = true;
    this.timers.cancel(this.due);
  }
}

/*
 * ICH.Snowflake's recovery from a clock that was set back: another worker id, whose ids have the
 * right time again. Ids are unique without it. It is tried only if the store agrees with the clock,
 * and a worker id that does not help is given back at once.
 */

class ClockRollbackRecovery {
  constructor(
    private readonly parts: Pick<KeeperParts, 'idClock' | 'options'>,
    private readonly acquirer: LeaseAcquirer,
    private readonly skew: ClockSkew,
  ) {}

  /** Returns a worker id whose ids begin earlier; undefined if none is needed or can be leased. */
  async earlierThan(lease: HeldLease): Promise<Acquired | undefined> {
    if (!this.isDrifting(lease)) return undefined;
    const acquired = await this.acquirer.acquireOnce();
    if (acquired === undefined) return undefined;
    const gainMs = lease.lastIssuedMs! - acquired.grant.floorMs;
    if (gainMs >= this.parts.options.maxDriftMs) return acquired;
    await this.acquirer.giveBack(acquired.asked, undefined);
    return undefined;
  }

  private isDrifting(lease: HeldLease): boolean {
    const nowMs = this.parts.idClock.now();
    if (lease.asked.mark.incarnation === '' || this.skew.isSkewed) return false;
    if (lease.isAhead(nowMs)) return false;
    return (lease.lastIssuedMs ?? -Infinity) - nowMs > this.parts.options.maxDriftMs;
  }
}

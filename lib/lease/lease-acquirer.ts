/**
 * Gets a worker id: asks, waits as the answer says, asks again. Also gives one back.
 *
 * Promise: one token per lease, however often it is asked for, so that a lost answer costs no
 * worker id. Each reason for waiting is logged once; an error that waiting cannot fix is thrown at
 * once.
 */
import type { SnowflakeError } from '../errors.js';
import { checkedAnswer } from './check-answer.js';
import { cleanFromMs, waitUntil } from './clean-start.js';
import type { LeaseAnswer, LeaseRequest, WorkerLease } from './distributed-support.js';
import { claimEndless, giveBackEndless } from './endless-worker-ids.js';
import { NO_REGISTRY, type Acquired } from './held-lease.js';
import type { KeeperParts } from './keeper-parts.js';
import type { AskedTerms } from './asked-terms.js';
import type { LeaseOptions } from './lease-options.js';
import { gaveUp, refused, type Refused } from './refused-lease.js';
import { RetryDelay } from '../patience/retry-delay.js';
import type { SupportCaller } from './support-caller.js';
import { pause } from '../patience/timers.js';

export type StartLimits = Pick<LeaseOptions, 'startTimeoutMs' | 'onNoWorkerFree'>;

/** Shutdown does not wait longer for the store. */
const RELEASE_TIMEOUT_MS = 1000;

export class LeaseAcquirer {
  constructor(
    private readonly parts: KeeperParts,
    private readonly terms: AskedTerms,
    private readonly caller: SupportCaller,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Waits for a worker id: for ever, or within the limits of a start. Each try that brought none is
   * told to `failed`.
   */
  async acquire(failed: (reason: string) => void, limits?: StartLimits): Promise<Acquired> {
    const acquired = await this.askUntil(failed, limits);
    try {
      await this.waitForNewIds(acquired, limits);
    } catch (error) {
      await this.giveBack(acquired.asked, undefined);
      throw error;
    }
    return acquired;
  }

  private async askUntil(
    failed: (reason: string) => void,
    limits: StartLimits | undefined,
  ): Promise<Acquired> {
    const { timers, random, onNews } = this.parts;
    const request = this.request();
    const delay = new RetryDelay(random);
    let isOver = limits?.startTimeoutMs === 0;
    const timer = limits && timers.after(limits.startTimeoutMs, () => (isOver = true));
    const told = new Set<string>();
    try {
      for (;;) {
        const outcome = await this.ask(request);
        if (!('error' in outcome)) return outcome;
        const { error, waitMs } = outcome;
        const failsAtOnce = limits?.onNoWorkerFree === 'fail' && error.code === 'NO_WORKER_FREE';
        if (!error.retryable || failsAtOnce) throw error;
        if (isOver) throw gaveUp(limits!.startTimeoutMs, error);
        if (!told.has(error.code)) onNews(`Waiting for a worker id. ${error.message}`);
        told.add(error.code);
        failed(error.message);
        await pause(timers, waitMs ?? delay.next(), this.signal);
      }
    } finally {
      timers.cancel(timer);
    }
  }

  /** One try for another worker id; undefined when none can be leased now. */
  async acquireOnce(): Promise<Acquired | undefined> {
    // A claim would take over the worker id that is held already.
    const outcome = await this.ask({ ...this.request(), takesOver: false });
    return 'error' in outcome ? undefined : outcome;
  }

  /** Once, since the worker id is free after one ttl anyway. */
  async giveBack(lease: WorkerLease, lastMs: number | undefined): Promise<void> {
    const { support, onNews } = this.parts;
    const release = async () => support.release?.({ ...lease, ...this.terms.now }, lastMs);
    giveBackEndless(lease, lastMs);
    try {
      await this.caller.call(release, {
        consequence: 'It is asked only once, because the worker id is no longer needed.',
        timeoutMs: RELEASE_TIMEOUT_MS,
      });
    } catch (error) {
      onNews(
        `Worker id ${lease.workerId} could not be given back and is free in ` +
          `${lease.ttlMs} ms at the latest: ${(error as Error).message}`,
      );
    }
  }

  /** Where no registry knows what a process before this one made, the clock has to. */
  private async waitForNewIds({ grant }: Acquired, limits?: StartLimits): Promise<void> {
    const { support, seat, idClock: clock, timers, aheadMsMax, onNews } = this.parts;
    const isUnknown = grant.ceilingMs === Infinity && grant.floorMs === -Infinity;
    if (!isUnknown && support.isVolatile !== true) return;
    const fromMs = cleanFromMs(seat.layout, clock.now(), aheadMsMax ?? 0);
    const limitMs = limits?.startTimeoutMs ?? Infinity;
    await waitUntil(fromMs, { clock, timers, signal: this.signal, limitMs, onNews });
  }

  private request(): LeaseRequest {
    const { terms, options, identity, workerIds, support } = this.parts;
    return {
      ...terms,
      // 'wait' asks for a whole lease at least, which there is once the clock has reached its
      // floor.
      ...(options.onFreshRegistry === 'wait' && { minRangeMs: terms.ttlMs }),
      token: identity.randomText(),
      nonce: identity.randomText(),
      workerIdMin: workerIds.min,
      workerIdMax: workerIds.max,
      haveMs: 0,
      holder: identity.label(),
      takesOver: support.takesOver === true,
    };
  }

  private async ask(request: LeaseRequest): Promise<Acquired | Refused> {
    const { support, hostClock, seat, identity, terms, workerIds } = this.parts;
    const sentAtMs = hostClock.now();
    const { askedAtMs, seen } = this.terms;
    const { minRangeMs: _, ...learned } = this.terms.now;
    const sent = { ...request, ...learned, haveMs: seat.endMs ?? 0, seen };
    const checked = (given: LeaseAnswer) => checkedAnswer(given, workerIds);
    try {
      const given = await this.caller.call(() => support.getNextWorkId(sent), {
        // A grant that comes too late is not lost: the next try, with this token, gets it again.
        late: (answer) => this.terms.heard(checked(answer), askedAtMs),
        consequence: 'The call is repeated.',
      });
      const answer = checked(given);
      this.terms.heard(answer, askedAtMs);
      if (answer.status !== 'ok') return refused(answer, request);
      const grant = claimEndless(answer, request);
      const { workerId, ceilingMs: haveMs, mark = NO_REGISTRY } = grant;
      const nonceNext = identity.randomText();
      // The terms come last: what a first range must have does not hold for renewals.
      const asked = { ...request, ...terms, workerId, haveMs, mark, nonceNext };
      return { grant, sentAtMs, asked };
    } catch (error) {
      return { error: error as SnowflakeError };
    }
  }
}

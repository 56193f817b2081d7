/**
 * Gets a worker id: asks, waits as the answer says, and asks again. It also gives one back.
 *
 * Guarantee: one token per lease, however often it is requested, so that a lost answer costs no
 * worker id. Each reason for waiting is logged once; an error that waiting cannot fix is thrown at
 * once.
 */
import type { BitLayout } from '../core/layout/bit-layout.js';
import { SnowflakeError } from '../errors.js';
import { pause, RetryDelay, type Timers } from '../time/timers.js';
import type { LeaseAnswer, LeaseGrant, LeaseRequest, WorkerLease } from './distributed-support.js';
import { NO_REGISTRY, type Acquired } from './held-lease.js';
import type { KeeperParts } from './keeper.js';
import type { LeaseOptions } from './lease-options.js';
import { keptText, otherLayout, otherVersion } from './lease-texts.js';
import type { RequestTerms } from './renewal.js';
import { claimEndless, giveBackEndless } from './static.support.js';
import { checkedAnswer, type SupportCaller } from './support-caller.js';

export type StartLimits = Pick<LeaseOptions, 'startTimeoutMs' | 'onNoWorkerFree'>;

/** Shutdown does not wait longer for the store. */
const RELEASE_TIMEOUT_MS = 1000;

export class LeaseAcquirer {
  constructor(
    private readonly parts: KeeperParts,
    private readonly terms: RequestTerms,
    private readonly caller: SupportCaller,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Waits for a worker id: for ever, or within the limits of a start. `failed` gets the reason of
   * each try that brought none.
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
    const reported = new Set<string>();
    try {
      for (;;) {
        const outcome = await this.ask(request);
        if (!('error' in outcome)) return outcome;
        const { error, waitMs } = outcome;
        const failsAtOnce = limits?.onNoWorkerFree === 'fail' && error.code === 'NO_WORKER_FREE';
        if (!error.retryable || failsAtOnce) throw error;
        if (isOver) throw gaveUp(limits!.startTimeoutMs, error);
        if (!reported.has(error.code)) onNews(`Waiting for a worker id. ${error.message}`);
        reported.add(error.code);
        failed(error.message);
        await this.pause(waitMs ?? delay.next());
      }
    } finally {
      timers.cancel(timer);
    }
  }

  /** Tries once to get another worker id; undefined when none can be leased now. */
  async acquireOnce(): Promise<Acquired | undefined> {
    // A claim would take over the worker id that is held already.
    const request = { ...this.request(), takesOver: false };
    for (;;) {
      const outcome = await this.ask(request);
      if (!('error' in outcome)) return outcome;
      if (outcome.isStored !== true) return undefined;
      await this.pause(outcome.waitMs!);
    }
  }

  /** Asks only once, since the worker id is free after one ttl anyway. */
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

  /** If no registry knows the ids of a previous process, only the clock can keep new ones apart. */
  private async waitForNewIds({ grant }: Acquired, limits?: StartLimits): Promise<void> {
    const { support, window, idClock: clock, timers, aheadMsMax, onNews } = this.parts;
    const isUnknown = grant.ceilingMs === Infinity && grant.floorMs === -Infinity;
    if (!isUnknown && support.isVolatile !== true) return;
    const fromMs = cleanFromMs(window.layout, clock.now(), aheadMsMax ?? 0);
    const limitMs = limits?.startTimeoutMs ?? Infinity;
    await waitUntil(fromMs, { clock, timers, signal: this.signal, limitMs, onNews });
  }

  private request(): LeaseRequest {
    const { terms, options, identity, workerIds, support, window } = this.parts;
    const { min, max } = workerIds;
    const isPart = min > 0 || max < window.layout.workerIdMax;
    return {
      ...terms,
      // 'wait' asks for a whole lease at least, which exists once the clock has reached its floor.
      ...(options.onFreshRegistry === 'wait' && { minRangeMs: terms.ttlMs }),
      token: identity.randomText(),
      nonce: identity.randomText(),
      workerIdMin: min,
      workerIdMax: max,
      haveMs: 0,
      holder: { ...identity.label(), ...(isPart && { workerIds: `${min}-${max}` }) },
      takesOver: support.takesOver === true,
    };
  }

  /** A process that waits asks as often as one that renews: only its calls bring what it read. */
  private pause(ms: number): Promise<void> {
    const { timers, options } = this.parts;
    const longestMs = Math.min(WAIT_MS_MAX, options.refreshAliveIntervalMs);
    return pause(timers, Math.min(ms, longestMs), this.signal);
  }

  private async ask(request: LeaseRequest): Promise<Acquired | Refused> {
    const { support, hostClock, window, identity, terms, workerIds } = this.parts;
    const sentAtMs = hostClock.now();
    const { askedAtMs, seen } = this.terms;
    const { minRangeMs: _, ...learned } = this.terms.now;
    const sent = { ...request, ...learned, haveMs: window.endMs ?? 0, seen };
    const checked = (given: LeaseAnswer) => checkedAnswer(given, workerIds);
    try {
      const given = await this.caller.call(() => support.getNextWorkId(sent), {
        // A late grant is not lost: the next try, with this token, gets it again.
        late: (answer) => this.terms.observe(checked(answer), askedAtMs),
        consequence: 'The call is repeated.',
      });
      const answer = checked(given);
      this.terms.observe(answer, askedAtMs);
      if (answer.status !== 'ok') return refused(answer, request);
      const grant = claimEndless(answer, request);
      const { workerId, ceilingMs: haveMs, mark = NO_REGISTRY } = grant;
      const nonceNext = identity.randomText();
      // The terms come last, since the conditions of a first range do not hold for renewals.
      const asked = { ...request, ...terms, workerId, haveMs, mark, nonceNext };
      return { grant, sentAtMs, asked };
    } catch (error) {
      return { error: error as SnowflakeError };
    }
  }
}

/*
 * The start under a lease of which no registry knows the earlier ids.
 *
 * Guarantee: it waits until the clock has passed every time the previous process could have
 * reached: the tick it ended in, plus the run-ahead that its ids were allowed.
 */

/** No process or thread restarts within so short a time. */
const RESTART_MS_MIN = 10;
/** A timer fires at most this much before the clock is there. */
const EARLY_MS = 10;

interface Waiting {
  readonly clock: KeeperParts['hostClock'];
  readonly timers: Timers;
  readonly signal: AbortSignal;
  /** How long a start may take; Infinity after the start. */
  readonly limitMs: number;
  readonly onNews: (text: string) => void;
}

/** The time from which the first id may be made, Unix ms. */
function cleanFromMs(layout: BitLayout, nowMs: number, aheadMsMax: number): number {
  const reachedMs = nowMs + aheadMsMax;
  if (layout.unitMs <= RESTART_MS_MIN) return reachedMs;
  return layout.msOf(layout.tickOf(reachedMs) + 1);
}

/**
 * @throws SnowflakeError CONFIG_INVALID if that takes longer than a start may; CLOCK_UNUSABLE
 * where it does so since the clock was set back, or stands still
 */
async function waitUntil(fromMs: number, waiting: Waiting): Promise<void> {
  const { clock, timers, signal, limitMs, onNews } = waiting;
  const waitMs = fromMs - clock.now();
  if (waitMs > limitMs) throw tooLong(waitMs, limitMs);
  let waitedMs = 0;
  let isReported = false;
  for (let leftMs = waitMs; leftMs > 0; leftMs = fromMs - clock.now()) {
    const isBehind = waitedMs + leftMs > waitMs + EARLY_MS;
    if (isBehind && waitedMs >= limitMs) throw clockBehind(leftMs, limitMs);
    if (isBehind && !isReported) onNews(behind(leftMs));
    isReported ||= isBehind;
    const ms = Math.min(leftMs, waitMs, Math.max(EARLY_MS, limitMs - waitedMs));
    await pause(timers, ms, signal);
    waitedMs += ms;
  }
}

function behind(leftMs: number): string {
  return (
    `The clock of this host was set back or stands still, so ids of this worker id start in ` +
    `${leftMs} ms by that clock, after all that a process before this one may have made.`
  );
}

function clockBehind(leftMs: number, limitMs: number): SnowflakeError {
  return new SnowflakeError(
    'CLOCK_UNUSABLE',
    `${behind(leftMs)} The start gave up after startTimeoutMs (${limitMs}). Check the clock and ` +
      `its time synchronization, then start again.`,
    { details: { waitMs: leftMs } },
  );
}

function tooLong(waitMs: number, limitMs: number): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `No registry knows which ids this worker id has made, so the start must wait ${waitMs} ms ` +
      `until the clock has passed them: the rest of a tick of this layout, and aheadMsMax. ` +
      `That is longer than startTimeoutMs (${limitMs}). Use a layout with shorter ticks, a ` +
      `smaller aheadMsMax, or a registry.`,
    { details: { waitMs } },
  );
}

/*
 * The refusals.
 *
 * Guarantee: the error says whether waiting can help, and no wait is so long that a worker id given
 * back meanwhile is overlooked.
 */

/** Without `waitMs` the usual delay between two tries decides. */
interface Refused {
  readonly error: SnowflakeError;
  readonly waitMs?: number;
  /** True if the same request is granted after that. */
  readonly isStored?: boolean | undefined;
}

/** The next try comes at the latest after this, however long the answer says. */
const WAIT_MS_MAX = 5000;

function refused(
  answer: Exclude<LeaseAnswer, LeaseGrant>,
  { fingerprint, takesOver = false }: LeaseRequest,
): Refused {
  switch (answer.status) {
    case 'none-free':
      // No `waitMs` here, since a process may give a worker id back at any time.
      return { error: noneFree(answer.waitMs) };
    case 'wait':
    case 'hold':
      return {
        error: tooSoon(answer, takesOver),
        waitMs: answer.waitMs,
        isStored: answer.isStored,
      };
    case 'layout-mismatch':
      return { error: otherLayout(answer.fingerprint, fingerprint) };
    case 'other-version':
      return { error: otherVersion(answer.version) };
    default:
      return { error: unexpected(answer.status) };
  }
}

/** The error of a start that has waited for as long as it may. */
function gaveUp(startTimeoutMs: number, error: SnowflakeError): SnowflakeError {
  const message = `No worker id was leased within ${startTimeoutMs} ms. ${error.message}`;
  return new SnowflakeError(error.code, message, { details: error.details, cause: error });
}

function noneFree(waitMs: number): SnowflakeError {
  return new SnowflakeError(
    'NO_WORKER_FREE',
    `Every worker id is leased; the next one is free in ${waitMs} ms at the latest. Stop ` +
      `processes that are not needed, shorten leaseTtlMs, or use a layout with more worker bits.`,
    { details: { waitMs } },
  );
}

function tooSoon(answer: { waitMs: number; isStored?: boolean }, takesOver: boolean) {
  const { waitMs, isStored } = answer;
  return new SnowflakeError('NOT_READY', soonText(waitMs, takesOver, isStored), {
    details: { waitMs },
  });
}

function soonText(waitMs: number, takesOver: boolean, isStored = false): string {
  if (isStored) return `A worker id is stored, and ids start ${keptText(waitMs)}`;
  return takesOver
    ? `The worker id was in use a moment ago, or the registry has lost data. Ids start in ` +
        `${waitMs} ms, after all that others may have made. If it takes longer, another running ` +
        `process has the same number.`
    : `The registry is new or has lost data. Ids start in ${waitMs} ms, after everything that it ` +
        `could have forgotten.`;
}

function unexpected(status: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The support answered '${status}' when asked for a worker id.`,
  );
}

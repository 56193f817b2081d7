/**
 * What the oracle excuses by name: grants of a registry that lacks what alone keeps them apart from
 * those of another one. A violation counts unless one of the two was granted so.
 *
 * Guarantee: whoever brings what was lacking ends the excuse for all that is granted afterwards.
 */
import type { LeaseAnswer } from '../../../lib/lease/distributed-support.js';
import type { RegistryHeader } from '../../../lib/registry/snapshot.js';
import { nowOf } from '../../../lib/rows/store-clock.js';
import type { StoreCall } from './store-events.js';

/** Times of one worker id that a process was granted. */
interface Granted {
  readonly holder: string;
  readonly token: string;
  readonly workerId: number;
  readonly fromMs: number;
  readonly toMs: number;
}

interface Answered {
  readonly call: StoreCall;
  readonly answer: LeaseAnswer | undefined;
  /** Of the registry, after it. */
  readonly header: RegistryHeader;
  readonly trueMs: number;
}

/** Undefined where nothing was granted. */
function grantedBy({ call, answer }: Answered): Granted | undefined {
  if (call.op === 'release' || answer?.status !== 'ok') return undefined;
  const { token } = call.op === 'renew' ? call.lease : call.request;
  const { workerId, floorMs, ceilingMs: toMs } = answer;
  // What a holder had before was granted by whoever granted that.
  const hadMs = call.op === 'renew' ? call.lease.haveMs : floorMs;
  return { holder: nameIn(token), token, workerId, fromMs: Math.max(floorMs, hadMs), toMs };
}

/** Whether the holder was granted any of these times, the end excluded. */
function isAmong(
  all: readonly Granted[],
  holder: string,
  workerId: number,
  [fromMs, toMs]: readonly [number, number],
): boolean {
  return all.some(
    (one) =>
      one.workerId === workerId && one.holder === holder && one.fromMs < toMs && fromMs < one.toMs,
  );
}

/** The process that made the token, as its identity does. */
const nameIn = (token: string) => token.slice(0, token.indexOf('#'));

// Which registry took over from one that was lost and has not been brought what that alone stored:
// how far it was ahead of its store, and its longest lease.
//
// Guarantee: it is excused by what processes have read in answers, and not by what it stores: where
// a process that has read it asks and fails to bring it, a violation counts.

/** By what such a registry lacks. */
type Lack = 'grants without the lost clock' | 'grants without the longest lease';
export type Excuse = Lack | 'grants of a left server' | 'ids of copies';

/** What a process can bring with a request, at the moment when that is sent. */
export interface Brought {
  /** After how many losses: what was sent before the last one is not as late as that. */
  readonly afterLossCount: number;
  /** The furthest clock that it has read, minus the true time; undefined if it has read none. */
  readonly clockAheadMs: number | undefined;
  readonly quarantineMs: number;
}

export class LostRegistries {
  private lossCount = 0;
  private lacksClock = false;
  /** How far the clocks that were lost were ahead of the true time at the most. */
  private lostAheadMs = -Infinity;
  /** The longest quarantine of all registries before this one. */
  private longestMs = 0;
  /** The longest one that this one stored or was brought. */
  private reachedMs = 0;
  private readonly aheads = new WeakMap<LeaseAnswer, number>();
  private readonly quarantines = new WeakMap<LeaseAnswer, number>();
  private readonly aheadRead = new Map<string, number>();
  private readonly longestRead = new Map<string, number>();
  private readonly past: Granted[] = [];
  /** A scenario may excuse some; the rest counts. */
  excused: readonly Excuse[] = [];

  /**
   * @param slewMs how far it was ahead of its store: what shows no step lacks nothing
   * @param aheadMs how far it was ahead of the true time: whoever has read less cannot bring it
   */
  lost(slewMs: number, aheadMs: number): void {
    this.lossCount++;
    if (!this.lacksClock) this.lostAheadMs = -Infinity;
    if (slewMs > 0) this.lostAheadMs = Math.max(this.lostAheadMs, aheadMs);
    this.lacksClock ||= slewMs > 0;
    this.longestMs = Math.max(this.longestMs, this.reachedMs);
    this.reachedMs = 0;
  }

  sentBy(name: string): Brought {
    const clockAheadMs = this.aheadRead.get(name);
    const quarantineMs = this.longestRead.get(name) ?? 0;
    return { afterLossCount: this.lossCount, clockAheadMs, quarantineMs };
  }

  answered(answered: Answered, brought?: Brought): void {
    const { answer, header, trueMs } = answered;
    const { quarantineMs } = header;
    const { afterLossCount, clockAheadMs = -Infinity } = brought ?? {};
    const isBrought = afterLossCount === this.lossCount && clockAheadMs >= this.lostAheadMs;
    if (isBrought) this.lacksClock = false;
    this.reachedMs = Math.max(this.reachedMs, quarantineMs, brought?.quarantineMs ?? 0);
    if (answer && !this.lacksClock) this.aheads.set(answer, nowOf(header) - trueMs);
    if (answer) this.quarantines.set(answer, quarantineMs);
    const granted = grantedBy(answered);
    if (granted && this.lacks.some((lack) => this.excused.includes(lack))) this.past.push(granted);
  }

  private get lacks(): Lack[] {
    const lacks: Lack[] = [];
    if (this.lacksClock) lacks.push('grants without the lost clock');
    if (this.reachedMs < this.longestMs) lacks.push('grants without the longest lease');
    return lacks;
  }

  /** The process has read the answer. */
  learned(name: string, answer: LeaseAnswer): void {
    const aheadMs = this.aheads.get(answer);
    const readAheadMs = this.aheadRead.get(name) ?? -Infinity;
    if (aheadMs !== undefined) this.aheadRead.set(name, Math.max(readAheadMs, aheadMs));
    const readMs = Math.max(this.longestRead.get(name) ?? 0, this.quarantines.get(answer) ?? 0);
    this.longestRead.set(name, readMs);
  }

  isExcused(holder: string, workerId: number, ms: number): boolean {
    return this.wasExcused(holder, workerId, [ms, ms + 1]);
  }

  wasExcused(holder: string, workerId: number, span: readonly [number, number]): boolean {
    return isAmong(this.past, holder, workerId, span);
  }
}

// Which server of a simulation was left for another one, is asked again and has not heard of it:
// what it grants, or extends, until then no rule can keep apart from what the other one granted.
//
// Guarantee: a holder is excused for no longer than until that server answers for the same lease,
// having heard.

interface Reign {
  /** How many there had been. */
  readonly number: number;
  /** How many operations its registry had run before. */
  readonly operations: number;
}

interface GrantedByLeft extends Granted {
  /** The server. */
  readonly by: string;
  /**
   * That server has heard, and was asked for this lease since, which its holder is about to learn.
   * One that was led elsewhere first, where nobody knew the lease, has another one by then, and is
   * told nothing of the range that it still uses.
   */
  isTold: boolean;
}

export class LeftServers {
  private count = 0;
  private readonly reigns = new Map<string, Reign>();
  /** Of each that was left and has not heard, the number of the reign that followed. */
  private readonly unheard = new Map<string, number>();
  private excuses: GrantedByLeft[] = [];
  /** All there ever were. */
  private readonly past: Granted[] = [];

  /** From here on everybody is led to another server. */
  left(leaving: string, next: { name: string; operations: number }): void {
    this.reigns.set(next.name, { number: ++this.count, operations: next.operations });
    this.unheard.set(leaving, this.count);
  }

  answered(server: string, answered: Answered): void {
    const { call, header } = answered;
    const followed = this.unheard.get(server);
    const isHeard =
      followed !== undefined && (isAboveAll(header) || this.isNews(server, call, followed));
    if (isHeard) this.unheard.delete(server);
    if (call.op === 'release') return;
    const { token } = call.op === 'renew' ? call.lease : call.request;
    const granted = grantedBy(answered);
    if (!this.unheard.has(server)) {
      for (const one of this.excuses) one.isTold ||= one.token === token && one.by === server;
    } else if (granted) {
      const excuse = { ...granted, by: server, isTold: false };
      this.excuses.push(excuse);
      this.past.push(excuse);
    }
  }

  /** Its process has read the answer. */
  learned(holder: string): void {
    this.excuses = this.excuses.filter((one) => one.holder !== holder || !one.isTold);
  }

  wasExcused(holder: string, workerId: number, span: readonly [number, number]): boolean {
    return isAmong(this.past, holder, workerId, span);
  }

  isExcused(holder: string, workerId: number, ms: number): boolean {
    return isAmong(this.excuses, holder, workerId, [ms, ms + 1]);
  }

  /** Whoever asks was answered by a server of a later reign, in that reign. */
  private isNews(server: string, call: StoreCall, followed: number): boolean {
    // What an acquire tells may be of an earlier one.
    if (call.op !== 'renew') return false;
    const { mark } = call.lease;
    const reign = this.reigns.get(mark.server);
    const isLater = reign !== undefined && reign.number >= followed && mark.server !== server;
    return isLater && mark.operations > reign.operations;
  }
}

/**
 * Whether its floor lies above all that another server can have granted until now, as after a loss
 * that was proved. A new era alone says less: one also begins where a process brings the time of a
 * server that this one knew, of which the floor moves by a step of the clock and no further.
 */
function isAboveAll(header: RegistryHeader): boolean {
  return header.safeFloorMs >= nowOf(header) + header.quarantineMs;
}

/**
 * What the oracle excuses by name: grants of a registry without the data that would prevent a
 * conflict with another registry. A violation counts unless such a grant is part of it.
 *
 * Guarantee: a caller that brings the missing data ends the excuse for all later grants.
 */
import type { LeaseAnswer } from '../../../lib/lease/distributed-support.js';
import type { RegistryHeader } from '../../../lib/registry/snapshot.js';
import { nowOf } from '../../../lib/rows/store-clock.js';
import type { StoreCall } from './store-events.js';

/** Times of one worker ID, granted to a process. */
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
  /** The registry's header after the answer. */
  readonly header: RegistryHeader;
  readonly trueMs: number;
}

/** Undefined without a grant. */
function grantedBy({ call, answer }: Answered): Granted | undefined {
  if (call.op === 'release' || answer?.status !== 'ok') return undefined;
  const { token } = call.op === 'renew' ? call.lease : call.request;
  const { workerId, floorMs, ceilingMs: toMs } = answer;
  // The holder got its earlier times from another grant.
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

/** The process that made the token: its identity puts its name first. */
const nameIn = (token: string) => token.slice(0, token.indexOf('#'));

// Which registry replaced a lost one and still lacks data that only the lost one stored: how far it
// was ahead of its store, and its longest lease.
//
// Guarantee: the excuse depends on the answers that processes have read, not on the registry's
// data. If a process has read the data and fails to bring it, a violation counts.

/** The data that such a registry lacks. */
type Lack = 'grants without the lost clock' | 'grants without the longest lease';
export type Excuse = Lack | 'grants of a left server' | 'ids of copies';

/** The data that a process can bring with a request, at the moment of sending. */
export interface Brought {
  /** The count of losses before. A request sent before the last loss may lack the latest data. */
  readonly afterLossCount: number;
  /** The furthest clock that it has read, minus the true time; undefined if it has read none. */
  readonly clockAheadMs: number | undefined;
  readonly quarantineMs: number;
}

export class LostRegistries {
  private lossCount = 0;
  private lacksClock = false;
  /** The most that the lost clocks were ahead of the true time. */
  private lostAheadMs = -Infinity;
  /** The longest quarantine of all registries before this one. */
  private longestMs = 0;
  /** The longest quarantine that this registry stored or received. */
  private reachedMs = 0;
  private readonly aheads = new WeakMap<LeaseAnswer, number>();
  private readonly quarantines = new WeakMap<LeaseAnswer, number>();
  private readonly aheadRead = new Map<string, number>();
  private readonly longestRead = new Map<string, number>();
  private readonly past: Granted[] = [];
  /** The excuses that the scenario allows. All other violations count. */
  excused: readonly Excuse[] = [];

  /**
   * @param slewMs how far it was ahead of its store; 0 if there is nothing to lack
   * @param aheadMs how far it was ahead of the true time; a process with less cannot bring it
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

// Which server of a simulation clients left, use again, and have not informed. Until then no rule
// can keep its grants and extensions apart from the other server's grants.
//
// Guarantee: the excuse for a holder ends when the informed server answers for the same lease.

interface Reign {
  /** The count of earlier reigns. */
  readonly number: number;
  /** How many operations its registry ran before. */
  readonly operations: number;
}

interface GrantedByLeft extends Granted {
  /** The name of the server. */
  readonly by: string;
  /**
   * Whether the informed server has since answered for this lease, so that the holder will learn of
   * it. A holder that went to a server without this lease has another lease by then. It gets no
   * notice about the range that it still uses.
   */
  isTold: boolean;
}

export class LeftServers {
  private count = 0;
  private readonly reigns = new Map<string, Reign>();
  /**
   * The number of the reign that followed, for each server that clients left and have not informed.
   */
  private readonly unheard = new Map<string, number>();
  private excuses: GrantedByLeft[] = [];
  /** All excuses that ever existed. */
  private readonly past: Granted[] = [];

  /** From here on all clients use another server. */
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

  /** The process has read the answer. */
  learned(holder: string): void {
    this.excuses = this.excuses.filter((one) => one.holder !== holder || !one.isTold);
  }

  wasExcused(holder: string, workerId: number, span: readonly [number, number]): boolean {
    return isAmong(this.past, holder, workerId, span);
  }

  isExcused(holder: string, workerId: number, ms: number): boolean {
    return isAmong(this.excuses, holder, workerId, [ms, ms + 1]);
  }

  /** Whether the caller has an answer from a later reign's server, from that reign. */
  private isNews(server: string, call: StoreCall, followed: number): boolean {
    // An acquire may contain the mark of an earlier reign.
    if (call.op !== 'renew') return false;
    const { mark } = call.lease;
    const reign = this.reigns.get(mark.server);
    const isLater = reign !== undefined && reign.number >= followed && mark.server !== server;
    return isLater && mark.operations > reign.operations;
  }
}

/**
 * Whether the floor lies above all possible grants of other servers until now, as after a proved
 * loss. A new era alone means less. An era also begins when a process brings the time of a known
 * server, and then the floor moves only by the step of the clock.
 */
function isAboveAll(header: RegistryHeader): boolean {
  return header.safeFloorMs >= nowOf(header) + header.quarantineMs;
}

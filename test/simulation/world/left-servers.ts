/**
 * Which server of a simulation was left for another one, is asked again and has not heard of it:
 * what it grants, or extends, until then no rule can keep apart from what the other one granted.
 *
 * Guarantee: a holder is excused for no longer than until that server answers for the same lease,
 * having heard.
 */
import type { LeaseAnswer } from '../../../lib/lease/distributed-support.js';
import { nowOf } from '../../../lib/rows/store-clock.js';
import type { RegistryHeader } from '../../../lib/registry/snapshot.js';
import type { StoreCall } from './store-event.js';

interface Reign {
  /** How many there had been. */
  readonly number: number;
  /** How many operations its registry had run before. */
  readonly operations: number;
}

/** Times of one worker id that were granted so. */
interface Excuse {
  /** The server. */
  readonly by: string;
  readonly holder: string;
  readonly token: string;
  readonly workerId: number;
  readonly fromMs: number;
  readonly toMs: number;
  /**
   * That server has heard, and was asked for this lease since, which its holder is about to learn.
   * One that was led elsewhere first, where nobody knew the lease, has another one by then, and is
   * told nothing of the range that it still uses.
   */
  isTold: boolean;
}

interface Answered {
  readonly call: StoreCall;
  readonly answer: LeaseAnswer | undefined;
  /** Of the registry, after it. */
  readonly header: RegistryHeader;
}

export class LeftServers {
  private count = 0;
  private readonly reigns = new Map<string, Reign>();
  /** Of each that was left and has not heard, the number of the reign that followed. */
  private readonly unheard = new Map<string, number>();
  private excuses: Excuse[] = [];
  /** All there ever were. */
  private readonly past: Excuse[] = [];

  /** From here on everybody is led to another server. */
  left(leaving: string, next: { name: string; operations: number }): void {
    this.reigns.set(next.name, { number: ++this.count, operations: next.operations });
    this.unheard.set(leaving, this.count);
  }

  answered(server: string, { call, answer, header }: Answered): void {
    const followed = this.unheard.get(server);
    const isHeard =
      followed !== undefined && (isAboveAll(header) || this.isNews(server, call, followed));
    if (isHeard) this.unheard.delete(server);
    if (call.op === 'release') return;
    const { token } = call.op === 'renew' ? call.lease : call.request;
    const holder = nameIn(token);
    if (!this.unheard.has(server)) {
      for (const one of this.excuses) one.isTold ||= one.token === token && one.by === server;
    } else if (answer?.status === 'ok') {
      const { workerId, floorMs, ceilingMs: toMs } = answer;
      // What a holder had before was granted by whoever granted that.
      const hadMs = call.op === 'renew' ? call.lease.haveMs : floorMs;
      const fromMs = Math.max(floorMs, hadMs);
      const excuse = { by: server, holder, token, workerId, fromMs, toMs, isTold: false };
      this.excuses.push(excuse);
      this.past.push(excuse);
    }
  }

  /** Its process has read the answer. */
  learned(holder: string): void {
    this.excuses = this.excuses.filter((one) => one.holder !== holder || !one.isTold);
  }

  /** Whether the holder was granted any of these times so. */
  wasExcused(holder: string, workerId: number, span: readonly [number, number]): boolean {
    const [fromMs, toMs] = span;
    return this.past.some(
      (one) =>
        one.workerId === workerId &&
        one.holder === holder &&
        one.fromMs < toMs &&
        fromMs < one.toMs,
    );
  }

  isExcused(holder: string, workerId: number, ms: number): boolean {
    return this.excuses.some(
      (one) =>
        one.workerId === workerId && one.holder === holder && ms >= one.fromMs && ms < one.toMs,
    );
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

/** The process that made the token, as its identity does. */
const nameIn = (token: string) => token.slice(0, token.indexOf('#'));

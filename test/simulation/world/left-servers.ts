/**
 * Which server of a simulation was left for another one, is asked again and has not heard of it:
 * what it grants, or extends, until then no rule can keep apart from what the other one granted.
 *
 * Promise: a holder is excused for no longer than until that server answers it, having heard.
 */
import type { LeaseAnswer } from '../../../lib/lease/distributed-support.js';
import type { StoreCall } from './store-event.js';

interface Reign {
  /** How many there had been. */
  readonly number: number;
  /** How many operations its registry had run before. */
  readonly operations: number;
}

interface Unheard {
  /** Number of the reign that followed. */
  readonly followed: number;
  readonly era: number;
}

/** Times of one worker id that were granted so. */
interface Excuse {
  /** The server. */
  readonly by: string;
  readonly holder: string;
  readonly workerId: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** That server has heard, and answered since, which its holder is about to learn. */
  isTold: boolean;
}

/** A server and its registry at that moment. */
interface Left {
  readonly name: string;
  readonly operations: number;
  readonly era: number;
}

interface Answered {
  readonly call: StoreCall;
  readonly answer: LeaseAnswer | undefined;
  /** Of the registry, after it. */
  readonly era: number;
}

export class LeftServers {
  private count = 0;
  private readonly reigns = new Map<string, Reign>();
  /** Of each that was left and has not heard. */
  private readonly unheard = new Map<string, Unheard>();
  private excuses: Excuse[] = [];
  /** All there ever were. */
  private readonly past: Excuse[] = [];

  /** From here on everybody is led to another server. */
  left(leaving: Left, next: Left): void {
    this.reigns.set(next.name, { number: ++this.count, operations: next.operations });
    this.unheard.set(leaving.name, { followed: this.count, era: leaving.era });
  }

  answered(server: string, { call, answer, era }: Answered): void {
    const known = this.unheard.get(server);
    const isHeard =
      known !== undefined && (era > known.era || this.isNews(server, call, known.followed));
    if (isHeard) this.unheard.delete(server);
    if (call.op === 'release') return;
    const { token } = call.op === 'renew' ? call.lease : call.request;
    const holder = nameIn(token);
    if (!this.unheard.has(server)) {
      for (const one of this.excuses) one.isTold ||= one.holder === holder && one.by === server;
    } else if (answer?.status === 'ok') {
      const { workerId, floorMs, ceilingMs: toMs } = answer;
      // What a holder had before was granted by whoever granted that.
      const hadMs = call.op === 'renew' ? call.lease.haveMs : floorMs;
      const fromMs = Math.max(floorMs, hadMs);
      const excuse = { by: server, holder, workerId, fromMs, toMs, isTold: false };
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

/** The process that made the token, as its identity does. */
const nameIn = (token: string) => token.slice(0, token.indexOf('#'));

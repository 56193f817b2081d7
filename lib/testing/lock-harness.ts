/**
 * What a case of the contract of locks works with: a store with nothing in it, clients of it, the
 * store's clock, and what the user's test runner calls `expect`.
 */
import type {
  AcquireAnswer,
  AcquireRequest,
  ExtendAnswer,
  ExtendRequest,
  HeldLock,
  LockGrant,
  LockStore,
} from '../lock/lock-store.js';
import { pause, systemTimers } from '../time/timers.js';
import type { ClockControl, Expect, LossControl } from './contract/harness.js';
/** What a case needs besides a store. */
export type LockNeed = 'clock' | 'losses' | 'locks' | 'untilReleased';

export interface LockCase {
  /** The property, in words. */
  readonly name: string;
  readonly needs: readonly LockNeed[];
  readonly run: (harness: LockHarness) => Promise<void>;
}

/** What the contract of a lock store needs from its test. */
export interface LockBenchParts {
  readonly expect: Expect;
  /** A store whose locks are those of every other one made for the same name. */
  readonly createStore: (name: string) => LockStore | Promise<LockStore>;
  readonly clockControl?: ClockControl | undefined;
  readonly lossControl?: LossControl | undefined;
}

const TRIES_MAX = 20;

/** What clients ask for unless a case says otherwise. */
export const ASKED = {
  lock: 'order:7',
  label: 'host 1 shop',
  ttlMs: 3000,
  longestMs: 4000,
  have: 0n,
} as const;

type Changes = Partial<AcquireRequest>;

export class LockHarness {
  readonly expect: Expect;
  private made: LockStore | undefined;
  private holderCount = 0;

  constructor(
    private readonly parts: LockBenchParts,
    private readonly name: string,
  ) {
    this.expect = parts.expect;
  }

  /** The store as most cases use it. */
  async store(): Promise<LockStore> {
    return (this.made ??= await this.another());
  }

  /** The same locks, as another process sees them. */
  async another(): Promise<LockStore> {
    return this.parts.createStore(this.name);
  }

  /** Where the time cannot be set it has to go by. */
  async advance(ms: number): Promise<void> {
    const { clockControl } = this.parts;
    await (clockControl === undefined ? pause(systemTimers, ms) : clockControl.advance(ms));
  }

  async happen(loss: keyof LossControl): Promise<void> {
    await this.parts.lossControl![loss](this.name);
  }

  /** One that nobody had before. */
  newHolder(): string {
    return `${this.name}.${++this.holderCount}`;
  }

  async acquire(changes: Changes = {}): Promise<AcquireAnswer> {
    const holder = this.newHolder();
    return (await this.store()).acquire({ ...ASKED, holder, ...changes });
  }

  async extend(
    held: HeldLock & Pick<ExtendRequest, 'era' | 'highest'>,
    ttlMs: number = ASKED.ttlMs,
  ): Promise<ExtendAnswer> {
    const { lock, holder, token, era, highest } = held;
    return (await this.store()).extend({ lock, holder, token, ttlMs, era, highest });
  }

  async release(held: HeldLock, keepMs?: number): Promise<void> {
    const { lock, holder, token } = held;
    await (
      await this.store()
    ).release({ lock, holder, token, ...(keepMs !== undefined && { keepMs }) });
  }

  /** Waits for a store that grants nothing yet, and for no other holder. */
  async held(changes: Changes = {}): Promise<HeldLock & LockGrant> {
    const { lock = ASKED.lock, holder = this.newHolder() } = changes;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await this.acquire({ ...changes, holder });
      if (answer.status !== 'wait') return { lock, holder, ...grantIn(answer) };
      this.expect(answer.waitMs).toBeGreaterThanOrEqual(1);
      await this.advance(answer.waitMs);
    }
    throw new Error(`Nothing was granted although ${TRIES_MAX} waits were kept.`);
  }

  /** A store that grants, of which nobody holds anything. */
  async begin(): Promise<void> {
    await this.release(await this.held({ lock: 'first' }));
  }

  rises(earlier: { readonly token: bigint }, later: { readonly token: bigint }): void {
    this.expect(later.token > earlier.token).toEqual(true);
  }

  async expectStatus(answer: Promise<{ readonly status: string }>, status: string): Promise<void> {
    this.expect((await answer).status).toEqual(status);
  }
}

/** The grant, or an error that says what was answered instead. */
export function grantIn(answer: AcquireAnswer | ExtendAnswer): LockGrant {
  if (answer.status === 'ok') return answer;
  throw new Error(`Expected the lock to be granted, got ${JSON.stringify(answer)}.`);
}

/**
 * The tools of a contract case for locks: an empty store, clients of it, the store's clock, and the
 * `expect` of the user's test runner.
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
/** A need of a case besides a store. */
export type LockNeed = 'clock' | 'losses' | 'locks' | 'untilReleased';

export interface LockCase {
  /** The property, in words. */
  readonly name: string;
  readonly needs: readonly LockNeed[];
  readonly run: (harness: LockHarness) => Promise<void>;
}

/** The needs of the contract of a lock store. */
export interface LockHarnessParts {
  readonly expect: Expect;
  /** Makes a store that shares its locks with every other one made for the same name. */
  readonly createStore: (name: string) => LockStore | Promise<LockStore>;
  readonly clockControl?: ClockControl | undefined;
  readonly lossControl?: LossControl | undefined;
}

const TRIES_MAX = 20;

/** The terms of clients unless a case says otherwise. */
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
    private readonly parts: LockHarnessParts,
    private readonly name: string,
  ) {
    this.expect = parts.expect;
  }

  async store(): Promise<LockStore> {
    return (this.made ??= await this.another());
  }

  /** The same locks, as another process sees them. */
  async another(): Promise<LockStore> {
    return this.parts.createStore(this.name);
  }

  /** If the time cannot be set, it has to go by. */
  async advance(ms: number): Promise<void> {
    const { clockControl } = this.parts;
    await (clockControl === undefined ? pause(systemTimers, ms) : clockControl.advance(ms));
  }

  async happen(loss: keyof LossControl): Promise<void> {
    await this.parts.lossControl![loss](this.name);
  }

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

  /** A store that grants, also for as long as is asked for, without held locks. */
  async begin(terms: Changes = {}): Promise<void> {
    await this.release(await this.held({ ...terms, lock: 'first' }));
  }

  rises(earlier: { readonly token: bigint }, later: { readonly token: bigint }): void {
    this.expect(later.token > earlier.token).toEqual(true);
  }

  async expectStatus(answer: Promise<{ readonly status: string }>, status: string): Promise<void> {
    this.expect((await answer).status).toEqual(status);
  }
}

/** Returns the grant, or throws an error that names the answer. */
export function grantIn(answer: AcquireAnswer | ExtendAnswer): LockGrant {
  if (answer.status === 'ok') return answer;
  throw new Error(`Expected the lock to be granted, got ${JSON.stringify(answer)}.`);
}

/**
 * The tools of a contract case for locks: an empty store, clients of it, the store's clock, and the
 * `expect` of the user's test runner.
 */
import type {
  AcquireAnswer,
  AcquireRequest,
  CallerClocks,
  ExtendAnswer,
  ExtendRequest,
  HeldLock,
  LockGrant,
  LockStore,
} from '../lock/lock-store.js';
import {
  casesOf,
  StoreHarness,
  type ClockControl,
  type Expect,
  type LossControl,
} from './contract/harness.js';

/** A case's requirement in addition to a store. */
export type LockNeed = 'clock' | 'losses' | 'steps' | 'locks' | 'notes' | 'untilReleased';

export const lockCases = casesOf<LockNeed, LockHarness>;

/** The needs of the contract of a lock store. */
export interface LockHarnessParts {
  readonly expect: Expect;
  /** Creates a store that shares its locks with every other store of the same name. */
  readonly createStore: (name: string) => LockStore | Promise<LockStore>;
  readonly clockControl?: ClockControl | undefined;
  readonly lossControl?: LossControl | undefined;
}

/** The terms of clients unless a case says otherwise. */
export const ASKED = {
  lock: 'order:7',
  label: 'host 1 shop',
  ttlMs: 3000,
  longestMs: 4000,
  have: 0n,
} as const;

type Changes = Partial<AcquireRequest>;

export class LockHarness extends StoreHarness<LockStore, LockHarnessParts> {
  private holderCount = 0;

  newHolder(): string {
    return `${this.name}.${++this.holderCount}`;
  }

  async acquire(changes: Changes = {}): Promise<AcquireAnswer> {
    const holder = this.newHolder();
    return (await this.store()).acquire({ ...ASKED, holder, ...changes });
  }

  async extend(
    held: HeldLock & Omit<ExtendRequest, 'ttlMs'>,
    ttlMs: number = ASKED.ttlMs,
  ): Promise<ExtendAnswer> {
    const { lock, holder, token, era, highest, note, clocks, settles } = held;
    const own = { lock, holder, token, ttlMs, era, highest, note, clocks, settles };
    return (await this.store()).extend(own);
  }

  async release(held: HeldLock, keepMs?: number, clocks?: CallerClocks): Promise<void> {
    const { lock, holder, token } = held;
    const store = await this.store();
    await store.release({ lock, holder, token, clocks, ...(keepMs !== undefined && { keepMs }) });
  }

  /** The clocks of a caller right after an answer, on a host whose clock is right. */
  async clocks() {
    const { nowMs = 0, timeMs = 0 } = await this.held({ lock: 'first' });
    return { wallMs: timeMs, nowMs };
  }

  /** Waits for a store that grants no lock yet, but not for another holder. */
  async held(changes: Changes = {}): Promise<HeldLock & LockGrant> {
    const { lock = ASKED.lock, holder = this.newHolder() } = changes;
    const grant = await this.patiently(() => this.acquire({ ...changes, holder }), 'wait');
    return { lock, holder, ...grant };
  }

  /** Waits until the store grants locks of the requested TTL, and leaves none held. */
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

/**
 * What a case of the contract works with: an empty registry, tenants of it, the store's clock, and
 * what the user's test runner calls `expect`.
 */
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
} from '../../lease/distributed-support.js';
import { granted, Tenant } from './tenant.js';

/** The part of Jest's and Vitest's `expect` that the contract uses. */
export type Expect = (actual: unknown) => {
  toEqual(expected: unknown): void;
  toBeGreaterThanOrEqual(least: number): void;
};

/** The clock of the store, in the hands of the test. */
export interface ClockControl {
  /** Unix ms. */
  now(): number;
  /** Moves it on, or back where `ms` is negative. */
  advance(ms: number): void | Promise<void>;
}

/** What may happen to a store and the data in it; `registry` as given to `createSupport`. */
export interface LossControl {
  /** Everything is gone; the server runs on. */
  wipe(registry: string): void | Promise<void>;
  /** Everything is there, and another server answers. */
  restart(registry: string): void | Promise<void>;
  /** Keeps a copy of what is there. */
  remember(registry: string): void | Promise<void>;
  /** Another server answers from that copy. */
  restore(registry: string): void | Promise<void>;
}

/** What a case needs besides a support. */
export type ContractNeed = 'clock' | 'losses' | 'release' | 'workers' | 'longest free' | 'end';

export interface ContractCase {
  /** The property, in words. */
  readonly name: string;
  readonly needs: readonly ContractNeed[];
  readonly run: (bench: Bench) => Promise<void>;
}

export interface BenchParts {
  readonly expect: Expect;
  readonly createSupport: (registry: string) => IDistributedSupport | Promise<IDistributedSupport>;
  readonly clockControl?: ClockControl;
  readonly lossControl?: LossControl;
}

const TRIES_MAX = 20;

export class Bench {
  readonly expect: Expect;
  private tenantCount = 0;

  constructor(
    private readonly parts: BenchParts,
    private readonly registry: string,
  ) {
    this.expect = parts.expect;
  }

  /** Another process on the same registry. */
  async tenant(terms: Partial<LeaseRequest> = {}): Promise<Tenant> {
    const support = await this.parts.createSupport(this.registry);
    return new Tenant(support, `${this.registry} tenant ${++this.tenantCount}`, terms);
  }

  /** A tenant with a lease. */
  async holder(terms: Partial<LeaseRequest> = {}): Promise<{ tenant: Tenant; grant: LeaseGrant }> {
    const tenant = await this.tenant(terms);
    return { tenant, grant: granted(await tenant.acquire()) };
  }

  get nowMs(): number {
    return this.parts.clockControl!.now();
  }

  async advance(ms: number): Promise<void> {
    await this.parts.clockControl!.advance(ms);
  }

  async happen(loss: keyof LossControl): Promise<void> {
    await this.parts.lossControl![loss](this.registry);
  }

  /** Asks until there is a grant, waiting as long as each answer says. */
  async patiently(ask: () => Promise<LeaseAnswer>): Promise<LeaseGrant> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await ask();
      if (!('waitMs' in answer)) return granted(answer);
      this.expect(answer.waitMs).toBeGreaterThanOrEqual(1);
      await this.advance(answer.waitMs);
    }
    throw new Error(`No lease was granted although ${TRIES_MAX} waits were kept.`);
  }
}

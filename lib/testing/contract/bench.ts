/**
 * What a case of the contract works with: an empty registry, holders of it, the store's clock, and
 * what the user's test runner calls `expect`.
 */
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
} from '../../lease/distributed-support.js';
import { pause, systemTimers } from '../../patience/timers.js';
import { granted, ContractHolder } from './contract-holder.js';

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

/** Which version of the protocol keeps a registry. */
export interface VersionControl {
  /** Makes it a later one, as a later version of this package would. */
  raise(registry: string): void | Promise<void>;
  /** Makes it ours again. */
  lower(registry: string): void | Promise<void>;
}

/** What a case needs besides a support. */
export type ContractNeed =
  | 'clock'
  | 'losses'
  | 'release'
  | 'workers'
  | 'longest free'
  | 'version'
  | 'claims'
  | 'reckoned'
  | 'wide'
  | 'end';

export interface ContractCase {
  /** The property, in words. */
  readonly name: string;
  readonly needs: readonly ContractNeed[];
  readonly run: (bench: Bench) => Promise<void>;
}

/** What the contract of a support needs from its test. */
export interface BenchParts {
  readonly expect: Expect;
  readonly createSupport: (registry: string) => IDistributedSupport | Promise<IDistributedSupport>;
  readonly clockControl?: ClockControl | undefined;
  readonly lossControl?: LossControl | undefined;
  readonly versionControl?: VersionControl | undefined;
}

const TRIES_MAX = 20;
/** Longer than any range can be, so that a registry is begun and nothing leased. */
const NO_RANGE_MS = 3_600_000;

export class Bench {
  readonly expect: Expect;
  private holderCount = 0;
  private beginning: Promise<void> | undefined;

  constructor(
    private readonly parts: BenchParts,
    private readonly registry: string,
  ) {
    this.expect = parts.expect;
  }

  /** Another process on the same registry, which has been there for long where time can be set. */
  async asker(terms: Partial<LeaseRequest> = {}): Promise<ContractHolder> {
    await (this.beginning ??= this.begin());
    return this.newcomer(terms);
  }

  /** Another process, whatever the registry is like. */
  async newcomer(terms: Partial<LeaseRequest> = {}): Promise<ContractHolder> {
    const support = await this.parts.createSupport(this.registry);
    return new ContractHolder(support, `${this.registry} holder ${++this.holderCount}`, terms);
  }

  /** One that has a lease. */
  async holder(
    terms: Partial<LeaseRequest> = {},
  ): Promise<{ holder: ContractHolder; grant: LeaseGrant }> {
    const holder = await this.asker(terms);
    return { holder, grant: await this.patiently(() => holder.acquire(), 'wait') };
  }

  /** A registry is quarantined at first: it cannot know that it is no lost one. */
  private async begin(): Promise<void> {
    if (this.parts.clockControl === undefined) return;
    const founder = await this.newcomer({ minRangeMs: NO_RANGE_MS });
    const answer = await founder.acquire();
    // A store that begins with the test knows that it is new.
    if (answer.status === 'ok') await founder.release(undefined);
    await this.advance(founder.quarantineMs);
  }

  get nowMs(): number {
    return this.parts.clockControl!.now();
  }

  /** Where the time cannot be set it has to go by. */
  async advance(ms: number): Promise<void> {
    const { clockControl } = this.parts;
    await (clockControl === undefined ? pause(systemTimers, ms) : clockControl.advance(ms));
  }

  async happen(loss: keyof LossControl): Promise<void> {
    await this.parts.lossControl![loss](this.registry);
  }

  /** Keeps a registry by another version of the protocol while something is done. */
  async underLaterVersion(run: () => Promise<void>): Promise<void> {
    const { versionControl } = this.parts;
    await versionControl!.raise(this.registry);
    await run();
    await versionControl!.lower(this.registry);
  }

  /** Asks until there is a grant, waiting as long as each answer (or only `status`) says. */
  async patiently(
    ask: () => Promise<LeaseAnswer>,
    status?: LeaseAnswer['status'],
  ): Promise<LeaseGrant> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await ask();
      if (!('waitMs' in answer) || (status ?? answer.status) !== answer.status) {
        return granted(answer);
      }
      this.expect(answer.waitMs).toBeGreaterThanOrEqual(1);
      await this.advance(answer.waitMs);
    }
    throw new Error(`No lease was granted although ${TRIES_MAX} waits were kept.`);
  }
}

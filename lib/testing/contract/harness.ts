/**
 * The tools of a contract case: an empty registry, its holders, the store's clock, and the `expect`
 * of the user's test runner. The file also has the tools that the contracts of supports, of
 * counters and of locks share.
 */
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
  WorkerLease,
} from '../../lease/distributed-support.js';
import { NO_REGISTRY } from '../../lease/held-lease.js';
import { pause, systemTimers } from '../../time/timers.js';
/** The part of Jest's and Vitest's `expect` that the contract uses. */
export type Expect = (actual: unknown) => {
  toEqual(expected: unknown): void;
  toBeGreaterThanOrEqual(least: number): void;
};

/** The clock of the store, which the test sets. */
export interface ClockControl {
  /** The time in Unix milliseconds. */
  now(): number;
  /** Moves the clock forward, or back if `ms` is negative. */
  advance(ms: number): void | Promise<void>;
}

/**
 * The losses that a store and its data may suffer. `registry` is the name given to `createSupport`.
 */
export interface LossControl {
  /** All data is lost; the server keeps running. */
  wipe(registry: string): void | Promise<void>;
  /** The data remains, and another server responds. */
  restart(registry: string): void | Promise<void>;
  /** Keeps a copy of the data. */
  remember(registry: string): void | Promise<void>;
  /** Another server responds from that copy. */
  restore(registry: string): void | Promise<void>;
}

/** The protocol version of a registry. */
export interface VersionControl {
  /** Raises it to a later one, as a later version of this package would. */
  raise(registry: string): void | Promise<void>;
  /** Sets it back to the current one. */
  lower(registry: string): void | Promise<void>;
}

/** A case's requirement in addition to a support. */
export type ContractNeed =
  | 'clock'
  | 'losses'
  | 'release'
  | 'workers'
  | 'longest free'
  | 'version'
  | 'claims'
  | 'reckoned'
  | 'moves'
  | 'wide'
  | 'end';

/** A case of a contract. */
export interface Case<Need extends string, H> {
  /** The property, in words. */
  readonly name: string;
  readonly needs: readonly Need[];
  readonly run: (harness: H) => Promise<void>;
}

/**
 * Cases by their properties, in words. Each case receives `t`, the tools of a test. All cases of
 * one group share needs.
 */
export function casesOf<Need extends string, H>(
  needs: readonly Need[],
  runs: Readonly<Record<string, (t: H) => Promise<void>>>,
): Case<Need, H>[] {
  return Object.entries(runs).map(([name, run]) => ({ name, needs, run }));
}

export const contractCases = casesOf<ContractNeed, Harness>;

/** The needs of the contract of a support. */
export interface HarnessParts {
  readonly expect: Expect;
  readonly createSupport: (registry: string) => IDistributedSupport | Promise<IDistributedSupport>;
  readonly clockControl?: ClockControl | undefined;
  readonly lossControl?: LossControl | undefined;
  readonly versionControl?: VersionControl | undefined;
}

/** What every contract requires of a test. */
type Controls = Pick<HarnessParts, 'expect' | 'clockControl' | 'lossControl'>;

const FACTS = ['nowMs', 'timeMs', 'mark', 'quarantineMs', 'layouts', 'latestMs'];

/** The answer without the registry's facts. */
export function reasonOf(answer: LeaseAnswer): object {
  return Object.fromEntries(Object.entries(answer).filter(([name]) => !FACTS.includes(name)));
}

/** An answer that may include the delay before the next request. */
interface Answer {
  readonly status: string;
  readonly waitMs?: number;
}

/** A counter that follows the clock may make its callers wait for each tick. */
const TRIES_MAX = 200;

/** The clock, the losses and the retries of every contract. */
class BaseHarness<Parts extends Controls> {
  readonly expect: Expect;

  constructor(
    protected readonly parts: Parts,
    protected readonly name: string,
  ) {
    this.expect = parts.expect;
  }

  get nowMs(): number {
    return this.parts.clockControl!.now();
  }

  /** Sets the time, or waits if the test has no control of the clock. */
  async advance(ms: number): Promise<void> {
    const { clockControl } = this.parts;
    await (clockControl === undefined ? pause(systemTimers, ms) : clockControl.advance(ms));
  }

  async happen(loss: keyof LossControl): Promise<void> {
    await this.parts.lossControl![loss](this.name);
  }

  /** Retries until there is a grant, after the wait of each answer (or only of `status`). */
  async patiently<A extends Answer>(ask: () => Promise<A>, status?: string) {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await ask();
      const { waitMs } = answer;
      if (waitMs === undefined || (status ?? answer.status) !== answer.status) {
        return grantIn(answer);
      }
      this.expect(waitMs).toBeGreaterThanOrEqual(1);
      await this.advance(waitMs);
    }
    throw new Error(`Nothing was granted although ${TRIES_MAX} waits were kept.`);
  }
}

/** A harness of one store, which may have several client objects. */
export class StoreHarness<
  Store,
  Parts extends Controls & { createStore(name: string): Store | Promise<Store> },
> extends BaseHarness<Parts> {
  private made: Store | undefined;

  async store(): Promise<Store> {
    return (this.made ??= await this.another());
  }

  /** The same store, as another process sees it. */
  async another(): Promise<Store> {
    return this.parts.createStore(this.name);
  }
}

/** Longer than any range, so the request creates a registry and leases nothing. */
const NO_RANGE_MS = 3_600_000;

export class Harness extends BaseHarness<HarnessParts> {
  private holderCount = 0;
  private beginning: Promise<void> | undefined;

  /**
   * Another process on the same registry. If the time can be set, the quarantine of a new registry
   * is over.
   */
  async asker(terms: Partial<LeaseRequest> = {}): Promise<ContractHolder> {
    await (this.beginning ??= this.begin());
    return this.newcomer(terms);
  }

  /** Another process, regardless of the registry's state. */
  async newcomer(terms: Partial<LeaseRequest> = {}): Promise<ContractHolder> {
    const support = await this.parts.createSupport(this.name);
    return new ContractHolder(support, `${this.name} holder ${++this.holderCount}`, terms);
  }

  /** A process that has a lease. */
  async holder(terms: Partial<LeaseRequest> = {}) {
    const holder = await this.asker(terms);
    return { holder, grant: await this.patiently(() => holder.acquire(), 'wait') };
  }

  /** Requests until there is a grant, after the wait of each answer. */
  granted(holder: ContractHolder): Promise<LeaseGrant> {
    return this.patiently(() => holder.acquire());
  }

  /** Renews until there is a grant, after the wait of each answer. */
  renewed(holder: ContractHolder, changes?: Partial<WorkerLease>): Promise<LeaseGrant> {
    return this.patiently(() => holder.renew(changes));
  }

  /** A new registry begins with a quarantine, because it may replace a lost one. */
  private async begin(): Promise<void> {
    if (this.parts.clockControl === undefined) return;
    const founder = await this.newcomer({ minRangeMs: NO_RANGE_MS });
    const answer = await founder.acquire();
    // A store that the test created is known to be new.
    if (answer.status === 'ok') await founder.release(undefined);
    await this.advance(founder.quarantineMs);
  }

  /** Runs a function while the registry has a later protocol version. */
  async underLaterVersion(run: () => Promise<void>): Promise<void> {
    const { versionControl } = this.parts;
    await versionControl!.raise(this.name);
    await run();
    await versionControl!.lower(this.name);
  }
}

/*
 * A process that leases worker IDs. It keeps its token, nonces, highest ceiling and mark like a
 * real holder, and a case can change its requests.
 */

/** The terms of holders unless a case says otherwise. */
export const TERMS = {
  fingerprint: 'contract',
  ttlMs: 60_000,
  minRangeMs: 50,
  quarantineMs: 0,
  workerIdMin: 0,
  workerIdMax: 0,
  haveMs: 0,
} as const;

export class ContractHolder {
  /** The lease that the next renewal sends. */
  lease: WorkerLease | undefined;
  /** Its request; sending it again is a repeated acquire. */
  readonly request: LeaseRequest;
  private nonceCount = 0;

  constructor(
    readonly support: IDistributedSupport,
    private readonly name: string,
    terms: Partial<LeaseRequest>,
  ) {
    const holder = { host: `host of ${name}`, pid: 1, application: 'contract' };
    this.request = { ...TERMS, token: name, nonce: this.nonce(), holder, ...terms };
  }

  async acquire(changes: Partial<LeaseRequest> = {}): Promise<LeaseAnswer> {
    const request = { ...this.request, ...changes };
    const answer = await this.support.getNextWorkId(request);
    if (answer.status !== 'ok') return answer;
    const { workerId, ceilingMs: haveMs, mark = NO_REGISTRY } = answer;
    this.lease = { ...request, workerId, haveMs, mark, nonceNext: this.nonce() };
    return answer;
  }

  /** Renews. Changes apply to this request only, but the answer is kept. */
  async renew(changes: Partial<WorkerLease> = {}): Promise<LeaseAnswer> {
    const lease = this.lease!;
    const answer = await this.support.refreshAlive({ ...lease, ...changes });
    if (answer.status !== 'ok') return answer;
    const haveMs = Math.max(lease.haveMs, answer.ceilingMs);
    const mark = answer.mark ?? lease.mark;
    this.lease = { ...lease, haveMs, mark, nonce: lease.nonceNext, nonceNext: this.nonce() };
    return answer;
  }

  async release(lastIssuedMs: number | undefined, changes: Partial<WorkerLease> = {}) {
    await this.support.release?.({ ...this.lease!, ...changes }, lastIssuedMs);
  }

  /** After data loss, every range begins at this time or later, when all lost ranges have ended. */
  get quarantineMs(): number {
    return this.request.ttlMs + (this.support.lossWindowMs ?? 0);
  }

  private nonce(): string {
    return `${this.name} ${++this.nonceCount}`;
  }
}

/** Returns the grant, or throws an error that names the answer. */
export function grantIn<A extends Answer>(answer: A): Extract<A, { readonly status: 'ok' }> {
  if (answer.status === 'ok') return answer as Extract<A, { readonly status: 'ok' }>;
  throw new Error(`Expected a grant, got ${answer.status}.`);
}

/** The control that each need requires. */
const CONTROLS = [
  ['clock', 'clockControl'],
  ['losses', 'lossControl'],
  ['version', 'versionControl'],
] as const;

type Contract<Need extends string> = {
  readonly [control in (typeof CONTROLS)[number][1]]?: unknown;
} & {
  readonly test: (name: string, run: () => Promise<void>) => void;
  readonly leaveOut?: readonly Need[] | undefined;
};

/**
 * Adds a test for each case except those with an omitted need.
 *
 * @throws TypeError at once, if a control is missing and `leaveOut` does not list it.
 */
export function addTests<Need extends string, H>(
  contract: Contract<Need>,
  cases: readonly Case<Need, H>[],
  newHarness: () => H,
): void {
  const leftOut = new Set<string>(contract.leaveOut);
  const needed = new Set<string>(cases.flatMap(({ needs }) => needs));
  for (const [need, control] of CONTROLS) {
    if (!needed.has(need) || leftOut.has(need) || contract[control] !== undefined) continue;
    throw new TypeError(
      `Expected \`${control}\`, got nothing. Give it, or say with \`leaveOut: ['${need}']\` that ` +
        `what needs it is not tried.`,
    );
  }
  for (const { name, needs, run } of cases) {
    if (!needs.some((need) => leftOut.has(need))) contract.test(name, () => run(newHarness()));
  }
}

/**
 * Random numbers from a seed: the same seed gives the same numbers on every machine.
 *
 * Mulberry32 by Tommy Ettinger, in the public domain. Its 32 bits of state suffice for simulated
 * failures.
 */
export class SeededRandom {
  private state: number;

  constructor(seed: number) {
    // Mixes the seed, so that adjacent seeds do not begin alike.
    this.state = Math.imul(seed + 1, 0x9e3779b1);
    this.next();
  }

  /** Gives a number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer, both ends included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)]!;
  }
}

/**
 * The tools of a contract case for counters: an empty store, clients of it, the store's clock, and
 * the `expect` of the user's test runner.
 */
import type {
  ClockTake,
  CounterStore,
  DenseTake,
  TakeAnswer,
  TakeGrant,
  TakeRequest,
} from '../counters/counter-store.js';
import { pause, systemTimers } from '../time/timers.js';
import type { ClockControl, Expect, LossControl } from './contract/harness.js';
/** A need of a case besides a store. */
export type CounterNeed = 'clock' | 'losses' | 'giveBack' | 'create' | 'counters';

export interface CounterCase {
  /** The property, in words. */
  readonly name: string;
  readonly needs: readonly CounterNeed[];
  readonly run: (harness: CounterHarness) => Promise<void>;
}

/** The needs of the contract of a counter store. */
export interface CounterHarnessParts {
  readonly expect: Expect;
  /** Makes a store that shares its counters with every other one made for the same name. */
  readonly createStore: (name: string) => CounterStore | Promise<CounterStore>;
  readonly clockControl?: ClockControl | undefined;
  readonly lossControl?: LossControl | undefined;
}

const TRIES_MAX = 200;

/** The terms of clients unless a case says otherwise. */
export const DENSE = {
  kind: 'dense',
  counter: 'order',
  count: 10n,
  have: 0n,
  lossGap: 1000n,
} as const;
export const CLOCK = {
  kind: 'clock',
  counter: 'event',
  count: 10n,
  have: 0n,
  perMs: 1024,
  aheadMs: 1000,
} as const;

export class CounterHarness {
  readonly expect: Expect;
  private made: CounterStore | undefined;

  constructor(
    private readonly parts: CounterHarnessParts,
    private readonly name: string,
  ) {
    this.expect = parts.expect;
  }

  async store(): Promise<CounterStore> {
    return (this.made ??= await this.another());
  }

  /** The same counters, as another process sees them. */
  async another(): Promise<CounterStore> {
    return this.parts.createStore(this.name);
  }

  get nowMs(): number {
    return this.parts.clockControl!.now();
  }

  /** If the time cannot be set, it has to go by. */
  async advance(ms: number): Promise<void> {
    const { clockControl } = this.parts;
    await (clockControl === undefined ? pause(systemTimers, ms) : clockControl.advance(ms));
  }

  async happen(loss: keyof LossControl): Promise<void> {
    await this.parts.lossControl![loss](this.name);
  }

  dense(changes: Partial<DenseTake> = {}): Promise<TakeAnswer> {
    return this.asked({ ...DENSE, ...changes });
  }

  clock(changes: Partial<ClockTake> = {}): Promise<TakeAnswer> {
    return this.asked({ ...CLOCK, ...changes });
  }

  /** Asks until there is a grant, waiting as long as each answer says. */
  async grantOf(ask: () => Promise<TakeAnswer>): Promise<TakeGrant> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await ask();
      if (answer.status !== 'wait') return grantIn(answer);
      this.expect(answer.waitMs).toBeGreaterThanOrEqual(1);
      await this.advance(answer.waitMs);
    }
    throw new Error(`Nothing was granted although ${TRIES_MAX} waits were kept.`);
  }

  /** Takes from a dense counter, which begins at 1 if it is absent. */
  begun(changes: Partial<DenseTake> = {}): Promise<TakeGrant> {
    return this.grantOf(() => this.dense({ startAt: 1n, ...changes }));
  }

  follows(earlier: TakeGrant, later: TakeGrant): void {
    this.expect(later.first >= earlier.end).toEqual(true);
  }

  private async asked(request: TakeRequest): Promise<TakeAnswer> {
    return (await this.store()).take(request);
  }
}

/** Returns the grant, or throws an error that names the answer. */
function grantIn(answer: TakeAnswer): TakeGrant {
  if (answer.status === 'ok') return answer;
  throw new Error(`Expected positions to be granted, got ${JSON.stringify(answer)}.`);
}

/**
 * One lease, on its holder's side.
 *
 * Guarantee: a response, even late or duplicate, applies only to the lease of its request, and
 * raises only the range whose floor it names. The nonces form a chain: a broken chain exposes a
 * copy of this process to the store.
 */
import { invariantBroken } from '../errors.js';
import type { WindowRange, LeaseWindow } from '../core/window/lease-window.js';
import type { LeaseGrant, RegistryMark, WorkerLease } from './distributed-support.js';

/** A grant that is not yet used. */
export interface Acquired {
  readonly grant: LeaseGrant;
  readonly sentAtMs: number;
  /** The lease as requested, to renew or release it. */
  readonly asked: WorkerLease;
}

/** The mark of a support that has no store. */
export const NO_REGISTRY: RegistryMark = { incarnation: '', server: '', operations: 0 };

export class HeldLease {
  /** The process that acquired it: a fork must not use its parent's lease. */
  readonly pid = process.pid;
  asked: WorkerLease;
  private floorMs: number;
  /** Undefined until the range is in the window. */
  private range: WindowRange | undefined;
  /** The time of the last ID from earlier ranges. */
  private earlierMs: number | undefined;

  constructor(
    private readonly window: LeaseWindow,
    { asked, grant }: Acquired,
  ) {
    this.asked = asked;
    this.floorMs = grant.floorMs;
  }

  get workerId(): number {
    return this.asked.workerId;
  }

  /** Applies a renewal; `asked` is the lease in the request. */
  apply(grant: LeaseGrant, asked: WorkerLease, freshNonce: () => string): void {
    const heldMs = this.asked.haveMs;
    const haveMs = Math.max(heldMs, grant.ceilingMs);
    if (!(haveMs >= heldMs)) {
      throw invariantBroken('a ceiling fell at a renewal', { heldMs, haveMs });
    }
    const isNews = asked.nonceNext === this.asked.nonceNext;
    this.asked = isNews
      ? {
          ...asked,
          haveMs,
          nonce: asked.nonceNext,
          nonceNext: freshNonce(),
          nonceBefore: asked.nonce,
          mark: grant.mark ?? asked.mark,
        }
      : { ...this.asked, haveMs };
    if (grant.floorMs === this.floorMs) {
      this.window.raise(this.range!, grant.ceilingMs);
    } else if (grant.floorMs > this.floorMs && grant.floorMs >= heldMs) {
      // The store has lost data since, so the old range is used to its end first. If this range
      // began before that end, generators could enter it while threads still use the old range.
      this.earlierMs = this.lastIssuedMs;
      this.floorMs = grant.floorMs;
      this.range = this.window.grant({ ...grant, workerId: this.workerId });
    }
  }

  /**
   * Places the range, or the rest of it, in the window: after the ranges in use, or (rewinding)
   * instead of them.
   */
  enterWindow(rewinds: boolean): void {
    const { workerId, haveMs: ceilingMs } = this.asked;
    this.earlierMs = this.lastIssuedMs;
    const floorMs = Math.max(this.floorMs, (this.earlierMs ?? -Infinity) + 1);
    const range = { workerId, floorMs, ceilingMs };
    this.range = rewinds ? this.window.rewindTo(range) : this.window.grant(range);
  }

  entered(range: WindowRange): boolean {
    return range.number === this.range?.number;
  }

  /** The time of the last ID generated under this lease, Unix ms. */
  get lastIssuedMs(): number | undefined {
    const tick = this.range && this.window.lastTickOf(this.range);
    return tick === undefined ? this.earlierMs : this.window.layout.msOf(tick);
  }

  /** True if the IDs are ahead of the clock because the range begins there. */
  isAhead(nowMs: number): boolean {
    return this.floorMs > nowMs;
  }
}

/*
 * The states of a lease, as a table. A state is informational: the lease window decides whether the
 * process may generate an ID.
 *
 * Guarantee: after failed renewals, only a store's response restores `active`.
 */

/**
 * | state      | meaning                                            | nextId()                  |
 * | unassigned | no lease: before the start, after a clone was seen | throws, saying which      |
 * | active     | the ceiling is ahead                               | issues                    |
 * | degraded   | renewals fail                                      | issues                    |
 * | stretched  | only the reserve is left                           | issues, keeps its last time |
 * | exhausted  | nothing is left                                    | throws LEASE_LOST         |
 * | fenced     | the worker ID went to another process              | issues its own range      |
 * | switching  | another worker ID is leased and follows this range | issues                    |
 * | released   | shut down                                          | throws NOT_READY          |
 */
export type LeaseState =
  | 'unassigned'
  | 'active'
  | 'degraded'
  | 'stretched'
  | 'exhausted'
  | 'fenced'
  | 'switching'
  | 'released';

export type LeaseEvent =
  | 'leased'
  | 'entered'
  | 'renewed'
  | 'renewal-failed'
  | 'reserve-entered'
  | 'exhausted'
  | 'fenced'
  | 'dropped'
  | 'released';

/** Transitions from every state that holds a lease. */
const ALWAYS = { fenced: 'fenced', dropped: 'unassigned', released: 'released' } as const;

/** An event that a state does not name leaves the state unchanged. */
export const LEASE_STATES: {
  readonly [state in LeaseState]: { readonly [event in LeaseEvent]?: LeaseState };
} = {
  unassigned: { leased: 'active', released: 'released' },
  active: {
    ...ALWAYS,
    'renewal-failed': 'degraded',
    'reserve-entered': 'stretched',
    exhausted: 'exhausted',
  },
  degraded: {
    ...ALWAYS,
    renewed: 'active',
    'reserve-entered': 'stretched',
    exhausted: 'exhausted',
  },
  stretched: { ...ALWAYS, renewed: 'active', leased: 'switching', exhausted: 'exhausted' },
  exhausted: { ...ALWAYS, renewed: 'active', leased: 'switching' },
  fenced: {
    ...ALWAYS,
    leased: 'switching',
    'reserve-entered': 'stretched',
    exhausted: 'exhausted',
  },
  switching: {
    ...ALWAYS,
    entered: 'active',
    renewed: 'active',
    'renewal-failed': 'degraded',
    'reserve-entered': 'stretched',
    exhausted: 'exhausted',
  },
  released: {},
};

const NAMES = Object.keys(LEASE_STATES) as LeaseState[];

/** The state as a number, for memory that threads share. */
export function numberOf(state: LeaseState): number {
  return NAMES.indexOf(state);
}

export function stateOf(number: number): LeaseState {
  return NAMES[number]!;
}

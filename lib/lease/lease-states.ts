/**
 * The states of a lease and what leads from one to the next, as a table.
 * Promise: a state is only what is shown; whether an id may be made is decided by the seat. Nothing
 * but an answer of the store leads to `active` from a state in which renewals failed.
 */

/**
 * | state      | meaning                                            | nextId()                  |
 * | unassigned | no lease: before the start, after a clone was seen | throws, saying which      |
 * | active     | the ceiling is ahead                               | issues                    |
 * | degraded   | renewals fail                                      | issues                    |
 * | stretched  | only the reserve is left                           | issues, keeps its last time |
 * | exhausted  | nothing is left                                    | throws LEASE_LOST         |
 * | fenced     | the worker id went to somebody else                | issues its own range      |
 * | switching  | another worker id is leased and follows this range | issues                    |
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

/** Out of every state that holds a lease. */
const ALWAYS = { fenced: 'fenced', dropped: 'unassigned', released: 'released' } as const;

/** An event that a state does not name leaves it as it is. */
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

export function nextState(state: LeaseState, event: LeaseEvent): LeaseState {
  return LEASE_STATES[state][event] ?? state;
}

const NAMES = Object.keys(LEASE_STATES) as LeaseState[];

/** A state as a number, for memory that threads share. */
export function numberOf(state: LeaseState): number {
  return NAMES.indexOf(state);
}

export function stateOf(number: number): LeaseState {
  return NAMES[number]!;
}

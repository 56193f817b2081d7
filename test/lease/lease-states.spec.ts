import { describe, expect, it } from '@jest/globals';
import {
  LEASE_STATES,
  nextState,
  type LeaseEvent,
  type LeaseState,
} from '../../lib/lease/held-lease.js';

/** Every change there is; whatever is not named here leaves the state as it is. */
const CHANGES: readonly [LeaseState, LeaseEvent, LeaseState][] = [
  ['unassigned', 'leased', 'active'],
  ['unassigned', 'released', 'released'],
  ['active', 'renewal-failed', 'degraded'],
  ['active', 'reserve-entered', 'stretched'],
  ['active', 'exhausted', 'exhausted'],
  ['active', 'fenced', 'fenced'],
  ['active', 'dropped', 'unassigned'],
  ['active', 'released', 'released'],
  ['degraded', 'renewed', 'active'],
  ['degraded', 'reserve-entered', 'stretched'],
  ['degraded', 'exhausted', 'exhausted'],
  ['degraded', 'fenced', 'fenced'],
  ['degraded', 'dropped', 'unassigned'],
  ['degraded', 'released', 'released'],
  ['stretched', 'renewed', 'active'],
  ['stretched', 'leased', 'switching'],
  ['stretched', 'exhausted', 'exhausted'],
  ['stretched', 'fenced', 'fenced'],
  ['stretched', 'dropped', 'unassigned'],
  ['stretched', 'released', 'released'],
  ['exhausted', 'renewed', 'active'],
  ['exhausted', 'leased', 'switching'],
  ['exhausted', 'fenced', 'fenced'],
  ['exhausted', 'dropped', 'unassigned'],
  ['exhausted', 'released', 'released'],
  ['fenced', 'leased', 'switching'],
  ['fenced', 'reserve-entered', 'stretched'],
  ['fenced', 'exhausted', 'exhausted'],
  ['fenced', 'dropped', 'unassigned'],
  ['fenced', 'released', 'released'],
  ['switching', 'entered', 'active'],
  ['switching', 'renewed', 'active'],
  ['switching', 'renewal-failed', 'degraded'],
  ['switching', 'reserve-entered', 'stretched'],
  ['switching', 'exhausted', 'exhausted'],
  ['switching', 'fenced', 'fenced'],
  ['switching', 'dropped', 'unassigned'],
  ['switching', 'released', 'released'],
];

const STATES = Object.keys(LEASE_STATES) as LeaseState[];
const EVENTS = [...new Set(CHANGES.map(([, event]) => event))];

describe('the table of lease states', () => {
  it.each(STATES.flatMap((state) => EVENTS.map((event) => [state, event] as const)))(
    '%s on %s',
    (state, event) => {
      const named = CHANGES.find(([from, by]) => from === state && by === event);
      const stays = state === 'fenced' && event === 'fenced' ? 'fenced' : state;
      expect(nextState(state, event)).toBe(named?.[2] ?? stays);
    },
  );

  it('has no way out of released', () => {
    expect(LEASE_STATES.released).toEqual({});
  });
});

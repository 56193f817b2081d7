/**
 * Tests whether a server learns the clock of a lost one: by the rules, including a third server,
 * and in a simulated run.
 */
import { describe, expect, it } from '@jest/globals';
import type { LeaseAnswer } from '../../lib/lease/distributed-support.js';
import { Claim } from './claim.mjs';
import { after, BEGIN, EMPTY, HEARS, TAKES_OVER, valueOf, type Path } from './reckon.mjs';

const TTL_MS = 100;

/** The clock of `a` is 1000 ahead of true time, far ahead of all others. */
const world = (told = {}): Path => ({
  state: { ...EMPTY, t: 10, 'a.lead': 1000, 'a.time': 1010, longest: TTL_MS, ...told },
  ...BEGIN,
});
const FIRST = { isAbsent: true, quarantine0: 40, slew0: 0, holderEra0: 0, era0: 0 };
const takesOver = (s: string, time: number, until: number) => {
  return { rule: TAKES_OVER, by: { s }, ...FIRST, time, ttl: TTL_MS, told: 0, until };
};
const told = (s: string, asked: number) => ({
  rule: 'an answer tells the clock',
  by: { s, p: 'p1' },
  asked,
});
const brings = (s: string, reckoned: number) => ({
  rule: HEARS,
  by: { s, p: 'p1' },
  reckoned,
  above: 0,
});
const passes = (ms: number) => ({ rule: 'time passes', by: {}, while: ms });
/** The clock advances with the given time. */
const goesOn = (s: string, time: number) => ({ rule: 'the clock moves on', by: { s }, time });

type Ways = Parameters<typeof after>[1][];
const reckoned = (ways: Ways, told = {}) => ways.reduce(after, world(told));
const isTold = ({ state, faults }: Path) => {
  expect(faults).toEqual([]);
  return valueOf('isTold', state) as boolean;
};

describe('a server learns the clock of a lost one', () => {
  const lost = [told('a', 8), passes(10), takesOver('b', 0, 10)];
  it.each([
    ['if a process brings the clock of its answer plus the time since', lost, 1020],
    ['if its request was in transit since the last answer of the old one', lost, 1012],
  ])('%s', (_where, ways, clock) => {
    expect(isTold(reckoned([...ways, brings('b', clock)]))).toBe(true);
  });

  it('if the clock comes by a third server', () => {
    const ways = [
      told('a', 10),
      passes(10),
      takesOver('m', 0, 10),
      brings('m', 1020),
      told('m', 20),
      passes(10),
      // This clock runs at half speed by now.
      goesOn('m', 10),
      passes(10),
      takesOver('b', 0, 10),
      brings('b', 1040),
    ];
    expect(isTold(reckoned(ways))).toBe(true);
  });

  it.each([
    ['if no process calls', lost],
    ['if a process without an answer calls', [...lost.slice(1), brings('b', 1020)]],
    ['if a request was late', [...lost, brings('b', 1007)]],
    [
      'if the old clock moved ahead since',
      [told('a', 10), goesOn('a', 1050), passes(10), takesOver('b', 0, 10), brings('b', 1020)],
    ],
    ['if the new clock was set forward before', [...lost, goesOn('b', 500), brings('b', 1020)]],
    [
      'if the server in between did not learn it',
      [passes(10), takesOver('m', 0, 10), told('m', 20), passes(5), takesOver('b', 0, 10)],
    ],
  ])('not %s', (_where, ways) => {
    expect(isTold(reckoned(ways))).toBe(false);
  });

  it('if the clock moved ahead by no more than the failover window', () => {
    const ways = [
      told('a', 10),
      goesOn('a', 1050),
      passes(10),
      takesOver('b', 0, 10),
      brings('b', 1020),
    ];
    const own = { failoverWindow: 40 };
    expect(isTold(reckoned(ways, own))).toBe(true);
  });
});

describe('the clock that a process brings', () => {
  const mark = { incarnation: 'one', server: 's', operations: 1 };
  const lease = { workerId: 0, token: 't', nonce: '', nonceNext: '', haveMs: 0, mark };
  const terms = { fingerprint: '', ttlMs: TTL_MS, minRangeMs: 0, quarantineMs: 0 };
  const callWith = (reckoned?: object) => {
    return { op: 'renew', lease: { ...lease, ...terms, reckoned } } as never;
  };
  const header = { lastTimeMs: 1000, slewMs: 10, quarantineMs: TTL_MS } as never;

  /** A process received the clock 1010, and calls again 50 ms later. */
  const brought = (reckoned?: object) => {
    const claim = new Claim(() => undefined);
    const asks = { process: 'p', call: callWith(), atMs: 3 };
    expect(claim.sent(asks)).toBeUndefined();
    const answer: LeaseAnswer = { status: 'none-free', waitMs: 9, nowMs: 1010, mark };
    const at = { registry: 1, atMs: 5, lossWindowMs: 0, header, ways: [], first: {} };
    claim.called({ ...at, call: asks.call, answer });
    claim.heard({ process: 'p', call: asks.call, answer });
    return claim.sent({ process: 'p', call: callWith(reckoned), atMs: 55 });
  };
  const own = { incarnation: 'one', server: 's' };

  it('is the clock of its last answer plus the time since', () => {
    expect(brought({ ...own, nowMs: 1060 })).toBeUndefined();
  });

  it.each([
    ['nothing', undefined],
    ['less', { ...own, nowMs: 1059 }],
    ['the clock of another server', { ...own, server: 'other', nowMs: 1060 }],
  ])('may not be %s', (_what, reckoned) => {
    expect(brought(reckoned)).toMatch('is brought, not');
  });
});

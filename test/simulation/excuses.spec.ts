/**
 * The excuses of the simulation: grants of a server or registry without the data that would prevent
 * a conflict. The oracle excuses nothing else.
 */
import { describe, expect, it } from '@jest/globals';
import type { LeaseAnswer } from '../../lib/lease/distributed-support.js';
import type { RegistryHeader } from '../../lib/registry/snapshot.js';
import { LeftServers, LostRegistries } from './world/excuses.js';
import type { StoreCall } from './world/store-events.js';

const TTL_MS = 100;
const [NOW_MS, FLOOR_MS] = [1000, 1050];

/** The proof a server has: the time of a server that it knew, or the grants of the other server. */
type Told = 'nothing' | 'a time' | 'proof';

/** Each fact begins an era. Only proof moves the floor a lease ahead. */
function headerOf(told: Told): RegistryHeader {
  const era = ['nothing', 'a time', 'proof'].indexOf(told);
  const safeFloorMs = told === 'proof' ? NOW_MS + TTL_MS : FLOOR_MS + era;
  const times = { lastTimeMs: NOW_MS, slewMs: 0, quarantineMs: TTL_MS, safeFloorMs };
  return { ...times, era } as RegistryHeader;
}

/**
 * Clients fail over to a server and back. The first server grants worker ID 0 to p1 before it
 * detects this.
 */
function ledBack() {
  const servers = new LeftServers();
  servers.left('first', { name: 'second', operations: 1 });
  servers.left('second', { name: 'first', operations: 1 });
  const ask = (call: unknown, told: Told, answer: unknown = { status: 'wait' }) =>
    servers.answered('first', {
      call: call as StoreCall,
      answer: answer as LeaseAnswer,
      header: headerOf(told),
      trueMs: NOW_MS,
    });
  const range = { workerId: 0, floorMs: FLOOR_MS, ceilingMs: NOW_MS + TTL_MS };
  ask(acquireOf('p1#1'), 'nothing', { status: 'ok', ...range });
  const isExcused = (name = 'p1', ms = FLOOR_MS) => {
    servers.learned(name);
    return servers.isExcused(name, 0, ms);
  };
  return { ask, isExcused };
}

const acquireOf = (token: string) => ({ op: 'acquire', request: { token } });
const renewalOf = (token: string) => {
  const mark = { server: 'first', operations: 2 };
  return { op: 'renew', lease: { token, haveMs: NOW_MS + TTL_MS, mark } };
};

describe('a grant of a failed-over server', () => {
  it('is excused for its process, but not for times before the grant or other processes', () => {
    const { isExcused } = ledBack();
    expect(isExcused()).toBe(true);
    expect(isExcused('p1', FLOOR_MS - 1)).toBe(false);
    expect(isExcused('p2')).toBe(false);
  });

  it('is excused while eras begin without proof', () => {
    const { ask, isExcused } = ledBack();
    ask(acquireOf('p2#1'), 'a time');
    ask(renewalOf('p1#1'), 'a time');
    expect(isExcused()).toBe(true);
  });

  it('is no longer excused after the server has proof and answers for that lease', () => {
    const { ask, isExcused } = ledBack();
    ask(acquireOf('p2#1'), 'proof');
    expect(isExcused()).toBe(true);
    ask(renewalOf('p1#1'), 'proof');
    expect(isExcused()).toBe(false);
  });

  it('is excused while the same process requests another lease', () => {
    const { ask, isExcused } = ledBack();
    ask(acquireOf('p2#1'), 'proof');
    ask(acquireOf('p1#2'), 'proof');
    expect(isExcused()).toBe(true);
  });
});

describe('a registry that replaces a lost one', () => {
  const [SHORT_MS, LONG_MS] = [100, 500];
  const granted = { status: 'ok', workerId: 0, floorMs: FLOOR_MS, ceilingMs: FLOOR_MS + 100 };

  /** A scene with two processes. The first one read an answer before the loss. */
  function taken(excused: LostRegistries['excused']) {
    let quarantineMs = LONG_MS;
    let aheadMs = 50;
    const registries = new LostRegistries();
    registries.excused = excused;
    const ask = (name: string, brought = registries.sentBy(name)) => {
      const answer = { ...granted } as LeaseAnswer;
      const call = acquireOf(`${name}#1`) as StoreCall;
      const header = { quarantineMs, lastTimeMs: NOW_MS, slewMs: aheadMs } as RegistryHeader;
      registries.answered({ call, answer, header, trueMs: NOW_MS }, brought);
      registries.learned(name, answer);
      return registries.isExcused(name, 0, FLOOR_MS);
    };
    ask('p1');
    const lose = (nextMs: number, slewMs = 1) => {
      registries.lost(slewMs, aheadMs);
      quarantineMs = nextMs;
    };
    const moveAheadBy = (ms: number) => void (aheadMs += ms);
    return { ask, registries, lose, moveAheadBy };
  }

  it("is excused only for grants before a survivor's request", () => {
    const { ask, lose } = taken(['grants without the lost clock']);
    expect(ask('p2')).toBe(false);
    lose(LONG_MS);
    expect(ask('p3')).toBe(true);
    expect(ask('p1')).toBe(false);
    expect(ask('p4')).toBe(false);
  });

  it('has the clock if the lost registry was not ahead of its store', () => {
    const { ask, lose } = taken(['grants without the lost clock']);
    lose(LONG_MS, 0);
    expect(ask('p3')).toBe(false);
  });

  it('still lacks the clock if a survivor sent its request before the loss', () => {
    const { ask, lose, registries } = taken(['grants without the lost clock']);
    const brought = registries.sentBy('p1');
    lose(LONG_MS);
    ask('p1', brought);
    expect(ask('p3')).toBe(true);
  });

  it('lacks the clock until the process with the furthest clock calls', () => {
    const { ask, lose, moveAheadBy } = taken(['grants without the lost clock']);
    moveAheadBy(10);
    ask('p2');
    lose(LONG_MS);
    ask('p1');
    expect(ask('p3')).toBe(true);
    ask('p2');
    expect(ask('p4')).toBe(false);
  });

  it('passes on no clock that it lacks', () => {
    const { ask, lose } = taken(['grants without the lost clock']);
    lose(LONG_MS);
    ask('p3');
    lose(LONG_MS);
    expect(ask('p3')).toBe(true);
    expect(ask('p4')).toBe(true);
  });

  it('is excused until a process with the longest quarantine calls', () => {
    const { ask, lose } = taken(['grants without the longest lease']);
    lose(SHORT_MS);
    expect(ask('p3')).toBe(true);
    expect(ask('p1')).toBe(false);
    lose(LONG_MS);
    expect(ask('p4')).toBe(false);
  });

  it('gets only the excuses of its scenario', () => {
    const { ask, lose } = taken([]);
    lose(SHORT_MS);
    expect(ask('p3')).toBe(false);
  });
});

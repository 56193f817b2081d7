/**
 * What the simulation excuses: grants of a server or of a registry that lacks what alone keeps them
 * apart from others, and nothing else.
 */
import { describe, expect, it } from '@jest/globals';
import type { LeaseAnswer } from '../../lib/lease/distributed-support.js';
import type { RegistryHeader } from '../../lib/registry/snapshot.js';
import { LeftServers, LostRegistries } from './world/excuses.js';
import type { StoreCall } from './world/store-events.js';

const TTL_MS = 100;
const [NOW_MS, FLOOR_MS] = [1000, 1050];

/** What a server has been told: the time of one that it knew, or what the other one granted. */
type Told = 'nothing' | 'a time' | 'proof';

/** Each news begins an era; only what was proved lies a lease ahead. */
function headerOf(told: Told): RegistryHeader {
  const era = ['nothing', 'a time', 'proof'].indexOf(told);
  const safeFloorMs = told === 'proof' ? NOW_MS + TTL_MS : FLOOR_MS + era;
  const times = { lastTimeMs: NOW_MS, slewMs: 0, quarantineMs: TTL_MS, safeFloorMs };
  return { ...times, era } as RegistryHeader;
}

/** A server is left for another one and asked again; p1 is granted worker id 0 before it hears. */
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

describe('what a left server grants', () => {
  it('is excused for the one process, and nothing before it is', () => {
    const { isExcused } = ledBack();
    expect(isExcused()).toBe(true);
    expect(isExcused('p1', FLOOR_MS - 1)).toBe(false);
    expect(isExcused('p2')).toBe(false);
  });

  it('is excused while eras begin for another reason than a proof', () => {
    const { ask, isExcused } = ledBack();
    ask(acquireOf('p2#1'), 'a time');
    ask(renewalOf('p1#1'), 'a time');
    expect(isExcused()).toBe(true);
  });

  it('is no longer excused where the server has proof and is asked for that lease', () => {
    const { ask, isExcused } = ledBack();
    ask(acquireOf('p2#1'), 'proof');
    expect(isExcused()).toBe(true);
    ask(renewalOf('p1#1'), 'proof');
    expect(isExcused()).toBe(false);
  });

  it('is excused while the same process asks for another lease', () => {
    const { ask, isExcused } = ledBack();
    ask(acquireOf('p2#1'), 'proof');
    ask(acquireOf('p1#2'), 'proof');
    expect(isExcused()).toBe(true);
  });
});

describe('a registry that took over from a lost one', () => {
  const [SHORT_MS, LONG_MS] = [100, 500];
  const granted = { status: 'ok', workerId: 0, floorMs: FLOOR_MS, ceilingMs: FLOOR_MS + 100 };

  /** Of two processes, of which the first was answered before the loss. */
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

  it('is excused for what it grants before a survivor asks, and for nothing afterwards', () => {
    const { ask, lose } = taken(['grants without the lost clock']);
    expect(ask('p2')).toBe(false);
    lose(LONG_MS);
    expect(ask('p3')).toBe(true);
    expect(ask('p1')).toBe(false);
    expect(ask('p4')).toBe(false);
  });

  it('lacks no clock where the lost one was not ahead of its store', () => {
    const { ask, lose } = taken(['grants without the lost clock']);
    lose(LONG_MS, 0);
    expect(ask('p3')).toBe(false);
  });

  it('lacks the clock still where a survivor sent its request before the loss', () => {
    const { ask, lose, registries } = taken(['grants without the lost clock']);
    const brought = registries.sentBy('p1');
    lose(LONG_MS);
    ask('p1', brought);
    expect(ask('p3')).toBe(true);
  });

  it('lacks the clock until a process asks that has read how far it was ahead at last', () => {
    const { ask, lose, moveAheadBy } = taken(['grants without the lost clock']);
    moveAheadBy(10);
    ask('p2');
    lose(LONG_MS);
    ask('p1');
    expect(ask('p3')).toBe(true);
    ask('p2');
    expect(ask('p4')).toBe(false);
  });

  it('informs nobody of a clock that it lacks', () => {
    const { ask, lose } = taken(['grants without the lost clock']);
    lose(LONG_MS);
    ask('p3');
    lose(LONG_MS);
    expect(ask('p3')).toBe(true);
    expect(ask('p4')).toBe(true);
  });

  it('is excused until a process asks that has read the longest quarantine', () => {
    const { ask, lose } = taken(['grants without the longest lease']);
    lose(SHORT_MS);
    expect(ask('p3')).toBe(true);
    expect(ask('p1')).toBe(false);
    lose(LONG_MS);
    expect(ask('p4')).toBe(false);
  });

  it('is excused for nothing else than the scenario says', () => {
    const { ask, lose } = taken([]);
    lose(SHORT_MS);
    expect(ask('p3')).toBe(false);
  });
});

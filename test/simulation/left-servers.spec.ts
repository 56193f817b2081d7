/** What the simulation excuses: what a server granted that could not know, and nothing else. */
import { expect, it } from '@jest/globals';
import type { LeaseAnswer } from '../../lib/lease/distributed-support.js';
import type { RegistryHeader } from '../../lib/registry/snapshot.js';
import { LeftServers } from './world/left-servers.js';
import type { StoreCall } from './world/store-event.js';

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

it('is what was granted to the one process, and what came before it is not', () => {
  const { isExcused } = ledBack();
  expect(isExcused()).toBe(true);
  expect(isExcused('p1', FLOOR_MS - 1)).toBe(false);
  expect(isExcused('p2')).toBe(false);
});

it('lasts while eras begin for another reason than a proof', () => {
  const { ask, isExcused } = ledBack();
  ask(acquireOf('p2#1'), 'a time');
  ask(renewalOf('p1#1'), 'a time');
  expect(isExcused()).toBe(true);
});

it('ends where the server has proof and is asked for that lease', () => {
  const { ask, isExcused } = ledBack();
  ask(acquireOf('p2#1'), 'proof');
  expect(isExcused()).toBe(true);
  ask(renewalOf('p1#1'), 'proof');
  expect(isExcused()).toBe(false);
});

it('lasts while the same process asks for another lease', () => {
  const { ask, isExcused } = ledBack();
  ask(acquireOf('p2#1'), 'proof');
  ask(acquireOf('p1#2'), 'proof');
  expect(isExcused()).toBe(true);
});

/**
 * The rules of the registry that a uniqueness test may miss by luck, one by one with numbers.
 */
import { describe, expect, it } from '@jest/globals';
import { MemoryRegistry } from '../../lib/stores/memory/index.js';
import type { LeaseGrant, LeaseRequest, WorkerLease } from '../../lib/lease/distributed-support.js';
import type { StoreReading } from '../../lib/registry/snapshot.js';

const T0 = 1_800_000_000_000;
const LOSS_WINDOW_MS = 5000;
const at = (timeMs: number, server = 'one'): StoreReading => {
  return { timeMs, server, random: 'r', lossWindowMs: LOSS_WINDOW_MS };
};

function request(token: string, given: Partial<LeaseRequest> = {}): LeaseRequest {
  return {
    fingerprint: 'f',
    ttlMs: 60_000,
    minRangeMs: 50,
    quarantineMs: 0,
    token,
    nonce: 'n',
    workerIdMin: 0,
    workerIdMax: 0,
    haveMs: 0,
    holder: { host: 'h', pid: 1, application: 'a' },
    ...given,
  };
}

function lease(asked: LeaseRequest, grant: unknown): WorkerLease {
  const { workerId, ceilingMs, mark } = grant as LeaseGrant;
  return { ...asked, workerId, haveMs: ceilingMs, mark: mark!, nonceNext: 'm' };
}

/** So long ago that ranges start with the clock. */
function openedLongAgo(): MemoryRegistry {
  const registry = new MemoryRegistry();
  const [asked, mark] = [request('nobody'), { incarnation: '', server: '', operations: 0 }];
  const nothing = { ...asked, workerId: 0, nonceNext: 'm', mark };
  registry.release(nothing, undefined, at(T0 - asked.ttlMs - LOSS_WINDOW_MS));
  return registry;
}

describe('the registry', () => {
  it('starts a new holder at the stored ceiling, not at the clock', () => {
    const registry = openedLongAgo();
    registry.acquire(request('a'), at(T0));
    const next = registry.acquire(request('b'), at(T0 + 90_000));
    expect(next).toMatchObject({ status: 'ok', floorMs: T0 + 60_000, ceilingMs: T0 + 150_000 });
  });

  it('starts a new holder right behind the last id after a release', () => {
    const registry = openedLongAgo();
    const asked = request('a');
    registry.release(lease(asked, registry.acquire(asked, at(T0))), T0 + 7, at(T0 + 10));
    expect(registry.acquire(request('b'), at(T0 + 10))).toMatchObject({ floorMs: T0 + 8 });
  });

  it('lets a release lower the ceiling no further than the floor, and only the holder', () => {
    const registry = openedLongAgo();
    const asked = request('a');
    const held = lease(asked, registry.acquire(asked, at(T0 + 5)));
    registry.release({ ...held, token: 'b' }, T0, at(T0 + 6));
    registry.release({ ...held, nonce: 'x', nonceNext: 'y' }, T0, at(T0 + 6));
    expect(registry.state!.ceilings.get(0)).toBe(T0 + 60_005);
    registry.release(held, T0 - 1000, at(T0 + 6));
    expect(registry.state!.ceilings.get(0)).toBe(T0);
  });

  it('never lets a renewal lower a ceiling, also when its clock steps back', () => {
    const registry = openedLongAgo();
    const asked = request('a');
    const held = lease(asked, registry.acquire(asked, at(T0)));
    const renewed = registry.renew(held, at(T0 - 3_600_000));
    expect(renewed).toMatchObject({ status: 'ok', ceilingMs: T0 + 60_000, nowMs: T0 });
  });

  it('answers a repeated acquire with the same lease, and no second worker id', () => {
    const registry = openedLongAgo();
    const first = registry.acquire(request('a', { workerIdMax: 9 }), at(T0));
    const again = registry.acquire(request('a', { workerIdMax: 9 }), at(T0 + 5));
    expect([first, again]).toMatchObject([
      { workerId: 0, floorMs: T0 },
      { workerId: 0, floorMs: T0 },
    ]);
    expect(registry.state!.holders.size).toBe(1);
  });

  it('quarantines by the longest ttl ever granted plus the loss window', () => {
    const registry = openedLongAgo();
    registry.acquire(request('a', { ttlMs: 600_000, workerIdMax: 9 }), at(T0));
    registry.acquire(request('b', { workerIdMax: 9 }), at(T0 + 1, 'two'));
    expect(registry.state!.safeFloorMs).toBe(T0 + 1 + 605_000);
  });

  it('takes the worker id that has been free for longest', () => {
    const registry = openedLongAgo();
    for (const token of ['a', 'b', 'c']) {
      const asked = request(token, { workerIdMax: 2 });
      const held = lease(asked, registry.acquire(asked, at(T0)));
      if (token !== 'b') registry.release(held, token === 'a' ? T0 + 9 : T0 + 3, at(T0 + 20));
    }
    const next = registry.acquire(request('d', { workerIdMax: 2 }), at(T0 + 30));
    expect(next).toMatchObject({ workerId: 2 });
  });

  it('sends both copies of a process away, the first that breaks the chain and the other', () => {
    const registry = openedLongAgo();
    const asked = request('a');
    const held = lease(asked, registry.acquire(asked, at(T0)));
    const statusOf = (nonce: string, nonceNext: string) =>
      registry.renew({ ...held, nonce, nonceNext }, at(T0 + 1)).status;
    const [nonce, shared] = [held.nonce, 'both know this one'];
    expect([statusOf(nonce, shared), statusOf(nonce, shared)]).toEqual(['ok', 'ok']);
    expect(statusOf(shared, 'one')).toBe('ok');
    expect(statusOf(shared, 'two')).toBe('cloned');
    expect(statusOf('one', 'three')).toBe('cloned');
  });
});

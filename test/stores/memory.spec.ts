/**
 * The registries of one process. Supports of one namespace never lease the same worker ID,
 * whichever code created them. Only a registry that begins with its process counts as new.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import { systemClock } from '../../lib/core/index.js';
import type {
  IDistributedSupport,
  LeaseGrant,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import type { StoreReading } from '../../lib/registry/snapshot.js';
import { MemoryRows, MemorySupport } from '../../lib/stores/memory/index.js';
import { SettableTime } from '../../lib/testing/index.js';
import { systemTimers } from '../../lib/time/timers.js';
import { MemoryRegistry } from '../models/memory-registry.js';
import { loadLibrary } from '../mutants/load-library.mjs';

describe('memory support', () => {
  const requestOf = (fingerprint: string): LeaseRequest => ({
    fingerprint,
    ttlMs: 60_000,
    minRangeMs: 1000,
    quarantineMs: 0,
    token: randomUUID(),
    nonce: 'n',
    workerIdMin: 0,
    workerIdMax: 9,
    haveMs: 0,
    holder: { host: 'h', pid: 1, application: 'a' },
  });

  const lease = (support: IDistributedSupport, fingerprint = 'f') =>
    support.getNextWorkId(requestOf(fingerprint));

  const workerIds = async (...supports: IDistributedSupport[]) => {
    const grants = await Promise.all(supports.map((support) => lease(support)));
    return grants.map((grant) => (grant as LeaseGrant).workerId);
  };

  /** The state of each registry, once each support holds a worker ID. */
  async function heldCounts(...supports: MemorySupport[]): Promise<number[]> {
    await workerIds(...supports);
    const records = await Promise.all(supports.map((support) => support.workers()));
    return records.map((workers) => workers.length);
  }

  describe('memory supports of one process', () => {
    it('share a registry by default', async () => {
      const [one, two] = await workerIds(new MemorySupport(), new MemorySupport());
      expect(one).not.toBe(two);
    });

    it('share a registry by namespace, and otherwise not', async () => {
      const [a, b] = [randomUUID(), randomUUID()];
      const supports = [a, a, b].map((namespace) => new MemorySupport({ namespace }));
      expect(await heldCounts(...supports)).toEqual([2, 2, 1]);
      expect(await lease(supports[2]!, 'other')).toMatchObject({ status: 'layout-mismatch' });
    });

    it('share a registry across two loaded copies of the package', async () => {
      const namespace = randomUUID();
      const { MemorySupport: Copy } = (await loadLibrary([], 'stores/memory/index.ts')) as {
        MemorySupport: typeof MemorySupport;
      };
      expect(Copy).not.toBe(MemorySupport);
      const supports = [new MemorySupport({ namespace }), new Copy({ namespace })];
      expect(await heldCounts(...supports)).toEqual([2, 2]);
    });

    it("share a registry by the host's clock, whichever copy names it", async () => {
      const namespace = randomUUID();
      const copies = [undefined, systemClock, { ...systemClock }];
      const supports = copies.map(
        (clock) => new MemorySupport({ namespace, ...(clock && { clock }) }),
      );
      expect(await heldCounts(...supports)).toEqual([3, 3, 3]);
    });

    it('use separate registries for other rows or another time source', async () => {
      const rows = new MemoryRows();
      const clock = new SettableTime();
      const supports = [
        new MemorySupport({ rows }),
        new MemorySupport({ rows }),
        new MemorySupport({ clock }),
        new MemorySupport({ clock }),
        new MemorySupport({ clock: new SettableTime() }),
      ];
      expect(await heldCounts(...supports)).toEqual([2, 2, 2, 2, 1]);
    });

    it('start at once with exact times, but never after a loss', async () => {
      const rows = new MemoryRows();
      const grant = (await lease(new MemorySupport({ rows }))) as LeaseGrant;
      expect(grant.floorMs).toBeLessThanOrEqual(grant.nowMs!);
      rows.rows.clear();
      expect(await lease(new MemorySupport({ rows }))).toMatchObject({ status: 'wait' });
    });

    it('need no timer to lease, renew and release a worker ID of any layout', async () => {
      const never = jest.spyOn(systemTimers, 'after').mockReturnValue(undefined);
      const support = new MemorySupport({ rows: new MemoryRows() });
      const asked = { ...requestOf('f'), workerIdMin: 100_000, workerIdMax: 4_194_303 };
      const grant = (await support.getNextWorkId(asked)) as LeaseGrant;
      const held = { ...asked, workerId: grant.workerId, haveMs: grant.ceilingMs };
      const renewing = { ...held, mark: grant.mark!, nonceNext: 'm' };
      expect(await support.refreshAlive(renewing)).toMatchObject({ status: 'ok' });
      await support.release({ ...renewing, nonce: 'm', nonceNext: 'o' }, undefined);
      expect((await support.workers()).map(({ holder }) => holder)).toEqual([undefined]);
      never.mockRestore();
    });

    it('reject rows that did not come from the registry', async () => {
      const [lost, rows] = [new MemoryRows(), new MemoryRows()];
      await lease(new MemorySupport({ rows: lost }));
      rows.rows = new Map(lost.rows);
      rows.server = 'another';
      expect(await lease(new MemorySupport({ rows }))).toMatchObject({ status: 'wait' });
    });

    it('use no clock but that of their rows', () => {
      const both = { rows: new MemoryRows(), clock: new SettableTime() };
      expect(() => new MemorySupport(both)).toThrow('Expected `rows` or `clock`, not both');
    });

    it('tell two processes apart by the incarnation', async () => {
      const grants = await Promise.all(
        [1, 2].map(() => lease(new MemorySupport({ rows: new MemoryRows() }))),
      );
      const [a, b] = grants.map((grant) => (grant as LeaseGrant).mark!.incarnation);
      expect(a).not.toBe(b);
    });
  });
});

/*
 * The registry's rules that a uniqueness test may miss by chance, one by one with numbers.
 */
describe('memory registry', () => {
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

  /** Long enough ago that ranges start at the clock. */
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

    it('starts a new holder immediately after the last ID of a release', () => {
      const registry = openedLongAgo();
      const asked = request('a');
      registry.release(lease(asked, registry.acquire(asked, at(T0))), T0 + 7, at(T0 + 10));
      expect(registry.acquire(request('b'), at(T0 + 10))).toMatchObject({ floorMs: T0 + 8 });
    });

    it("lets only the holder's release lower the ceiling, down to the floor", () => {
      const registry = openedLongAgo();
      const asked = request('a');
      const held = lease(asked, registry.acquire(asked, at(T0 + 5)));
      registry.release({ ...held, token: 'b' }, T0, at(T0 + 6));
      registry.release({ ...held, nonce: 'x', nonceNext: 'y' }, T0, at(T0 + 6));
      expect(registry.state!.ceilings.get(0)).toBe(T0 + 60_005);
      registry.release(held, T0 - 1000, at(T0 + 6));
      expect(registry.state!.ceilings.get(0)).toBe(T0);
    });

    it('never lets a renewal lower a ceiling, even if its clock steps back', () => {
      const registry = openedLongAgo();
      const asked = request('a');
      const held = lease(asked, registry.acquire(asked, at(T0)));
      const renewed = registry.renew(held, at(T0 - 3_600_000));
      expect(renewed).toMatchObject({ status: 'ok', ceilingMs: T0 + 60_000, nowMs: T0 });
    });

    it('answers a repeated acquire with the same lease and worker ID', () => {
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

    it('takes the worker ID that has been free for longest', () => {
      const registry = openedLongAgo();
      for (const token of ['a', 'b', 'c']) {
        const asked = request(token, { workerIdMax: 2 });
        const held = lease(asked, registry.acquire(asked, at(T0)));
        if (token !== 'b') registry.release(held, token === 'a' ? T0 + 9 : T0 + 3, at(T0 + 20));
      }
      const next = registry.acquire(request('d', { workerIdMax: 2 }), at(T0 + 30));
      expect(next).toMatchObject({ workerId: 2 });
    });

    it('fences both copies of a process: the first that breaks the chain, then the other', () => {
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
});

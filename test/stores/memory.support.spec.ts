/**
 * The registries of one process: supports of one namespace cannot lease the same worker id,
 * whoever made them, and only a registry that begins with its process is known to be new.
 */
import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../lib/core/index.js';
import { MemoryRegistry, MemorySupport } from '../../lib/stores/memory/index.js';
import type { IDistributedSupport, LeaseGrant } from '../../lib/lease/distributed-support.js';
import { SettableTime } from '../../lib/testing/index.js';
import { loadLibrary } from '../mutants/load-library.mjs';

function lease(support: IDistributedSupport, fingerprint = 'f') {
  return support.getNextWorkId({
    fingerprint,
    ttlMs: 60_000,
    minRangeMs: 1002,
    quarantineMs: 0,
    token: randomUUID(),
    nonce: 'n',
    workerIdMin: 0,
    workerIdMax: 9,
    haveMs: 0,
    holder: { host: 'h', pid: 1, application: 'a' },
  });
}

const workerIds = async (...supports: IDistributedSupport[]) => {
  const grants = await Promise.all(supports.map((support) => lease(support)));
  return grants.map((grant) => (grant as LeaseGrant).workerId);
};

describe('memory supports of one process', () => {
  it('share a registry by default', async () => {
    const [one, two] = await workerIds(new MemorySupport(), new MemorySupport());
    expect(one).not.toBe(two);
  });

  it('share a registry by the name of a namespace, and only so', async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    const supports = [a, a, b].map((namespace) => new MemorySupport({ namespace }));
    expect(await workerIds(...supports)).toEqual([0, 1, 0]);
    expect(await lease(supports[2]!, 'other')).toMatchObject({ status: 'layout-mismatch' });
  });

  it('share a registry also where two copies of the package are loaded', async () => {
    const namespace = randomUUID();
    const { MemorySupport: Copy } = (await loadLibrary([], 'stores/memory/index.ts')) as {
      MemorySupport: typeof MemorySupport;
    };
    expect(Copy).not.toBe(MemorySupport);
    const supports = [new MemorySupport({ namespace }), new Copy({ namespace })];
    expect(await workerIds(...supports)).toEqual([0, 1]);
  });

  it('share a registry by the clock of the host, whichever copy names it', async () => {
    const namespace = randomUUID();
    const copies = [undefined, systemClock, { ...systemClock }];
    const supports = copies.map(
      (clock) => new MemorySupport({ namespace, ...(clock && { clock }) }),
    );
    expect(await workerIds(...supports)).toEqual([0, 1, 2]);
  });

  it('have another registry where another one, or another time, is given', async () => {
    const registry = new MemoryRegistry();
    const clock = new SettableTime();
    const supports = [
      new MemorySupport({ registry }),
      new MemorySupport({ registry }),
      new MemorySupport({ clock }),
      new MemorySupport({ clock }),
      new MemorySupport({ clock: new SettableTime() }),
    ];
    expect(await workerIds(...supports)).toEqual([0, 1, 0, 1, 0]);
  });

  it('start at once with exact times, but never after a loss', async () => {
    const registry = new MemoryRegistry();
    const grant = (await lease(new MemorySupport({ registry }))) as LeaseGrant;
    expect(grant.floorMs).toBeLessThanOrEqual(grant.nowMs!);
    registry.state = undefined;
    expect(await lease(new MemorySupport({ registry }))).toMatchObject({ status: 'wait' });
  });

  it('trust nothing in a registry that was loaded from elsewhere', async () => {
    const registry = new MemoryRegistry();
    registry.state = undefined;
    const reading = { timeMs: Date.now(), server: 's', random: 'r', lossWindowMs: 0 };
    const terms = { fingerprint: 'f', ttlMs: 60_000, minRangeMs: 50, quarantineMs: 0, haveMs: 0 };
    const range = { workerIdMin: 0, workerIdMax: 0 };
    const holder = { host: 'h', pid: 1, application: 'a' };
    const request = { ...terms, ...range, token: 't', nonce: 'n', holder };
    expect(registry.acquire(request, reading)).toMatchObject({ status: 'wait' });
  });

  it('tell two processes apart by the incarnation', async () => {
    const [one, two] = [new MemoryRegistry(), new MemoryRegistry()];
    const grants = await Promise.all(
      [one, two].map((registry) => lease(new MemorySupport({ registry }))),
    );
    const [a, b] = grants.map((grant) => (grant as LeaseGrant).mark!.incarnation);
    expect(a).not.toBe(b);
  });
});

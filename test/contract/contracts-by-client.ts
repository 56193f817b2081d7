/** The contract cases for everything in Redis, with one client of an application. */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, it } from '@jest/globals';
import {
  type GivenClient,
  redisCounters,
  redisLocks,
  redisSupport,
} from '../../lib/stores/redis/index.js';
import {
  describeCounterStore,
  describeDistributedSupport,
  describeLockStore,
} from '../../lib/testing/index.js';
import { readySpaces } from '../lock/held-locks.js';

/** No failover happens here; with Sentinel or a Cluster, a new registry would wait for one. */
const NO_FAILOVER = { failoverWindowMs: 0, clockDifferenceMs: 0 };

/** Uses the clock of Redis. The suites run side by side. */
export function describeContractsBy(redis: GivenClient): void {
  const prefix = `${randomUUID()}:`;
  const opened: { close(): Promise<void> }[] = [];
  const keep = <S extends { close(): Promise<void> }>(store: S): S => (opened.push(store), store);
  afterAll(async () => {
    await Promise.all(opened.map((store) => store.close()));
  });

  describeDistributedSupport({
    test: it.concurrent,
    expect,
    createSupport: (namespace) => keep(redisSupport({ redis, namespace, prefix, ...NO_FAILOVER })),
    leaveOut: ['clock', 'losses', 'version'],
  });

  describeCounterStore({
    test: it.concurrent,
    expect,
    createStore: (namespace) => keep(redisCounters({ redis, namespace, prefix, lossWindowMs: 20 })),
    leaveOut: ['clock', 'losses'],
  });

  const locksIn = (namespace: string) =>
    keep(redisLocks({ redis, namespace, prefix, lossWindowMs: 20 }));
  // Concurrent cases begin before any hook.
  let spaces: ReturnType<typeof readySpaces> | undefined;
  describeLockStore({
    test: it.concurrent,
    expect,
    createStore: async (name) => (await (spaces ??= readySpaces(locksIn)))(name),
    leaveOut: ['clock', 'losses'],
  });
}

/** The contracts of all that is kept in Redis, by one client of an application. */
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

/** Nobody fails over here: by Sentinel or on a Cluster a new registry would wait for it. */
const NO_FAILOVER = { failoverWindowMs: 0, clockDifferenceMs: 0 };

/** By the clock of Redis. Side by side, since a new store of locks waits first. */
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

  describeLockStore({
    test: it.concurrent,
    expect,
    createStore: (namespace) => keep(redisLocks({ redis, namespace, prefix, lossWindowMs: 20 })),
    leaveOut: ['clock', 'losses'],
  });
}

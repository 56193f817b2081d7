/**
 * A writable replica of Redis loses its writes when it follows its master again. So it grants
 * nothing: no worker ID, no position and no lock. A promoted replica does.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { redisCounters, redisLocks } from '../../lib/stores/redis/index.js';
import { failureOf, RedisLab, request, until } from './redis-lab.js';

describe('a Redis that changes between master and replica', () => {
  const lab = new RedisLab();
  afterAll(() => lab.end());

  const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];
  const NO_WINDOWS = { failoverWindowMs: 0, clockDifferenceMs: 0 };
  const taken = { kind: 'dense', counter: 'order', count: 5n, have: 0n, lossGap: 1000n } as const;
  const attempt = { lock: 'order', label: 'one', ttlMs: 60_000, longestMs: 60_000, have: 0n };

  let master: { port: number };
  let replica: { port: number };
  beforeAll(async () => {
    master = await lab.server(...DURABLE, '--repl-diskless-sync-delay', '0');
    const following = ['--replicaof', '127.0.0.1', String(master.port)];
    replica = await lab.server(...DURABLE, ...following, '--replica-read-only', 'no');
    const isSynced = async () => {
      const facts = await lab.client(replica.port).info('replication');
      return facts.includes('master_link_status:up');
    };
    await until(isSynced);
  }, 60_000);

  function callsOn({ port }: { port: number }) {
    const options = { redis: `redis://127.0.0.1:${port}`, namespace: randomUUID() };
    const [support, counters, locks] = [
      lab.support({ ...options, ...NO_WINDOWS }),
      redisCounters({ ...options, lossWindowMs: 0 }),
      redisLocks({ ...options, lossWindowMs: 0 }),
    ];
    return {
      'a worker id': () => support.getNextWorkId(request()),
      'a position': () => counters.take({ ...taken, startAt: 1n }),
      'a lock': () => locks.acquire({ ...attempt, holder: randomUUID() }),
      close: () => Promise.all([counters.close(), locks.close()]),
    };
  }
  /** The locks of a new store wait for a moment. */
  const ANSWERS = ['ok', 'wait'];
  const KINDS = ['a worker id', 'a position', 'a lock'] as const;

  async function answerOf(server: { port: number }, kind: (typeof KINDS)[number]) {
    const calls = callsOn(server);
    try {
      return await calls[kind]();
    } finally {
      await calls.close();
    }
  }

  it.each(KINDS)('grants %s as master, and nothing as a writable replica', async (kind) => {
    expect(ANSWERS).toContain((await answerOf(master, kind)).status);
    expect(await failureOf(answerOf(replica, kind))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      retryable: true,
      details: { refusal: 'replica' },
      message: expect.stringContaining('Name the master') as unknown,
    });
    const [own, its] = [lab.client(replica.port), lab.client(master.port)];
    const count = await its.dbsize();
    await until(async () => (await own.dbsize()) === count);
  });

  it('grants once it is promoted, and the former master grants nothing more', async () => {
    await lab.client(replica.port).call('REPLICAOF', 'NO', 'ONE');
    await lab.client(master.port).call('CONFIG', 'SET', 'replica-read-only', 'no');
    await lab.client(master.port).call('REPLICAOF', '127.0.0.1', String(replica.port));
    for (const kind of KINDS) {
      expect(ANSWERS).toContain((await answerOf(replica, kind)).status);
      const { details } = await failureOf(answerOf(master, kind));
      expect(details).toMatchObject({ refusal: 'replica' });
    }
  });
});

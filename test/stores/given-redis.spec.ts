/**
 * A client of the application keeps the options that it was given, whichever those are: everything
 * in Redis works by it, also once the server has forgotten its scripts.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import {
  redisCounters,
  redisLocks,
  redisSupport,
  type GivenClient,
} from '../../lib/stores/redis/index.js';
import { failureOf, held, RedisLab, request } from './redis-lab.js';

const lab = new RedisLab();
afterAll(() => lab.end());

const HELD = {
  lock: 'job',
  label: 'a',
  ttlMs: 1000,
  longestMs: 1000,
  have: 0n,
} as const;
const TAKEN = {
  kind: 'dense',
  counter: 'order',
  count: 1n,
  have: 0n,
  skip: 10n,
  startAt: 1n,
  stores: '1/1',
} as const;

/** By one client: a lease and its renewals, numbers, a lock; scripts are forgotten in between. */
async function answersBy(client: GivenClient, forgetScripts: () => Promise<unknown>) {
  const own = { redis: client, namespace: randomUUID() };
  const support = redisSupport({ ...own, failoverWindowMs: 0, clockDifferenceMs: 0 });
  const counters = redisCounters({ ...own, lossWindowMs: 0 });
  const locks = redisLocks({ ...own, lossWindowMs: 0 });
  try {
    const asked = request();
    const granted = await support.getNextWorkId(asked);
    await forgetScripts();
    const { status } = await support.refreshAlive(held(asked, granted));
    const numbers = [await counters.take(TAKEN), await counters.take(TAKEN)];
    // A new store of locks lets whoever asks first wait.
    const lock = await locks.acquire({ ...HELD, holder: randomUUID() });
    const workers = (await support.workers()).length;
    return { status, numbers, lock, workers, advice: await support.advice() };
  } finally {
    await Promise.all([support.close(), counters.close(), locks.close()]);
  }
}

const ANSWERS = {
  status: 'ok',
  numbers: [
    { status: 'ok', first: 1n },
    { status: 'ok', first: 2n },
  ],
  lock: { status: 'wait' },
  workers: 1,
  advice: [],
};

/** Of ioredis 6. */
const RESP3 = { protocol: 3, replyMapping: 'resp3' } as RedisOptions;

const OPTIONS: readonly [string, RedisOptions][] = [
  ['reconnectOnError: () => true', { reconnectOnError: () => true }],
  ['reconnectOnError: () => 1', { reconnectOnError: () => 1 }],
  ['reconnectOnError: () => 2', { reconnectOnError: () => 2 }],
  ['enableOfflineQueue: true', { enableOfflineQueue: true }],
  ['enableOfflineQueue: false', { enableOfflineQueue: false }],
  ['enableAutoPipelining: true', { enableAutoPipelining: true }],
  ['enableReadyCheck: false', { enableReadyCheck: false }],
  ['keyPrefix', { keyPrefix: 'other:' }],
  ['commandTimeout', { commandTimeout: 5000 }],
  ['readOnly: true', { readOnly: true }],
  ['db: 3', { db: 3 }],
  ['stringNumbers: true', { stringNumbers: true }],
  ['showFriendlyErrorStack: true', { showFriendlyErrorStack: true }],
  ['maxRetriesPerRequest: null', { maxRetriesPerRequest: null }],
  ['maxRetriesPerRequest: 0', { maxRetriesPerRequest: 0 }],
  ['lazyConnect: true', { lazyConnect: true }],
  ['retryStrategy: () => null', { retryStrategy: () => null }],
  ['autoResendUnfulfilledCommands: false', { autoResendUnfulfilledCommands: false }],
  ['connectionName', { connectionName: 'shop' }],
  ['RESP3', RESP3],
];

describe('a given client of one Redis', () => {
  let admin: Redis;
  let port: number;
  beforeAll(async () => {
    ({ port } = await lab.server());
    admin = lab.client(port);
  });

  it.each(OPTIONS)('may have %s', async (_, options) => {
    const answers = await answersBy(lab.client(port, { ...options }), () => admin.script('FLUSH'));
    expect(answers).toMatchObject(ANSWERS);
  });

  it('is asked whether to connect again, about all but a script that is not known', async () => {
    const heard: string[] = [];
    const reconnectOnError = ({ message }: Error) => {
      heard.push(message);
      return 2 as const;
    };
    const support = lab.support({ redis: lab.client(port, { reconnectOnError }) });
    await admin.script('FLUSH');
    await admin.set(support.key, 'something else');
    // What is refused once is not asked for ever.
    expect(await failureOf(support.getNextWorkId(request()))).toMatchObject({
      details: { refusal: 'wrong-type' },
    });
    expect(heard).toEqual([expect.stringMatching(/^WRONGTYPE/)]);
  });

  it('is understood about the settings of Redis, in whatever form it tells them', async () => {
    const unsynced = await lab.server('--appendonly', 'yes', '--appendfsync', 'no');
    const counters = redisCounters({ redis: lab.client(unsynced.port, { ...RESP3 }) });
    try {
      const failure = await failureOf(counters.take(TAKEN));
      expect(failure).toMatchObject({ details: { refusal: 'not-synced' } });
    } finally {
      await counters.close();
    }
  });

  it('that waits less than a call takes is refused with what it says', async () => {
    const client = lab.client(port, { commandTimeout: 1 });
    const support = lab.support({ redis: client });
    await admin.call('CLIENT', 'PAUSE', 200, 'ALL');
    const failure = await failureOf(support.getNextWorkId(request()));
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    expect(failure.message).toMatch(/timed out/);
  });
});

describe('a given client of a Cluster', () => {
  it.each([
    ['reconnectOnError', { redisOptions: { reconnectOnError: () => 2 as const } }],
    ['scaleReads', { scaleReads: 'slave' as const }],
    ['keyPrefix', { keyPrefix: 'other:' }],
    ['enableOfflineQueue', { enableOfflineQueue: false, lazyConnect: true }],
    ['enableAutoPipelining', { enableAutoPipelining: true }],
  ])('may have %s', async (_, options) => {
    const { port } = await lab.clusterNode();
    const cluster = new Cluster([{ host: '127.0.0.1', port }], options);
    cluster.on('error', () => undefined);
    try {
      const answers = await answersBy(cluster, () => lab.client(port).script('FLUSH'));
      expect(answers).toMatchObject(ANSWERS);
    } finally {
      cluster.disconnect();
    }
  });
});

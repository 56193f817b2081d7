/**
 * The number of the failover by which Sentinel names a master, asked of it by each client that
 * knows Sentinels.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as ioredis from 'ioredis';
import * as iovalkey from 'iovalkey';
import * as six from 'redis';
import * as five from 'redis-5';
import { IOREDIS } from '../../lib/stores/redis/clients/ioredis.js';
import { NODE_REDIS } from '../../lib/stores/redis/clients/node-redis.js';
import type { RedisClient } from '../../lib/stores/redis/clients/redis-client.js';
import { failoverEpoch } from '../../lib/stores/redis/client-life.js';
import { parseRedisUrl } from '../../lib/stores/redis/redis-url.js';
import { systemTimers } from '../../lib/time/timers.js';
import { RedisLab, request } from './redis-lab.js';

const host = '127.0.0.1';
const name = 'mymaster';
/** Of the master and of its Sentinel. */
const [inner, outer] = ['in/ner', 'ou&ter'];

describe('redis sentinels', () => {
  const lab = new RedisLab();
  let port: number;
  beforeAll(async () => {
    const master = await lab.server('--requirepass', inner);
    const lines = [`auth-pass ${name} ${inner}`, `config-epoch ${name} 7`];
    const asked = [...lines.map((line) => `sentinel ${line}`), `requirepass ${outer}`];
    ({ port } = await lab.sentinel(master.port, ...asked));
  });
  afterAll(() => lab.end());

  const url = (sentinelPassword = outer) => {
    const login = `sentinelPassword=${encodeURIComponent(sentinelPassword)}`;
    const server = `:${encodeURIComponent(inner)}@${host}:${port}`;
    return parseRedisUrl(`redis+sentinel://${server}/${name}?${login}`);
  };
  const givenIoredis = (made: typeof ioredis | typeof iovalkey) => {
    const sentinels = [
      { host, port: 1 },
      { host, port },
    ];
    const logins = { password: inner, sentinelPassword: outer };
    const given = new made.Redis({ sentinels, name, ...logins, lazyConnect: true });
    return IOREDIS.duplicate(given);
  };
  const givenNodeRedis = () =>
    six.createSentinel({
      name,
      sentinelRootNodes: [
        { host, port: 1 },
        { host, port },
      ],
      nodeClientOptions: { password: inner, database: 3 },
      sentinelClientOptions: { password: outer },
    });

  const WAYS: readonly (readonly [string, () => RedisClient])[] = [
    ['ioredis by URL', () => IOREDIS.build(url(), ioredis, 'ioredis')],
    ['iovalkey by URL', () => IOREDIS.build(url(), iovalkey, 'iovalkey')],
    ['node-redis 6 by URL', () => NODE_REDIS.build(url(), six, 'redis')],
    ['node-redis 5 by URL', () => NODE_REDIS.build(url(), five, 'redis')],
    ['a given client of ioredis', () => givenIoredis(ioredis)],
    ['a given client of iovalkey', () => givenIoredis(iovalkey)],
    ['a given client of node-redis 6', () => NODE_REDIS.duplicate(givenNodeRedis())],
  ];

  it.each(WAYS)('tell it to %s, also where another one is away', async (_, made) => {
    const client = made();
    try {
      await client.settle();
      expect(await failoverEpoch(client, systemTimers)).toBe(8);
    } finally {
      client.disconnect();
    }
  });

  it('and a given client of node-redis are named, and their passwords are not', async () => {
    const support = lab.support({ redis: givenNodeRedis(), namespace: 'shop' });
    expect(support.location).toContain(`${host}:1,${host}:${port}, database 3`);
    expect(await support.getNextWorkId(request())).toMatchObject({ status: 'ok' });
    expect(NODE_REDIS.locate(givenNodeRedis()).secrets).toEqual([inner, outer]);
  });
});

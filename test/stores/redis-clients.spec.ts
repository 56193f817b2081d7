/**
 * Every client that an application may pass. All features of Redis work with each of them, on one
 * Redis, by Sentinel, on a Cluster, and on a Valkey.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GlideClient, GlideClusterClient } from '@valkey/valkey-glide';
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey';
import { Redis as Ioredis, type Redis } from 'ioredis';
import { Redis as IoredisSix } from 'ioredis-6';
import * as six from 'redis';
import * as five from 'redis-5';
import { type GivenClient, redisLocks, redisSupport } from '../../lib/stores/redis/index.js';
import { libraryOf } from '../../lib/stores/redis/redis-client.js';
import { inspectorFromUrl } from '../../lib/stores/redis/redis-inspector.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { describeContractsBy } from '../contract/contracts-by-client.js';
import {
  ANSWERS,
  answersBy,
  failureOf,
  held,
  HELD,
  RedisLab,
  request,
  until,
} from './redis-lab.js';

type Making = (port: number, options: object) => GivenClient | Promise<GivenClient>;

const host = '127.0.0.1';
const quiet = <C extends { on(event: 'error', listener: () => void): unknown }>(client: C): C => {
  client.on('error', () => undefined);
  return client;
};

const node = (made: typeof six | typeof five): Making => {
  return (port, options) =>
    quiet((made as typeof six).createClient({ socket: { host, port }, ...options }));
};
const cluster = (made: typeof six | typeof five): Making => {
  return (port, options) => {
    const rootNodes = [{ socket: { host, port } }];
    return quiet((made as typeof six).createCluster({ rootNodes, ...options }));
  };
};
const sentinel = (made: typeof six | typeof five): Making => {
  return (port, options) => {
    const sentinelRootNodes = [{ host, port }];
    return quiet(
      (made as typeof six).createSentinel({ name: 'mymaster', sentinelRootNodes, ...options }),
    );
  };
};

const closing: (() => unknown)[] = [];
const glide: Making = async (port, options) => {
  const client = await GlideClient.createClient({ addresses: [{ host, port }], ...options });
  closing.push(() => client.close());
  return client;
};
const glideCluster: Making = async (port, options) => {
  const client = await GlideClusterClient.createClient({ addresses: [{ host, port }], ...options });
  closing.push(() => client.close());
  return client;
};
const iovalkey: Making = (port, options) => {
  const client = quiet(new Valkey({ port, lazyConnect: true, ...options }));
  closing.push(() => client.disconnect());
  return client;
};
const iovalkeyOfSentinel: Making = (port) => {
  const sentinels = [{ host, port }];
  const client = quiet(new Valkey({ sentinels, name: 'mymaster', lazyConnect: true }));
  closing.push(() => client.disconnect());
  return client;
};
const iovalkeyCluster: Making = (port, options) => {
  const client = quiet(new ValkeyCluster([{ host, port }], { lazyConnect: true, ...options }));
  closing.push(() => client.disconnect());
  return client;
};

const ioredis: Making = (port, options) => {
  const client = quiet(new Ioredis({ port, lazyConnect: true, ...options }));
  closing.push(() => client.disconnect());
  return client;
};
const ioredisSix: Making = (port, options) => {
  const client = quiet(new IoredisSix({ port, lazyConnect: true, ...options }));
  closing.push(() => client.disconnect());
  return client;
};
const sixOfSentinel: Making = (port) => {
  const sentinels = [{ host, port }];
  const client = quiet(new IoredisSix({ sentinels, name: 'mymaster', lazyConnect: true }));
  closing.push(() => client.disconnect());
  return client;
};
const sixOfCluster: Making = (port) => {
  const client = quiet(new IoredisSix.Cluster([{ host, port }], { lazyConnect: true }));
  closing.push(() => client.disconnect());
  return client;
};
/** Without `lazyConnect`, the application's own client would fail as well. */
const lazyGlide =
  (make: Making): Making =>
  (port, options) =>
    make(port, { lazyConnect: true, ...options });

const LOGIN = { username: 'app', password: 'pw' };
const UNTOLD = [
  ['ioredis 5', ioredis, LOGIN],
  ['ioredis 6', ioredisSix, LOGIN],
  ['node-redis 6', node(six), LOGIN],
  ['node-redis 5', node(five), LOGIN],
  ['iovalkey', iovalkey, LOGIN],
  ['a Cluster of Valkey GLIDE', lazyGlide(glideCluster), { credentials: LOGIN }],
] as const;

/** How to create each client, and options that would lead to another place. */
const ONE: readonly [string, Making, object][] = [
  ['node-redis 6', node(six), { keyPrefix: 'other:', database: 3 }],
  ['node-redis 5', node(five), { database: 3 }],
  ['iovalkey', iovalkey, { keyPrefix: 'other:', db: 3 }],
  ['Valkey GLIDE', glide, { databaseId: 3 }],
];
/** The package in the log. Two packages with the same shape look alike. */
const MADE_BY: Readonly<Record<string, string>> = {
  'node-redis 6': 'redis',
  'node-redis 5': 'redis',
  iovalkey: 'ioredis or iovalkey',
  'Valkey GLIDE': '@valkey/valkey-glide',
};
/** Options of an application that reconnects late or never, and waits for each command. */
const PATIENCE = 600_000;
const GIVES_UP: Readonly<Record<string, (port: number) => object>> = {
  'node-redis 6': (port) => ({
    socket: { host, port, reconnectStrategy: () => PATIENCE },
    commandOptions: { timeout: PATIENCE },
  }),
  'node-redis 5': (port) => ({ socket: { host, port, reconnectStrategy: () => PATIENCE } }),
  iovalkey: () => ({ retryStrategy: () => null }),
  // Not as a default: a GLIDE client that retries without a pause blocks all others.
  'Valkey GLIDE': () => ({
    lazyConnect: true,
    connectionBackoff: { numberOfRetries: 0, factor: 1, exponentBase: 1 },
  }),
};

describe('redis clients', () => {
  const lab = new RedisLab();
  afterAll(async () => {
    for (const close of closing.splice(0)) close();
    await lab.end();
  });

  describe.each(ONE)('of one Redis, %s', (name, make, elsewhere) => {
    let admin: Redis;
    let port: number;
    beforeAll(async () => {
      ({ port } = await lab.server());
      admin = lab.client(port);
    });

    it('keeps the registry in the database of its options, without their prefix', async () => {
      await admin.flushall();
      const support = lab.support({ redis: await make(port, elsewhere), namespace: 'shop' });
      await support.getNextWorkId(request());
      expect(await admin.keys('*')).toEqual([]);
      const other = lab.client(port, { db: 3 });
      expect(await other.keys('*')).toEqual(['snowflake:{shop}:registry']);
      expect(support.location).toContain(`:${port}, database 3`);
      expect(support.location).toContain(`by ${MADE_BY[name]}`);
    });

    it('stays in database 0 if it cannot be refused', async () => {
      const redis = await make(port, elsewhere);
      const elsewhereCount = async () =>
        String(await admin.client('LIST')).match(/ db=3 /g)?.length ?? 0;
      const before = await elsewhereCount();
      await lab.support({ redis }).getNextWorkId(request());
      expect(await elsewhereCount()).toBe(before);
    });

    it('distinguishes an unexpected reply from an unreachable server', async () => {
      const support = lab.support({ redis: await make(port, {}), namespace: 'spoilt' });
      await support.getNextWorkId(request());
      await admin.hset(support.key, 'epoch', 'soon');
      expect(await failureOf(support.getNextWorkId(request()))).toMatchObject({
        details: { refusal: 'unexpected' },
      });
    });

    it('wakes callers that wait for a lock', async () => {
      const own = { redis: await make(port, {}), namespace: randomUUID(), lossWindowMs: 0 };
      const [locks, other] = [redisLocks(own), redisLocks(own)];
      const holder = randomUUID();
      let answer = await locks.acquire({ ...HELD, holder });
      while (answer.status === 'wait') answer = await locks.acquire({ ...HELD, holder });
      if (answer.status !== 'ok') throw new Error(answer.status);
      const waiting = other.untilReleased('job', 60_000, new AbortController().signal);
      await until(async () => {
        const [, count] = (await admin.call('PUBSUB', 'NUMSUB', `${other.key}:job`)) as number[];
        return count === 1;
      });
      await locks.release({ lock: 'job', holder, token: answer.token });
      await waiting;
      expect(await other.locks()).toEqual([]);
      await Promise.all([locks.close(), other.close()]);
    });

    it('reports why the server refuses', async () => {
      const support = lab.support({ redis: await make(port, {}), namespace: 'wrong' });
      await admin.set(support.key, 'something else');
      expect(await failureOf(support.getNextWorkId(request()))).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        details: { refusal: 'wrong-type' },
      });
    });

    it('reports an unreachable server, and leases once it is reachable', async () => {
      const server = await lab.server();
      const redis = await make(server.port, GIVES_UP[name]!(server.port));
      const support = lab.support({ redis, namespace: 'away' });
      await server.stop();
      const failure = await failureOf(support.getNextWorkId(request()));
      expect(failure).toMatchObject({ retryable: true, details: { refusal: 'unreachable' } });
      const again = await startRedis({ port: server.port });
      const leased = async () => (await support.workers().catch(() => undefined)) !== undefined;
      await until(leased);
      expect(await support.getNextWorkId(request())).toMatchObject({ status: 'ok' });
      await again.stop();
    });

    it('works after its connections were cut', async () => {
      const server = await lab.server();
      const client = await make(server.port, GIVES_UP[name]!(server.port));
      const support = lab.support({ redis: client, namespace: 'cut' });
      const asked = request();
      const lease = held(asked, await support.getNextWorkId(asked));
      const operator = lab.client(server.port);
      await operator.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      const renewed = () => support.refreshAlive(lease).catch(() => undefined);
      await until(async () => (await renewed()) !== undefined);
      expect(await support.workers()).toHaveLength(1);
      await support.close();
    });
  });

  describe('on a Cluster', () => {
    let admin: Redis;
    let port: number;
    beforeAll(async () => {
      ({ port } = await lab.clusterNode());
      admin = lab.client(port);
    });
    beforeEach(() => admin.flushall());

    it.each([
      ['node-redis 6', cluster(six), { keyPrefix: 'other:' }],
      ['node-redis 5', cluster(five), {}],
      ['iovalkey', iovalkeyCluster, { keyPrefix: 'other:' }],
      ['Valkey GLIDE', glideCluster, {}],
    ] as const)('routes to the slot of the namespace, by %s', async (_name, make, prefix) => {
      const answers = await answersBy(await make(port, prefix), () => admin.script('FLUSH'));
      expect(answers).toMatchObject(ANSWERS);
      const keys = await admin.keys('*');
      expect(keys).toHaveLength(3);
      expect(keys.filter((key) => !key.startsWith('snowflake:{'))).toEqual([]);
    });

    // A read from a replica may return outdated data, and hides losses.
    it.each([
      ['node-redis 6', node(six), { readonly: true }],
      ['node-redis 5', node(five), { readonly: true }],
      ['iovalkey', iovalkey, { readOnly: true }],
    ] as const)('does not read from a replica, by %s', async (_name, make, options) => {
      const support = lab.support({ redis: await make(port, options) });
      await support.getNextWorkId(request());
      expect(String(await admin.client('LIST'))).not.toMatch(/ flags=\w*r/);
    });
  });

  // The strategy may end the process, or wait as long as it likes.
  it.each([
    ['node-redis 6', node(six)],
    ['node-redis 5', node(five)],
  ] as const)('reconnects without the strategy that is given to %s', async (_name, make) => {
    const { port } = await lab.server();
    const asked: number[] = [];
    const reconnectStrategy = (retries: number) => asked.push(retries);
    const support = lab.support({
      redis: await make(port, { socket: { host, port, reconnectStrategy } }),
    });
    await support.workers();
    await lab.client(port).call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await until(async () => (await support.workers()).length === 0);
    expect(asked).toEqual([]);
  });

  it('makes Valkey GLIDE use the master, although it would read from a replica', async () => {
    const master = await lab.server('--maxmemory-policy', 'allkeys-lru');
    const replica = await lab.server('--replicaof', host, String(master.port));
    const admin = lab.client(replica.port);
    await until(async () => (await admin.info('replication')).includes('master_link_status:up'));
    const addresses = [master, replica].map(({ port }) => ({ host, port }));
    const redis = await glide(master.port, { addresses, readFrom: 'preferReplica' });
    const support = lab.support({ redis });
    // Another replica would be next each time.
    for (const _ of [1, 2, 3]) expect((await support.advice()).join()).toContain('allkeys-lru');
  });

  it.each([
    ['node-redis 6', node(six)],
    ['node-redis 5', node(five)],
    ['a Cluster of node-redis 6', cluster(six)],
    ['a Cluster of node-redis 5', cluster(five)],
    ['Valkey GLIDE', lazyGlide(glide)],
    ['a Cluster of Valkey GLIDE', lazyGlide(glideCluster)],
  ] as const)('reports what is wrong with the login of %s', async (name, make) => {
    const server = name.startsWith('a Cluster')
      ? await lab.clusterNode('--requirepass', 'right')
      : await lab.server('--requirepass', 'right');
    const login = (password?: string) => {
      const given = password === undefined ? {} : { password };
      if (name.endsWith('GLIDE')) return make(server.port, { credentials: given });
      return make(server.port, name.startsWith('a Cluster') ? { defaults: given } : given);
    };
    const cases = [
      [undefined, 'no-password'],
      ['wrong', 'wrong-password'],
    ] as const;
    for (const [password, refusal] of cases) {
      const support = lab.support({ redis: await login(password) });
      const failure = await failureOf(support.getNextWorkId(request()));
      expect(failure).toMatchObject({ retryable: false, details: { refusal } });
    }
    const support = lab.support({ redis: await login('right') });
    expect(await support.getNextWorkId(request())).toMatchObject({ status: 'ok' });
  });

  describe('a user without the right to INFO', () => {
    const user = ['ACL', 'SETUSER', 'app', 'on', '>pw', '~*', '&*', '+@all', '-info'] as const;
    async function refused(redis: GivenClient, keepsWrites: boolean) {
      const asked = lab.support({ redis, keepsWrites }).getNextWorkId(request());
      const failure = await failureOf(asked);
      expect(failure).toMatchObject({ retryable: false, details: { refusal: 'permission' } });
      expect(failure.message).toContain('GLIDE does not connect without +info|replication');
    }

    it.each(UNTOLD)('leases if writes are kept, by %s', async (name, make, login) => {
      const { port } = await (name.startsWith('a Cluster') ? lab.clusterNode() : lab.server());
      await lab.client(port).call(...user);
      const redis = await make(port, login);
      await refused(redis, false);
      const kept = lab.support({ redis, keepsWrites: true });
      expect(await kept.getNextWorkId(request())).toMatchObject({ status: 'ok' });
    });

    it('connects through GLIDE with a part of that right', async () => {
      const { port } = await lab.server();
      const admin = lab.client(port);
      await admin.call(...user);
      const redis = await lazyGlide(glide)(port, { credentials: LOGIN });
      await refused(redis, true);
      await admin.call('ACL', 'SETUSER', 'app', '+info|replication');
      await refused(redis, false);
      const kept = lab.support({ redis, keepsWrites: true });
      expect(await kept.getNextWorkId(request())).toMatchObject({ status: 'ok' });
    });
  });

  describe('node-redis by Sentinel', () => {
    it('6 uses the database of its options, without their prefix', async () => {
      const master = await lab.server();
      const { port } = await lab.sentinel(master.port);
      const options = { keyPrefix: 'other:', nodeClientOptions: { database: 3 } };
      const support = lab.support({ redis: await sentinel(six)(port, options), namespace: 'shop' });
      await support.getNextWorkId(request());
      const admin = lab.client(master.port, { db: 3 });
      expect(await admin.keys('*')).toEqual(['snowflake:{shop}:registry']);
      expect(support.location).toContain(`${host}:${port}, database 3`);
    });
  });

  it('hides the password of a Cluster URL in server replies', async () => {
    const rootNodes = [{ url: 'redis://app:p%40ss%2Fword@127.0.0.1:1' }];
    const redis = await cluster(six)(1, { rootNodes });
    expect(libraryOf(redis)?.locate(redis)).toMatchObject({
      where: '127.0.0.1:1',
      secrets: ['p@ss/word'],
    });
  });

  it('refuses a pool, and anything that is no client', () => {
    // The shape of an ioredis-mock client.
    const mock = { customCommand: () => undefined };
    const others = [six.createClientPool(), mock, {}, 7, null];
    for (const redis of others as unknown as GivenClient[]) {
      expect(() => redisSupport({ redis })).toThrow(/Expected `redis` to be a URL or a client of/);
    }
  });
});

const places = new RedisLab();
const server = await places.server();
const { port: sentinelPort } = await places.sentinel(server.port);
const { port: clusterPort } = await places.clusterNode();
/** Clients whose adapter another client covers: only with `EVERY_CLIENT=1`. */
const MORE: readonly (readonly [string, Making, number])[] = [
  ['iovalkey, Sentinel', iovalkeyOfSentinel, sentinelPort],
  ['node-redis 5, Cluster', cluster(five), clusterPort],
  ['iovalkey, Cluster', iovalkeyCluster, clusterPort],
];
const ioredisFive: Making = (port, options) => quiet(new Ioredis({ host, port, ...options }));
const valkeyPort = Number(new URL(process.env['VALKEY_URL']!).port);
const ON_VALKEY = [...ONE, ['ioredis 6', ioredisSix] as const, ['ioredis 5', ioredisFive] as const];
/** Each with its port. */
const ALL: readonly (readonly [string, Making, number])[] = [
  ...ONE.map(([name, make]) => [name, make, server.port] as const),
  ['ioredis 6', ioredisSix, server.port],
  ['node-redis 6, Sentinel', sentinel(six), sentinelPort],
  ['ioredis 6, Sentinel', sixOfSentinel, sentinelPort],
  ['node-redis 6, Cluster', cluster(six), clusterPort],
  ['ioredis 6, Cluster', sixOfCluster, clusterPort],
  ['Valkey GLIDE, Cluster', glideCluster, clusterPort],
  ...ON_VALKEY.map(([name, make]) => [`${name}, on Valkey`, make, valkeyPort] as const),
  ...(process.env['EVERY_CLIENT'] === '1' ? MORE : []),
];
const given = await Promise.all(
  ALL.map(async ([name, make, port]) => [name, await make(port, {})] as const),
);
const closingGiven = closing.splice(0);

describe.each(given)('by %s', (_name, redis) => {
  describeContractsBy(redis);
});

it('identifies a Valkey, and doctor names it', async () => {
  const client = places.client(valkeyPort);
  const [, version] = /^valkey_version:(\S+)/m.exec(await client.info('server'))!;
  const inspector = inspectorFromUrl(process.env['VALKEY_URL']!);
  const [found] = await inspector.findings();
  await inspector.close();
  expect(found).toMatchObject({
    level: 'ok',
    text: `Valkey ${version}, asked by the package ioredis.`,
  });
});

afterAll(async () => {
  for (const close of closingGiven) close();
  await places.end();
});

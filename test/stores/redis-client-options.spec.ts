/**
 * Every option of an application's client either works or is refused with the reason. If it works,
 * worker IDs, numbers and locks use it, and another process sees them. This file is one table, with
 * a row for each option and a column for each client.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import {
  ClientSideCache,
  Decoder,
  GlideClient,
  GlideClusterClient,
  ProtocolVersion,
} from '@valkey/valkey-glide';
import * as ioredis5 from 'ioredis';
import * as ioredis6 from 'ioredis-6';
import * as iovalkey from 'iovalkey';
import * as redis6 from 'redis';
import * as redis5 from 'redis-5';
import {
  redisCounters,
  redisLocks,
  redisSupport,
  type GivenClient,
} from '../../lib/stores/redis/index.js';
import { freePort } from '../../scripts/servers/ports.mjs';
import { Certificates } from './network.js';
import { failureOf, HELD, RedisLab, request, TAKEN, until } from './redis-lab.js';

const host = '127.0.0.1';
const lab = new RedisLab();
const certificates = new Certificates();
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing) close();
  await lab.end();
  certificates.remove();
});

const quiet = <C extends { on(event: 'error', listener: () => void): unknown }>(client: C): C => {
  client.on('error', () => undefined);
  return client;
};
type Making = (port: number, options: object) => GivenClient | Promise<GivenClient>;

/** How to create each client for one server, a Cluster, and Sentinels. */
interface Makings {
  readonly one: Making;
  readonly cluster: Making;
  readonly sentinel?: Making;
}
const kept = <C extends object>(client: C, close: (client: C) => unknown): C => {
  closing.push(() => close(client));
  return client;
};

function ofIoredis(library: typeof ioredis5 | typeof ioredis6 | typeof iovalkey): Makings {
  const { Redis, Cluster } = library as typeof ioredis5;
  const made = (client: InstanceType<typeof Redis> | InstanceType<typeof Cluster>) =>
    kept(quiet(client), (one) => one.disconnect());
  return {
    one: (port, options) => made(new Redis({ port, host, ...options })),
    cluster: (port, options) => made(new Cluster([{ host, port }], options)),
    sentinel: (port, options) =>
      made(new Redis({ sentinels: [{ host, port }], name: 'mymaster', ...options })),
  };
}

function ofNode(library: typeof redis6 | typeof redis5): Makings {
  const { createClient, createCluster, createSentinel } = library as typeof redis6;
  return {
    one: (port, { socket, ...options }: { socket?: object }) =>
      quiet(createClient({ socket: { host, port, ...socket }, ...options })),
    cluster: (port, options) =>
      quiet(createCluster({ rootNodes: [{ socket: { host, port } }], ...options })),
    sentinel: (port, options) => {
      const sentinelRootNodes = [{ host, port }];
      return quiet(createSentinel({ name: 'mymaster', sentinelRootNodes, ...options }));
    },
  };
}

const ofGlide: Makings = {
  one: async (port, options) => {
    const client = await GlideClient.createClient({ addresses: [{ host, port }], ...options });
    return kept(client, (one) => one.close());
  },
  cluster: async (port, options) => {
    const addresses = [{ host, port }];
    const client = await GlideClusterClient.createClient({ addresses, ...options });
    return kept(client, (one) => one.close());
  },
};

const CLIENTS = {
  'ioredis 5': ofIoredis(ioredis5),
  'ioredis 6': ofIoredis(ioredis6),
  iovalkey: ofIoredis(iovalkey),
  'redis 6': ofNode(redis6),
  'redis 5': ofNode(redis5),
  GLIDE: ofGlide,
} as const satisfies Record<string, Makings>;
type Client = keyof typeof CLIENTS;
const NAMES = Object.keys(CLIENTS) as Client[];

const SHAPE_OF_IOREDIS = ['ioredis 5', 'ioredis 6', 'iovalkey'] as const;
const like = (given: object, ...clients: readonly Client[]): Partial<Record<Client, object>> =>
  Object.fromEntries(clients.map((name) => [name, given]));

/** The options by client. A client that is absent has no such option. */
type Row = readonly [option: string, given: Partial<Record<Client, object>>];

/** The options of clients with the same shape. */
function row(option: string, ioredis?: object, node?: object, glide?: object): Row {
  const given = {
    ...(ioredis && { 'ioredis 5': ioredis, 'ioredis 6': ioredis, iovalkey: ioredis }),
    ...(node && { 'redis 6': node, 'redis 5': node }),
    ...(glide && { GLIDE: glide }),
  };
  return [option, given];
}
const NONE = undefined;
/** GLIDE receives messages only by RESP3. */
const DEAF = 'RESP2, by which it is told of no release';
const BACKOFF = { numberOfRetries: 1, factor: 1, exponentBase: 2 };
const TEN_MINUTES = () => 600_000;
const IN_TEN_MINUTES = { numberOfRetries: 1, factor: 600_000, exponentBase: 1 };
const APP = { username: 'app', password: 'pw' };

const OF_ONE: readonly Row[] = [
  row('none', {}, {}, {}),
  row('no retry', { retryStrategy: () => null }, { socket: { reconnectStrategy: false } }),
  row(
    'ten minutes until a retry',
    { retryStrategy: TEN_MINUTES },
    { socket: { reconnectStrategy: TEN_MINUTES } },
    { connectionBackoff: IN_TEN_MINUTES },
  ),
  row('an error as a reason to reconnect', { reconnectOnError: () => 2 }),
  row('no offline queue', { enableOfflineQueue: false }, { disableOfflineQueue: true }),
  row('a queue of one', NONE, { commandsQueueMaxLength: 1 }, { inflightRequestsLimit: 1 }),
  row('reading alone', NONE, NONE, { readOnly: true }),
  row('auto-pipelining', { enableAutoPipelining: true }),
  row('RESP2', NONE, { RESP: 2 }),
  [DEAF, { GLIDE: { protocol: ProtocolVersion.RESP2 } }],
  row('RESP3', NONE, { RESP: 3 }, { protocol: ProtocolVersion.RESP3 }),
  ['RESP2', { 'ioredis 6': { protocol: 2 } }],
  ['RESP3, its types', { 'ioredis 6': { protocol: 3, replyMapping: 'resp3' } }],
  row('replicas that read', { readOnly: true }, { readonly: true }, { readFrom: 'preferReplica' }),
  ['a key prefix', like({ keyPrefix: 'other:' }, ...SHAPE_OF_IOREDIS, 'redis 6')],
  row(
    'a time limit',
    { commandTimeout: 5000 },
    { commandOptions: { timeout: 5000 } },
    { requestTimeout: 5000 },
  ),
  row('a database', { db: 3 }, { database: 3 }, { databaseId: 3 }),
  row('no limit of retries', { maxRetriesPerRequest: null }),
  row('no retry', { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false }),
  row('a name', { connectionName: 'shop' }, { name: 'shop' }, { clientName: 'shop' }),
  row(
    'a cache of its own',
    NONE,
    { RESP: 3, clientSideCache: { ttl: 0, maxEntries: 0 } },
    { clientSideCache: ClientSideCache.create(1024, 0) },
  ),
  row('news of what others change', NONE, { RESP: 3, emitInvalidate: true }),
  row('no connection yet', { lazyConnect: true }, NONE, { lazyConnect: true }),
  row('no check whether it is ready', { enableReadyCheck: false }),
  row(
    'types of answers',
    { stringNumbers: true },
    { commandOptions: { typeMapping: { [58]: String, [36]: Buffer } } },
    { defaultDecoder: Decoder.Bytes },
  ),
  row('a user', APP, APP, { credentials: APP }),
  row('a user that is asked for', NONE, {
    credentialsProvider: { type: 'async-credentials-provider', credentials: async () => APP },
  }),
  row('a ping', { keepAlive: 10 }, { pingInterval: 50 }, { connectionBackoff: BACKOFF }),
  row('commands of its own', { scripts: { own: { lua: 'return 1', numberOfKeys: 0 } } }),
  row('a way to show errors', { showFriendlyErrorStack: true }),
];

/** TLS and a path lead to the same server. */
const places = (port: number, path: string, ca: Buffer): readonly Row[] => [
  row(
    'TLS by an authority of its own',
    { port, tls: { ca } },
    { socket: { port, tls: true, ca } },
    {
      addresses: [{ host, port }],
      useTLS: true,
      advancedConfiguration: { tlsAdvancedConfiguration: { rootCertificates: ca } },
    },
  ),
  row('a path', { path }, { socket: { path } }),
];

const OF_CLUSTER: readonly Row[] = [
  row('none', {}, {}, {}),
  row(
    'replicas that read',
    { scaleReads: 'slave' },
    { useReplicas: true },
    { readFrom: 'preferReplica' },
  ),
  ['a key prefix', like({ keyPrefix: 'other:' }, ...SHAPE_OF_IOREDIS, 'redis 6')],
  row(
    'a time limit',
    { redisOptions: { commandTimeout: 5000 } },
    { commandOptions: { timeout: 5000 } },
    { requestTimeout: 5000 },
  ),
  row(
    'no retry',
    { clusterRetryStrategy: () => null, redisOptions: { reconnectOnError: () => 2 } },
    { defaults: { socket: { reconnectStrategy: false } } },
    { connectionBackoff: BACKOFF },
  ),
  row(
    'ten minutes until a retry',
    {
      clusterRetryStrategy: TEN_MINUTES,
      clusterNodeRetryStrategy: TEN_MINUTES,
      redisOptions: { retryStrategy: TEN_MINUTES },
      retryDelayOnFailover: 600_000,
    },
    { defaults: { socket: { reconnectStrategy: TEN_MINUTES } } },
    { connectionBackoff: IN_TEN_MINUTES },
  ),
  row(
    'no offline queue',
    { enableOfflineQueue: false, lazyConnect: true },
    { defaults: { disableOfflineQueue: true } },
  ),
  row('auto-pipelining', { enableAutoPipelining: true }),
  row('RESP3', NONE, { RESP: 3 }, { protocol: ProtocolVersion.RESP3 }),
  ['RESP3', { 'ioredis 6': { redisOptions: { protocol: 3, replyMapping: 'resp3' } } }],
  row(
    'no redirections',
    { maxRedirections: 1 },
    { maxCommandRedirections: 1, minimizeConnections: true },
    { periodicChecks: 'disabled' },
  ),
  row(
    'types of answers',
    { redisOptions: { stringNumbers: true } },
    { RESP: 3, commandOptions: { typeMapping: { [58]: String, [36]: Buffer } } },
    { defaultDecoder: Decoder.Bytes },
  ),
  row(
    'a cache of its own',
    NONE,
    { RESP: 3, clientSideCache: { ttl: 0, maxEntries: 0 } },
    { clientSideCache: ClientSideCache.create(1024, 0) },
  ),
  row(
    'a name',
    { redisOptions: { connectionName: 'shop' } },
    { defaults: { name: 'shop' } },
    { clientName: 'shop' },
  ),
];

const OF_SENTINEL: readonly Row[] = [
  ['none', like({}, ...SHAPE_OF_IOREDIS, 'redis 6')],
  [
    'replicas that read',
    {
      ...like({ role: 'slave' }, ...SHAPE_OF_IOREDIS),
      'redis 6': { replicaPoolSize: 1 },
    },
  ],
  ['a key prefix', like({ keyPrefix: 'other:' }, ...SHAPE_OF_IOREDIS, 'redis 6')],
  [
    'Sentinels that are asked once',
    like(
      { sentinelRetryStrategy: () => null, updateSentinels: false },
      'ioredis 5',
      'ioredis 6',
      'iovalkey',
    ),
  ],
  ['a pool', { 'redis 6': { masterPoolSize: 2, reserveClient: true } }],
  [
    'types of answers',
    { 'redis 6': { RESP: 3, commandOptions: { typeMapping: { [58]: String, [36]: Buffer } } } },
  ],
  [
    'no offline queue',
    {
      ...like({ enableOfflineQueue: false }, ...SHAPE_OF_IOREDIS),
      'redis 6': { nodeClientOptions: { disableOfflineQueue: true } },
    },
  ],
  ['auto-pipelining', like({ enableAutoPipelining: true }, ...SHAPE_OF_IOREDIS)],
  [
    'an error as a reason to reconnect',
    like({ reconnectOnError: () => 2, retryStrategy: () => null }, ...SHAPE_OF_IOREDIS),
  ],
  ['RESP3', { 'ioredis 6': { protocol: 3, replyMapping: 'resp3' }, 'redis 6': { RESP: 3 } }],
  ['a queue of one', { 'redis 6': { nodeClientOptions: { commandsQueueMaxLength: 1 } } }],
  ['no retry', { 'redis 6': { nodeClientOptions: { socket: { reconnectStrategy: false } } } }],
  [
    'ten minutes until a retry',
    {
      ...like(
        { retryStrategy: TEN_MINUTES, sentinelRetryStrategy: TEN_MINUTES },
        ...SHAPE_OF_IOREDIS,
      ),
      'redis 6': {
        nodeClientOptions: { socket: { reconnectStrategy: TEN_MINUTES } },
        sentinelClientOptions: { socket: { reconnectStrategy: TEN_MINUTES } },
      },
    },
  ],
  [
    'a time limit',
    {
      ...like({ commandTimeout: 5000 }, ...SHAPE_OF_IOREDIS),
      'redis 6': { commandOptions: { timeout: 5000 } },
    },
  ],
  [
    'a database',
    { ...like({ db: 3 }, ...SHAPE_OF_IOREDIS), 'redis 6': { nodeClientOptions: { database: 3 } } },
  ],
];

/** Refused before the first request, with this message. */
const REFUSED: readonly [...Row, kind: keyof Makings, reason: RegExp][] = [
  [
    'a Cluster in a database',
    {
      ...like({ lazyConnect: true, redisOptions: { db: 3 } }, ...SHAPE_OF_IOREDIS),
      ...like({ defaults: { database: 3 } }, 'redis 6', 'redis 5'),
    },
    'cluster',
    /a Cluster has only database 0, but its/,
  ],
  [
    'no database',
    {
      ...like({ lazyConnect: true, db: -1 }, ...SHAPE_OF_IOREDIS),
      ...like({ database: -1 }, 'redis 6', 'redis 5'),
    },
    'one',
    /its option `(db|database)` is -1/,
  ],
  ['a Sentinel', { 'redis 5': {} }, 'sentinel', /makes no second connection. Use node-redis 6/],
];

/** If the server refuses it, each client reports the reason. */
const REFUSED_BY_SERVER: readonly Row[] = [
  row(
    'wrong-password',
    { username: 'app', password: 'no', lazyConnect: true },
    { username: 'app', password: 'no' },
  ),
  row(
    'permission',
    { username: 'poor', password: 'pw', lazyConnect: true },
    { username: 'poor', password: 'pw' },
    { credentials: { username: 'poor', password: 'pw' } },
  ),
  row('database', { db: 99, lazyConnect: true }, { database: 99 }),
];

const authority = certificates.authority('ca');
const { cert, key } = certificates.server('redis', `IP:${host}`, 'ca');
const socketPath = certificates.file('redis.sock');
const tlsPort = await freePort();
const TLS = `--tls-port ${tlsPort} --tls-auth-clients no --tls-ca-cert-file ${authority}`;
const OF_SERVER = `--tls-cert-file ${cert} --tls-key-file ${key} --unixsocket ${socketPath}`;
const USERS = '--user app on >pw ~* &* +@all --user poor on >pw ~* +@all -eval -evalsha';
const { port } = await lab.server(...`${TLS} ${OF_SERVER} ${USERS}`.split(' '));
const rowsOfOne = [...OF_ONE, ...places(tlsPort, socketPath, readFileSync(authority))];

const clusterPort = (await lab.clusterNode()).port;
const sentinelPort = (await lab.sentinel(port)).port;

/**
 * The results of two processes, one with an application's client and one with a URL. Between calls,
 * the scripts are flushed and the connections cut.
 */
async function gotBy(redis: GivenClient, url: string, admin: ioredis5.Redis, option: string) {
  const namespace = randomUUID();
  const windows = { failoverWindowMs: 0, clockDifferenceMs: 0 };
  const storesOf = (given: GivenClient | string) => ({
    support: redisSupport({ redis: given, namespace, ...windows }),
    counters: redisCounters({ redis: given, namespace, lossWindowMs: 0 }),
    locks: redisLocks({ redis: given, namespace, lossWindowMs: 0 }),
  });
  const [own, other] = [storesOf(redis), storesOf(url)];
  try {
    const leases = await Promise.all(
      [own, other].map(({ support }) => support.getNextWorkId(request())),
    );
    await admin.script('FLUSH');
    const taken = [await own.counters.take(TAKEN), await other.counters.take(TAKEN)];
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const listed = () => Promise.all([own.support.workers(), other.support.workers()]);
    await until(async () => (await listed()).length === 2);
    const asked = { ...HELD, holder: randomUUID(), ttlMs: 60_000, longestMs: 60_000 };
    // A new store of locks waits for possible earlier holders.
    const first = () => own.locks.acquire({ ...asked, ttlMs: 1, longestMs: 1 });
    await until(async () => (await first()).status === 'ok');
    const lock = await own.locks.acquire(asked);
    const denied = await other.locks.acquire({ ...asked, holder: randomUUID() });
    const waiting = new AbortController();
    const woken = own.locks.untilReleased('job', 60_000, waiting.signal);
    const channel = `${own.locks.key}:job`;
    const listeners = async () => (await admin.call('PUBSUB', 'NUMSUB', channel)) as unknown[];
    if (option === DEAF) waiting.abort();
    else await until(async () => (await listeners())[1] === 1);
    if (lock.status === 'ok') await other.locks.release({ ...asked, token: lock.token });
    await woken;
    const ids = leases.map((lease) => lease.status === 'ok' && lease.workerId);
    return {
      areDistinct: new Set(ids).size === 2,
      numbers: taken.map((answer) => ('first' in answer ? answer.first : answer.status)),
      locks: [lock.status, denied.status],
      seenCount: (await other.support.workers()).filter((one) => ids.includes(one.workerId)).length,
      advice: await own.support.advice(),
    };
  } finally {
    const stores = [own, other].flatMap((one) => Object.values(one));
    await Promise.all(stores.map((store) => store.close()));
  }
}

const GOT = {
  areDistinct: true,
  numbers: [1n, 2n],
  locks: ['ok', 'held'],
  seenCount: 2,
  advice: [],
};

const having = (rows: readonly Row[], name: Client) => rows.filter(([, given]) => name in given);
const withRows = (rows: readonly Row[]) => NAMES.filter((name) => having(rows, name).length > 0);

describe.each(NAMES)('%s may have', (name) => {
  it.each(having(rowsOfOne, name))('%s', async (option, given) => {
    const url = `redis://${host}:${port}${option === 'a database' ? '/3' : ''}`;
    const client = await CLIENTS[name].one(port, given[name]!);
    expect(await gotBy(client, url, lab.client(port), option)).toEqual(GOT);
  });
});

describe.each(NAMES)('a Cluster of %s may have', (name) => {
  it.each(having(OF_CLUSTER, name))('%s', async (option, given) => {
    const client = await CLIENTS[name].cluster(clusterPort, given[name]!);
    const url = `redis+cluster://${host}:${clusterPort}`;
    expect(await gotBy(client, url, lab.client(clusterPort), option)).toEqual(GOT);
  });
});

describe.each(withRows(OF_SENTINEL))('%s by Sentinel may have', (name) => {
  const { sentinel } = CLIENTS[name] as Makings;
  it.each(having(OF_SENTINEL, name))('%s', async (option, given) => {
    const path = option === 'a database' ? 'mymaster/3' : 'mymaster';
    const url = `redis+sentinel://${host}:${sentinelPort}/${path}`;
    const client = await sentinel!(sentinelPort, given[name]!);
    expect(await gotBy(client, url, lab.client(port), option)).toEqual(GOT);
  });
});

describe.each(REFUSED)('refused with the reason is %s', (_, given, kind, reason) => {
  it.each(Object.keys(given) as Client[])('of %s', async (name) => {
    const redis = await (CLIENTS[name] as Makings)[kind]!(port, given[name]!);
    expect(() => redisSupport({ redis })).toThrow(reason);
  });
});

it.each(SHAPE_OF_IOREDIS)('%s is refused that was switched by select()', async (name) => {
  const redis = (await CLIENTS[name].one(port, {})) as ioredis5.Redis;
  await redis.select(3);
  expect(() => redisSupport({ redis })).toThrow(
    /database 0 and then switched to 3 \(number\) by select\(\)/,
  );
});

it.each([redis6, redis5])('a pool is refused', (library) => {
  const redis = (library as typeof redis6).createClientPool() as unknown as GivenClient;
  expect(() => redisSupport({ redis })).toThrow(/Expected `redis` to be a URL or a client of /);
});

describe.each(withRows(REFUSED_BY_SERVER))('%s reports a refusal of the server', (name) => {
  it.each(having(REFUSED_BY_SERVER, name))('%s', async (refusal, given) => {
    const redis = await CLIENTS[name].one(port, given[name]!);
    const support = lab.support({ redis });
    const failure = await failureOf(support.getNextWorkId(request()));
    expect(failure).toMatchObject({ retryable: false, details: { refusal } });
  });
});

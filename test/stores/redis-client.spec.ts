/**
 * The library's connection. It copies the application's client or uses a URL, with its login and
 * TLS. It reports refusals, and disappears when it is closed. The connection is the same in every
 * case, so one file covers it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import * as glide from '@valkey/valkey-glide';
import * as ioredis5 from 'ioredis';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import * as ioredis6 from 'ioredis-6';
import * as iovalkey from 'iovalkey';
import * as redis6 from 'redis';
import * as redis5 from 'redis-5';
import type { RedisClient } from '../../lib/stores/redis/clients/redis-client.js';
import { ClientLife, failoverEpoch, SILENCE_MS } from '../../lib/stores/redis/client-life.js';
import type { ClientLibrary } from '../../lib/stores/redis/clients/redis-client.js';
import { GLIDE } from '../../lib/stores/redis/clients/glide.js';
import { IOREDIS } from '../../lib/stores/redis/clients/ioredis.js';
import { NODE_REDIS } from '../../lib/stores/redis/clients/node-redis.js';
import { redisCounters } from '../../lib/stores/redis/index.js';
import { locationOfUrl } from '../../lib/stores/redis/redis-client.js';
import { RedisConnection } from '../../lib/stores/redis/redis-connection.js';
import { parseRedisUrl } from '../../lib/stores/redis/redis-url.js';
import { supportFromUrl } from '../../lib/stores/redis/redis.support.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { freePort } from '../../scripts/servers/ports.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { failureOf, RedisLab, request, TAKEN, until, held } from './redis-lab.js';

describe('redis client', () => {
  const lab = new RedisLab();
  afterAll(() => lab.end());

  describe('a Cluster with a password', () => {
    let port: number;
    beforeAll(async () => {
      ({ port } = await lab.clusterNode('--requirepass', 'right'));
    });

    it('connects by URL and through a given client, whose prefix has no effect', async () => {
      const namespace = 'shop';
      const startup = [{ host: '127.0.0.1', port }];
      const given = [
        { redisOptions: { password: 'right', keyPrefix: 'inner:' } },
        { redisOptions: { password: 'right' }, keyPrefix: 'outer:' },
      ].map((options) => new Cluster(startup, { ...options, lazyConnect: true }));
      const url = `redis+cluster://:right@127.0.0.1:${port}`;
      for (const redis of [url, ...given]) {
        const answer = await lab.support({ redis, namespace }).getNextWorkId(request());
        expect(answer).toMatchObject({ status: 'ok' });
      }
      expect(await lab.support({ redis: url, namespace }).workers()).toHaveLength(3);
      const admin = lab.client(port, { password: 'right' });
      expect(await admin.keys('*')).toEqual(['snowflake:{shop}:registry']);
    });

    it.each([
      ['redis+cluster://:wrong@', 'wrong-password'],
      ['redis+cluster://', 'no-password'],
    ])('is refused for %s, and a retry does not help', async (scheme, refusal) => {
      const support = lab.support({ redis: `${scheme}127.0.0.1:${port}` });
      const error = await failureOf(support.getNextWorkId(request()));
      expect(error).toMatchObject({ retryable: false, details: { refusal } });
    });
  });

  describe('a Sentinel with its own password', () => {
    it('accepts sentinelPassword, by URL and through a given client', async () => {
      const master = await lab.server('--requirepass', 'inner');
      const lines = ['sentinel auth-pass mymaster inner', 'requirepass "ou&ter"'];
      const { port } = await lab.sentinel(master.port, ...lines);
      const url = `redis+sentinel://:inner@127.0.0.1:${port}/mymaster`;
      const right = lab.support({ redis: `${url}?sentinelPassword=ou%26ter` });
      expect(await right.getNextWorkId(request())).toMatchObject({ status: 'ok' });
      const given = lab.client(0, {
        sentinels: [{ host: '127.0.0.1', port }],
        name: 'mymaster',
        password: 'inner',
        sentinelPassword: 'ou&ter',
        lazyConnect: true,
      });
      const byClient = lab.support({ redis: given });
      expect(await byClient.getNextWorkId(request())).toMatchObject({ status: 'ok' });
      expect(byClient.location).toContain(`127.0.0.1:${port}, database 0`);
      for (const redis of [url, `${url}?sentinelPassword=other`]) {
        const error = await failureOf(lab.support({ redis }).getNextWorkId(request()));
        expect(error).toMatchObject({ retryable: false, details: { refusal: 'sentinel-login' } });
        expect(error.message).toContain('sentinelPassword');
      }
    });
  });

  describe('TLS', () => {
    it('protects the connections to master and Sentinel', async () => {
      const master = await lab.server();
      const { port } = await lab.sentinel(master.port);
      const heard: string[] = [];
      // The reply ends the session. A server that does not understand the request would wait for
      // more data.
      const hear = (text: string) => (heard.push(text), 'QUIT\r\n');
      const listening = await lab.proxy(port, hear);
      const support = lab.support({ redis: `rediss+sentinel://127.0.0.1:${listening}/mymaster` });
      await failureOf(support.getNextWorkId(request()));
      expect(heard.join('')).not.toContain('sentinel');
      // 22 marks a TLS handshake.
      expect(heard[0]?.charCodeAt(0)).toBe(22);
    });

    it('a private CA works through a client and is refused by URL', async () => {
      const { ca, args } = certificates();
      const { port } = await lab.server(...args);
      const tlsPort = await freePort();
      const admin = lab.client(port);
      await admin.config('SET', 'tls-port', String(tlsPort));
      const given = lab.client(tlsPort, { tls: { ca }, lazyConnect: true });
      const byClient = lab.support({ redis: given });
      expect(await byClient.getNextWorkId(request())).toMatchObject({ status: 'ok' });
      const byUrl = lab.support({ redis: `rediss://localhost:${tlsPort}` });
      const error = await failureOf(byUrl.getNextWorkId(request()));
      expect(error).toMatchObject({ retryable: false, details: { refusal: 'tls' } });
    });
  });

  describe('a closed support', () => {
    const connections = async (admin: ReturnType<RedisLab['client']>) =>
      String(await admin.call('CLIENT', 'LIST')).match(/^id=/gm)?.length ?? 0;

    it('opens no connection for a reader', async () => {
      const { port, url } = await lab.server();
      const admin = lab.client(port);
      const support = lab.support({ redis: url });
      await support.workers();
      expect(await connections(admin)).toBe(2);
      await support.close();
      const refusal = { code: 'NOT_READY', retryable: false };
      expect(await failureOf(support.workers())).toMatchObject(refusal);
      expect((await support.advice()).join()).toContain('is closed');
      await until(async () => (await connections(admin)) === 1);
    });

    it('serves the next application that leases, which closes it again', async () => {
      const { port, url } = await lab.server();
      const admin = lab.client(port);
      const support = lab.support({ redis: url });
      const asked = request();
      const lease = held(asked, await support.getNextWorkId(asked));
      await support.close();
      await support.release(lease, undefined);
      expect(await support.workers()).toEqual([
        expect.not.objectContaining({ holder: asked.holder }),
      ]);
      await support.close();
      await until(async () => (await connections(admin)) === 1);
    });

    it('ends pending calls at any stage', async () => {
      const { port, url } = await lab.server();
      const admin = lab.client(port);
      for (const turns of [0, 1, 2, 5, 20]) {
        const support = lab.support({ redis: url });
        const asked = failureOf(
          support.workers().then(() => Promise.reject(new Error('answered'))),
        );
        for (let turn = 0; turn < turns; turn++) await new Promise((done) => setImmediate(done));
        await support.close();
        const { code, message } = await asked;
        expect(code === 'NOT_READY' || message === 'answered').toBe(true);
      }
      await until(async () => (await connections(admin)) === 1);
    });

    it('ends the wait for an unreachable server', async () => {
      const { url, stop } = await lab.server();
      const support = lab.support({ redis: url });
      await support.workers();
      await stop();
      await failureOf(support.workers());
      const asked = failureOf(support.workers());
      await support.close();
      expect(['NOT_READY', 'STORE_UNAVAILABLE']).toContain((await asked).code);
    });
  });

  /** A CA, and the files of a TLS server that is named localhost. */
  function certificates() {
    const folder = mkdtempSync(`${tmpdir()}/snowflake-tls-`);
    const path = (name: string) => `${folder}/${name}`;
    const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
    const own = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'];
    const files = ['-keyout', path('key.pem'), '-out', path('cert.pem')];
    openssl('req', ...own, '-addext', 'subjectAltName=DNS:localhost', ...files);
    const paths = ['--tls-cert-file', path('cert.pem'), '--tls-key-file', path('key.pem')];
    const args = [...paths, '--tls-ca-cert-file', path('cert.pem'), '--tls-auth-clients', 'no'];
    return { ca: readFileSync(path('cert.pem')), args };
  }
});

/* The application client's own decisions. Its options have a separate table. */

describe('a given Redis client', () => {
  const lab = new RedisLab();
  afterAll(() => lab.end());

  /** The shape in ioredis 6. */
  const RESP3 = { protocol: 3, replyMapping: 'resp3' } as RedisOptions;

  describe('a given client for a single Redis', () => {
    let admin: Redis;
    let port: number;
    beforeAll(async () => {
      ({ port } = await lab.server());
      admin = lab.client(port);
    });

    it('decides about retries, except for a missing script', async () => {
      const heard: string[] = [];
      const reconnectOnError = ({ message }: Error) => {
        heard.push(message);
        return 2 as const;
      };
      const support = lab.support({ redis: lab.client(port, { reconnectOnError }) });
      await admin.script('FLUSH');
      await admin.set(support.key, 'something else');
      // A refused option is not requested again.
      expect(await failureOf(support.getNextWorkId(request()))).toMatchObject({
        details: { refusal: 'wrong-type' },
      });
      expect(heard).toEqual([expect.stringMatching(/^WRONGTYPE/)]);
    });

    it('reads the settings of Redis in every reply format', async () => {
      const unsynced = await lab.server('--appendonly', 'yes', '--appendfsync', 'no');
      const counters = redisCounters({ redis: lab.client(unsynced.port, { ...RESP3 }) });
      try {
        const failure = await failureOf(counters.take(TAKEN));
        expect(failure).toMatchObject({ details: { refusal: 'not-synced' } });
      } finally {
        await counters.close();
      }
    });

    it("is refused with a clear message if its limit is below one call's time", async () => {
      const client = lab.client(port, { commandTimeout: 1 });
      const support = lab.support({ redis: client });
      await admin.call('CLIENT', 'PAUSE', 200, 'ALL');
      const failure = await failureOf(support.getNextWorkId(request()));
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
      expect(failure.message).toMatch(/timed out/);
    });
  });
});

/*
 * A TLS connection that is closed during its handshake, as at the shutdown of an application whose
 * Redis has an untrusted certificate.
 */
describe('redis tls', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-tls-'));
  const file = (name: string): string => join(folder, name);
  let stop: () => Promise<void>;
  let url = '';

  beforeAll(async () => {
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const files = [
      '-keyout',
      file('key'),
      '-out',
      file('crt'),
      '-days',
      '2',
      '-subj',
      '/CN=nobody',
    ];
    const made = spawnSync('openssl', ['req', '-x509', ...curve, ...files], { encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`openssl: ${made.stderr || made.error}`);
    const port = await freePort();
    const certificate = ['--tls-cert-file', file('crt'), '--tls-key-file', file('key')];
    const authority = ['--tls-ca-cert-file', file('crt'), '--tls-auth-clients', 'no'];
    const server = await startRedis({
      args: ['--tls-port', String(port), ...certificate, ...authority],
    });
    stop = server.stop;
    url = `rediss://127.0.0.1:${port}`;
  }, 60_000);

  afterAll(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });

  // An unhandled error fails the test, as it would end a process.
  it('never ends the process, at whatever moment it closes', async () => {
    const tryCount = 60;
    let settledCount = 0;
    for (let turnCount = 0; turnCount < tryCount; turnCount++) {
      const support = supportFromUrl(url);
      const asked = support.workers().catch(() => settledCount++);
      for (let count = 0; count < turnCount; count++) await turn();
      await support.close();
      await asked;
    }
    expect(settledCount).toBe(tryCount);
  }, 60_000);
});

/*
 * A Cluster with a master that hangs. Its requests go to the node that takes over, even while other
 * nodes answer. Requests to other nodes are unaffected.
 */
describe('a Cluster master that hangs', () => {
  const lab = new RedisLab();
  const hanging: number[] = [];
  afterEach(() => hanging.splice(0).forEach((pid) => process.kill(pid, 'SIGCONT')));
  afterAll(() => lab.end());

  /** Two masters, of which the first has a replica. */
  async function cluster() {
    const nodes = [];
    for (const slots of [['0', '8191'], ['8192', '16383'], []]) {
      const busPort = await freePort();
      const bus = ['--cluster-port', String(busPort), '--cluster-node-timeout', '60000'];
      const node = await lab.server('--cluster-enabled', 'yes', ...bus);
      const admin = lab.client(node.port);
      if (slots.length > 0) await admin.call('CLUSTER', 'ADDSLOTSRANGE', ...slots);
      nodes.push({ ...node, admin, busPort });
    }
    const [first, second, replica] = nodes as unknown as [Node, Node, Node];
    for (const { port, busPort } of [second, replica]) {
      await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
    }
    const id = String(await first.admin.call('CLUSTER', 'MYID'));
    await until(async () => (await replica.admin.call('CLUSTER', 'REPLICATE', id)) === 'OK');
    await until(async () => (await replica.admin.info('replication')).includes('link_status:up'));
    for (const { admin } of nodes) {
      await until(async () => String(await admin.call('CLUSTER', 'INFO')).includes('state:ok'));
      // These nodes learn of each other through the first one, which may be about to hang.
      await until(async () => {
        const known = String(await admin.call('CLUSTER', 'NODES')).trim();
        return known.split('\n').length === 3 && !/handshake|disconnected/.test(known);
      });
    }
    return { first, second, replica };
  }
  interface Node {
    readonly port: number;
    readonly pid: number;
    readonly busPort: number;
    readonly admin: Redis;
  }

  it.each([
    ['ioredis 5', IOREDIS, ioredis5],
    ['ioredis 6', IOREDIS, ioredis6],
    ['iovalkey', IOREDIS, iovalkey],
    ['redis 6', NODE_REDIS, redis6],
    ['redis 5', NODE_REDIS, redis5],
    ['GLIDE', GLIDE, glide],
  ] as const)('is left by %s', async (_name, library, loaded) => {
    const { answered, takenOver } = await leaves(library, loaded);
    expect(answered).toBe(takenOver);
  });

  it.each([
    ['redis 6', redis6],
    ['redis 5', redis5 as unknown as typeof redis6],
  ])('is left if %s is already requesting its slots', async (_name, { createCluster }) => {
    let asks: ((socket: object) => Promise<void>) | undefined;
    const loaded = {
      createCluster(options: object) {
        const made = createCluster(options as never);
        asks = (socket) => made._slots.rediscover({ options: { socket } } as never);
        return made;
      },
    };
    const { answered, takenOver } = await leaves(NODE_REDIS, loaded, (port) => {
      asks!({ host: '127.0.0.1', port }).catch(() => undefined);
    });
    expect(answered).toBe(takenOver);
  });

  /**
   * @param hangs gets the port of the master once it hangs
   * @return the port of the node that answers at the end, and of the one that took over
   */
  async function leaves(library: ClientLibrary, loaded: object, hangs?: (port: number) => void) {
    const { first, second, replica } = await cluster();
    const ports = [second, first, replica].map(({ port }) => `127.0.0.1:${port}`).join();
    const url = parseRedisUrl(`redis+cluster://${ports}`);
    const time = new SettableTime();
    const build = async () => library.build(url, loaded, 'ioredis');
    const made = new RedisConnection(
      () => new ClientLife(build, { timers: time, monotonic: time }),
      locationOfUrl(url),
    );
    /** The port of the node that serves a key. */
    const portOf = async (key: string) =>
      Number(/tcp_port:(\d+)/.exec((await made.run(SCRIPTS.facts, key, [])).join())![1]);
    const [ofFirst, ofSecond] = ['{b}', '{a}'];
    expect([await portOf(ofFirst), await portOf(ofSecond)]).toEqual([first.port, second.port]);

    process.kill(first.pid, 'SIGSTOP');
    hanging.push(first.pid);
    hangs?.(first.port);
    let answered = 0;
    let asked: Promise<unknown> | undefined;
    const passes = async (ms: number) => {
      asked ??= portOf(ofFirst)
        .then((port) => (answered = port))
        .catch(() => undefined)
        .finally(() => (asked = undefined));
      expect(await portOf(ofSecond)).toBe(second.port);
      await time.advance(ms);
    };
    // Before the takeover, a new search for the slots still leads to the hanging node.
    const others = (max: string) =>
      Promise.all([second, replica].map(({ admin }) => admin.config('SET', 'maxclients', max)));
    await others('1');
    for (let at = 0; at < 40; at++) await passes(SILENCE_MS / 10);
    await others('1000');
    const takeover = ['CLUSTER', 'FAILOVER', 'TAKEOVER'] as const;
    await until(async () => (await replica.admin.call(...takeover)) === 'OK');
    const slots = async () => JSON.stringify(await second.admin.call('CLUSTER', 'SLOTS'));
    await until(async () => !(await slots()).includes(String(first.port)));
    await until(async () => {
      await passes(SILENCE_MS / 100);
      return answered > 0;
    });
    await made.close();
    return { answered, takenOver: replica.port };
  }
});

describe('the number of a failover', () => {
  /** A Sentinel that answers when the test permits. */
  class SlowSentinel {
    settle = async () => undefined;
    call = () => new Promise((resolve) => (this.answer = resolve));
    disconnect = () => (this.isLeft = true);
    isLeft = false;
    private answer: (reply: unknown) => void = () => undefined;

    tells(epoch: number): void {
      this.answer(['name', 'shop', 'config-epoch', String(epoch)]);
    }
  }

  function asked(count: number) {
    const time = new SettableTime();
    const sentinels = Array.from({ length: count }, () => new SlowSentinel());
    const client = { sentinels: async () => ({ masterName: 'shop', clients: sentinels }) };
    const told = failoverEpoch(client as unknown as RedisClient, time);
    let isOver = false;
    const over = told.asked.then(() => (isOver = true));
    return { time, sentinels, told, over, isOver: () => isOver };
  }

  it('waits for a single slow Sentinel', async () => {
    const { time, sentinels, told, over, isOver } = asked(1);
    await time.advance(2900);
    expect(isOver()).toBe(false);
    sentinels[0]!.tells(4);
    await over;
    expect(told.epoch).toBe(5);
    expect([sentinels[0]!.isLeft, time.timerCount]).toEqual([true, 0]);
  });

  it('waits only briefly after the first report, and counts later reports', async () => {
    const { time, sentinels, told, over, isOver } = asked(3);
    await time.advance(0);
    sentinels[1]!.tells(4);
    await time.advance(200);
    expect(isOver()).toBe(false);
    await time.advance(100);
    await over;
    expect(told.epoch).toBe(5);
    sentinels[2]!.tells(5);
    await time.advance(0);
    expect(told.epoch).toBe(6);
    // This Sentinel is outdated, and lowers no number.
    sentinels[0]!.tells(3);
    await time.advance(0);
    expect(told.epoch).toBe(6);
  });

  it('is 0 without a report in time, which delays no call further', async () => {
    const { time, sentinels, told, over } = asked(2);
    await time.advance(3000);
    await over;
    expect(told.epoch).toBe(0);
    expect(sentinels.every(({ isLeft }) => isLeft)).toBe(true);
  });
});

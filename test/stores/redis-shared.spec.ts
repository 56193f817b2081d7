/**
 * All features of one process with the same Redis share one connection. The first user opens it and
 * the last one closes it. No user disturbs another one in between.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { SharedClients } from '../../lib/stores/redis/client-life.js';
import { redisLocks } from '../../lib/stores/redis/index.js';
import { IoredisClient } from '../../lib/stores/redis/clients/ioredis.js';
import { UNDER_WAY_MAX } from '../../lib/stores/redis/redis-connection.js';
import { countersFromUrl } from '../../lib/stores/redis/redis-counters.js';
import { locksFromUrl } from '../../lib/stores/redis/redis-locks.js';
import { supportFromUrl } from '../../lib/stores/redis/redis.support.js';
import { turn } from '../../lib/time/timers.js';
import { freePort } from '../../scripts/servers/ports.mjs';
import { Certificates } from './network.js';
import { failureOf, RedisLab, request, until } from './redis-lab.js';

describe('redis shared', () => {
  const lab = new RedisLab();
  let url: string;
  let port: number;
  let admin: Redis;

  beforeEach(async () => {
    ({ port, url } = await lab.server('--appendonly', 'yes'));
    admin = lab.client(port);
  });
  afterAll(() => lab.end());

  const ofUrl = { support: supportFromUrl, locks: locksFromUrl, counters: countersFromUrl };

  /** Any feature, with a request that each can handle, and that leaves no data. */
  function user(kind: keyof typeof ofUrl, rest = '') {
    const made = ofUrl[kind](`${url}${rest}`);
    return { ask: () => made.advice(), close: () => made.close(), look: () => lookedAt(made) };
  }

  type Made = ReturnType<(typeof ofUrl)[keyof typeof ofUrl]>;

  async function lookedAt(made: Made): Promise<unknown> {
    if ('workers' in made) return made.workers();
    return 'locks' in made ? made.locks() : made.counters();
  }

  /** Without the connections of the test and of a Sentinel. */
  async function connections(of = admin): Promise<number[]> {
    const list = String(await of.call('CLIENT', 'LIST', 'TYPE', 'normal'));
    const own = await of.client('ID');
    const unnamed = [...list.matchAll(/^id=(\d+) .* name= /gm)].map(([, id]) => Number(id));
    return unnamed.filter((id) => id !== own);
  }

  const openedCount = async () =>
    Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))![1]);

  const NOT_READY = { code: 'NOT_READY', retryable: false };

  /** Scripts get no answer until it is over. */
  async function paused<T>(during: () => Promise<T>): Promise<T> {
    await admin.call('CLIENT', 'PAUSE', '600000', 'WRITE');
    const done = await during();
    await admin.call('CLIENT', 'UNPAUSE');
    return done;
  }

  const blocked = async () => Number(/blocked_clients:(\d+)/.exec(await admin.info('clients'))![1]);

  describe('supports that name one Redis', () => {
    it('share one connection, whatever the rest of their URLs', async () => {
      const all = [
        user('support', '/3?namespace=a'),
        user('locks', '?namespace=b'),
        user('counters', '/3?prefix=x:'),
        user('locks', '/0?namespace=a'),
      ];
      for (const one of all) await one.look();
      const [id, ...others] = await connections();
      expect(others).toEqual([]);
      for (const one of all.splice(0, 3)) await one.close();
      await all[0]!.look();
      expect(await connections()).toEqual([id]);
      await all[0]!.close();
      await until(async () => (await connections()).length === 0);
    });

    it('open one connection for concurrent starts', async () => {
      const before = await openedCount();
      const all = Array.from({ length: 50 }, () => user('locks'));
      await Promise.all(all.flatMap((one) => [one.look(), one.ask()]));
      expect((await openedCount()) - before).toBe(1);
      await Promise.all(all.map((one) => one.close()));
      await until(async () => (await connections()).length === 0);
    });

    it('use separate connections for separate logins', async () => {
      await admin.call('ACL', 'SETUSER', 'other', 'on', '>pw', '~*', '&*', '+@all');
      const other = locksFromUrl(`redis://other:pw@127.0.0.1:${port}`);
      const one = user('locks');
      await Promise.all([other.locks(), one.look()]);
      expect(await connections()).toHaveLength(2);
      await other.close();
      await one.look();
      await one.close();
    });

    it('share a duplicate of one client, and leave that client alone', async () => {
      const given = lab.client(port);
      await given.ping();
      const support = lab.support({ redis: given });
      const locks = redisLocks({ redis: given });
      await Promise.all([support.workers(), locks.locks()]);
      expect(await connections()).toHaveLength(2);
      await given.select(3);
      const later = redisLocks.bind(undefined, { redis: given });
      expect(later).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
      await Promise.all([support.close(), locks.close()]);
      await until(async () => (await connections()).length === 1);
    });

    it('share one connection behind a Sentinel, and those of a Cluster', async () => {
      const { port: watch } = await lab.sentinel(port);
      const node = await lab.clusterNode();
      const ofNode = lab.client(node.port);
      const cases = [
        { named: `redis+sentinel://127.0.0.1:${watch}/mymaster`, server: admin },
        { named: `redis+cluster://127.0.0.1:${node.port}`, server: ofNode },
      ];
      for (const { named, server } of cases) {
        const atFirst = await connections(server);
        const [one, other] = [locksFromUrl(named), supportFromUrl(`${named}?namespace=a`)];
        await one.locks();
        const before = await connections(server);
        await other.workers();
        expect(await connections(server)).toEqual(before);
        await one.close();
        await other.workers();
        await other.close();
        await until(async () => (await connections(server)).length === atFirst.length);
      }
    });
  });

  describe('a support that closes', () => {
    it('leaves the connection that is opening to the others', async () => {
      for (let turns = 0; turns < 30; turns++) {
        const [one, other] = [user('locks'), user('support')];
        const [ended, going] = [failureOf(one.look()), other.look()];
        for (let count = 0; count < turns % 10; count++) await turn();
        await one.close();
        // An answer received before is no failure.
        await ended.catch(() => undefined);
        expect(await going).toEqual([]);
        await other.close();
      }
      const both = [user('locks'), user('support')];
      const asked = both.map((one) => failureOf(one.look()));
      await Promise.all(both.map((one) => one.close()));
      for (const failure of asked) expect(await failure).toMatchObject(NOT_READY);
      await until(async () => (await connections()).length === 0);
    });

    it('rejects its pending calls at once; the others get their responses', async () => {
      const [one, other] = [user('support'), user('locks')];
      await Promise.all([one.look(), other.look()]);
      const ids = await connections();
      const going = await paused(async () => {
        const ended = failureOf(one.look());
        const answered = other.look();
        await until(async () => (await blocked()) === 1);
        for (const _ of [1, 2, 3]) await one.close();
        expect(await ended).toMatchObject(NOT_READY);
        return { answered };
      });
      expect(await going.answered).toEqual([]);
      expect(await connections()).toEqual(ids);
      expect(await failureOf(one.look())).toMatchObject(NOT_READY);
      await other.close();
      await until(async () => (await connections()).length === 0);
    });

    it('sends nothing afterwards, including calls in the queue', async () => {
      const [one, other] = [locksFromUrl(url), user('support')];
      await other.ask();
      await paused(async () => {
        const asked = Array.from({ length: UNDER_WAY_MAX * 2 }, () => failureOf(one.locks()));
        await until(async () => (await blocked()) === 1);
        await one.close();
        for (const failure of await Promise.all(asked)) expect(failure).toMatchObject(NOT_READY);
      });
      await other.ask();
      const stats = await admin.info('commandstats');
      expect(stats).toMatch(new RegExp(`cmdstat_evalsha:calls=${UNDER_WAY_MAX},`));
      expect(stats).not.toContain('cmdstat_eval:');
      await other.close();
    });

    it('may start again, and closes again', async () => {
      const support = supportFromUrl(url);
      for (let round = 0; round < 3; round++) {
        await support.getNextWorkId(request());
        expect(await connections()).toHaveLength(1);
        await support.close();
        await until(async () => (await connections()).length === 0);
      }
    });
  });

  describe('the other supports', () => {
    it('keep their own databases when the connection is replaced', async () => {
      const rights = ['on', '>pw', '~*', '+@all'];
      await admin.call('ACL', 'SETUSER', 'app', 'reset', ...rights);
      const login = `redis://app:pw@127.0.0.1:${port}`;
      const [third, fifth] = [3, 5].map((db) => supportFromUrl(`${login}/${db}?namespace=${db}`));
      const locks = locksFromUrl(login);
      const lease = () => Promise.all([third!, fifth!].map((one) => one.getNextWorkId(request())));
      await Promise.all([lease(), locks.locks()]);
      await admin.call('ACL', 'SETUSER', 'app', '-select');
      await admin.call('CLIENT', 'KILL', 'USER', 'app');
      await until(async () => (await locks.locks()).length === 0);
      for (const one of [third!, fifth!]) {
        const failure = await failureOf(one.getNextWorkId(request()));
        expect(failure).toMatchObject({ retryable: false, details: { refusal: 'permission' } });
      }
      await admin.call('ACL', 'SETUSER', 'app', '+select');
      await lease();
      const kept = await admin.info('keyspace');
      expect([...kept.matchAll(/^(db\d+:keys=\d+)/gm)].map(([text]) => text)).toEqual([
        'db3:keys=1',
        'db5:keys=1',
      ]);
      for (const one of [third!, fifth!, locks]) await one.close();
    });

    it('each get the reason for a failed connection', async () => {
      const wrong = `redis://:wrong@127.0.0.1:${port}`;
      await admin.config('SET', 'requirepass', 'right');
      const both = [locksFromUrl(wrong), supportFromUrl(`${wrong}/3`)] as const;
      const asked = [both[0].locks(), both[1].workers(), both[0].locks()];
      for (const failure of await Promise.all(asked.map(failureOf))) {
        expect(failure).toMatchObject({ details: { refusal: 'wrong-password' } });
      }
      for (const one of both) await one.close();
    });

    it('do not wait behind many calls of one support', async () => {
      const [crowded, other] = [locksFromUrl(url), locksFromUrl(`${url}?namespace=other`)];
      await Promise.all([crowded.locks(), other.locks()]);
      let endedCount = 0;
      const crowd = Array.from({ length: 5000 }, async () => {
        await crowded.locks();
        endedCount++;
      });
      await other.locks();
      expect(endedCount).toBeLessThan(1000);
      await Promise.all(crowd);
      expect(await connections()).toHaveLength(1);
      for (const one of [crowded, other]) await one.close();
    });

    it('get responses while one of them subscribes', async () => {
      const [one, other] = [locksFromUrl(url), user('support')];
      const stop = new AbortController();
      const waiting = one.untilReleased('order:7', 0, stop.signal);
      await until(async () => (await admin.pubsub('CHANNELS')).length === 1);
      expect(await other.look()).toEqual([]);
      expect(await connections()).toHaveLength(1);
      expect(await admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).toMatch(/^id=[^\n]*\n$/);
      stop.abort();
      await waiting;
      for (const each of [one, other]) await each.close();
      await until(async () => (await connections()).length === 0);
    });
  });

  describe("a process's clients", () => {
    const settings = (text: string) => JSON.stringify({ password: text });

    it('hold one set of listeners, however many open and close', async () => {
      const clients = new SharedClients();
      const client = new Redis({ port, lazyConnect: true });
      const build = async () => new IoredisClient(client, 'ioredis');
      const warnings: unknown[] = [];
      const warn = (warning: unknown) => void warnings.push(warning);
      process.on('warning', warn);
      const listenerCounts = () =>
        ['error', 'connect', 'ready', 'close', 'end'].map((event) => client.listenerCount(event));
      const first = clients.join('a', build);
      await first.ready();
      const before = listenerCounts();
      const uses = Array.from({ length: 100 }, () => clients.join('a', build));
      await Promise.all(uses.map((use) => use.ready()));
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await until(async () => client.status !== 'ready');
      await Promise.all(uses.map((use) => use.ready()));
      await until(async () => client.status === 'ready');
      for (const use of uses) use.end();
      expect(listenerCounts()).toEqual(before);
      expect(client.status).toBe('ready');
      first.end();
      first.end();
      await until(async () => client.status === 'end');
      await turn();
      process.off('warning', warn);
      expect(warnings).toEqual([]);
    });

    it('reveal no password when printed', () => {
      const known = (globalThis as unknown as Record<symbol, unknown>)[
        Symbol.for('nestjs-snowflake:redis-clients')
      ];
      expect(known).toHaveProperty('join');
      const clients = new SharedClients();
      const use = clients.join(settings('secret'), async () => {
        throw new Error('not built');
      });
      for (const value of [clients, use, known]) {
        expect(inspect(value, { depth: Infinity, showHidden: true })).not.toContain('secret');
        expect(JSON.stringify(value)).not.toContain('secret');
      }
    });

    it('are built by the next caller if the first build failed', async () => {
      const clients = new SharedClients();
      const made = new IoredisClient(lab.client(port, { lazyConnect: true }), 'ioredis');
      let triedCount = 0;
      const build = async () => {
        if (++triedCount === 1) throw new Error('not installed');
        return made;
      };
      const [one, other] = [clients.join('a', build), clients.join('a', build)];
      const failures = await Promise.allSettled([one.ready(), other.ready()]);
      expect(failures.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      expect(await Promise.all([one.ready(), other.ready()])).toEqual([made, made]);
      expect(triedCount).toBe(2);
    });
  });
});

/*
 * An address of something other than intended: another kind of Redis, port or server. The message
 * names the likely cause.
 */
describe('redis strangers', () => {
  const lab = new RedisLab();
  const certificates = new Certificates();
  const web = createServer((_, answer) => answer.end('hello'));
  const ports: Record<string, number> = {};

  beforeAll(async () => {
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    ports['web'] = (web.address() as AddressInfo).port;
    ports['database'] = Number(new URL(process.env['DATABASE_URL']!).port);
    ports['plain'] = (await lab.server()).port;
    ports['tls'] = await freePort();
    const authority = certificates.authority('authority');
    const { cert, key } = certificates.server('redis', 'IP:127.0.0.1', 'authority');
    const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', authority];
    await lab.server('--tls-port', String(ports['tls']), '--tls-auth-clients', 'no', ...files);
  });
  afterAll(async () => {
    web.close();
    web.closeAllConnections();
    await lab.end();
    certificates.remove();
  });

  const NO_TLS = /no TLS connection within 1500 ms\. .*use redis:\/\//s;
  const ELSE = /Another server may listen there; a port with TLS needs rediss:\/\//;
  const NO_REDIS = /What answers there is no Redis\. Check host and port/;
  const NO_TLS_AT_ALL = /The TLS handshake failed\. Check that the port speaks TLS/;
  const NO_SENTINEL = /no Sentinel, but perhaps the Redis itself\. .*use redis:\/\//s;

  it.each([
    ['rediss://', 'plain', '', NO_TLS],
    ['rediss+sentinel://', 'plain', '/mymaster', NO_TLS],
    ['rediss+cluster://', 'plain', '', /one without it redis:\/\//],
    ['redis+cluster://', 'plain', '', /This is a single Redis\. Use redis:\/\//],
    ['redis+sentinel://', 'plain', '/mymaster', NO_SENTINEL],
    ['redis://', 'tls', '', ELSE],
    ['redis+cluster://', 'tls', '', ELSE],
    ['redis+sentinel://', 'tls', '/mymaster', ELSE],
    ['redis://', 'web', '', NO_REDIS],
    ['rediss://', 'web', '', NO_TLS_AT_ALL],
    ['redis+cluster://', 'web', '', ELSE],
    ['redis://', 'database', '', ELSE],
    ['rediss://', 'database', '', NO_TLS_AT_ALL],
  ])('%s of a port that is %s%s', async (scheme, port, path, says) => {
    const support = lab.support({ redis: `${scheme}127.0.0.1:${ports[port]}${path}` });
    const asked = async () => (await failureOf(support.getNextWorkId(request()))).message;
    let message = await asked();
    // A busy server is late, and the request is repeated as in a process that starts.
    for (let count = 0; count < 10 && says !== NO_TLS && NO_TLS.test(message); count++) {
      message = await asked();
    }
    expect(message).toMatch(says);
    expect(message).not.toMatch(/max retries|unexpected answer/);
  });
});

/**
 * Real servers that reject a login, a permission, or a database. No log line, message, metric, or
 * page may contain the right or the wrong password.
 */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { SnowflakeError, type SnowflakeErrorCode } from '../../lib/errors.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { answerWithin } from '../../lib/lease/support-caller.js';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { resolveOptions } from '../../lib/nest/resolve-options.js';
import { etcdError, REFUSALS as ETCD_REFUSALS } from '../../lib/stores/etcd/etcd-errors.js';
import { supportFromUrl as etcdFromUrl } from '../../lib/stores/etcd/etcd.support.js';
import { etcdLocks, etcdSupport } from '../../lib/stores/etcd/index.js';
import { redisSupport } from '../../lib/stores/redis/index.js';
import { redisError, REFUSALS } from '../../lib/stores/redis/redis-errors.js';
import { locksFromUrl } from '../../lib/stores/redis/redis-locks.js';
import { supportFromUrl } from '../../lib/stores/redis/redis.support.js';
import {
  mysqlSupport,
  postgresSupport,
  sqlCounters,
  sqlLocks,
  sqlSupport,
} from '../../lib/stores/sql/index.js';
import { supportFromUrl as sqlFromUrl } from '../../lib/stores/sql/sql.support.js';
import { systemTimers } from '../../lib/time/timers.js';
import { showApp } from '../dashboard/shown-app.js';
import { namedLock } from '../lock/held-locks.js';
import { EtcdLab, type Handler } from '../stores/etcd-lab.js';
import { failureOf, RedisLab, request } from '../stores/redis-lab.js';
import * as sinks from './sinks.js';
import { SECRET, shownByCommands, shownError, shownSupport, TRACE } from './sinks.js';

describe('failures', () => {
  const { SECRET, TRACE } = sinks;
  const lab = new RedisLab();
  afterAll(() => lab.end());

  const LOGIN = `:${encodeURIComponent(SECRET)}@127.0.0.1`;

  /** One server or more, and a URL that cannot reach a usable registry. */
  const FAILURES: Readonly<Record<string, () => Promise<string>>> = {
    'another password': async () =>
      `redis://${LOGIN}:${(await lab.server('--requirepass', 'right')).port}`,
    'a disabled user': async () => {
      const { port } = await lab.server('--user', 'app', 'off', `>${SECRET}`);
      return `redis://app${LOGIN}:${port}`;
    },
    'a user without rights': async () => {
      const { port } = await lab.server(
        '--user',
        'app',
        'on',
        `>${SECRET}`,
        '~*',
        '+@all',
        '-hget',
      );
      return `redis://app${LOGIN}:${port}`;
    },
    'no AUTH command, so the reply repeats the password': async () => {
      const args = ['--rename-command', 'AUTH', '', '--rename-command', 'HELLO', ''];
      return `redis://${LOGIN}:${(await lab.server(...args)).port}`;
    },
    'the right password and no free connection': async () => {
      const { port } = await lab.server('--maxclients', '1');
      await lab.client(port).ping();
      return `redis://${LOGIN}:${port}`;
    },
    'the right password and no such database': async () =>
      `redis://${LOGIN}:${(await lab.server('--requirepass', SECRET)).port}/99`,
    'no listener': async () => `redis://${LOGIN}:1`,
    'no such host': async () => `redis://:${encodeURIComponent(SECRET)}@nowhere.invalid`,
    'a Sentinel that asks for a password': async () => {
      const { port } = await lab.sentinel(1, 'requirepass right');
      return `redis+sentinel://${LOGIN}:${port}/m?sentinelPassword=${encodeURIComponent(SECRET)}`;
    },
    'a Cluster with another password': async () =>
      `redis+cluster://${LOGIN}:${(await lab.clusterNode('--requirepass', 'right')).port}`,
    'TLS to a server without TLS': async () => {
      const { port } = await lab.server();
      const hang = (text: string) => (text === '' ? text : 'QUIT\r\n');
      return `rediss://${LOGIN}:${await lab.proxy(port, hang)}`;
    },
  };

  describe.each(Object.keys(FAILURES))('%s', (name) => {
    it('appears without its password everywhere', async () => {
      const url = await FAILURES[name]!();
      const support = supportFromUrl(url);
      const error = await failureOf(support.getNextWorkId(request()));
      const texts = [await sinks.shownError(error), sinks.shownSupport(support)];
      expect(texts[0]).toContain('STORE_UNAVAILABLE');
      texts.push((await support.advice()).join(), support.location, sinks.shownSupport(support));
      await support.close();
      texts.push(await sinks.shownError(await failureOf(support.workers())));
      const start = showApp({ snowflake: { support: url, startTimeoutMs: 1 } });
      texts.push(await sinks.shownError(await failureOf(start)));
      texts.push(await sinks.shownByCommands(url));
      for (const isJson of [false, true]) {
        texts.push(await sinks.shownByApplication({ support: url }, isJson));
      }
      for (const text of texts) {
        expect(text).not.toContain(TRACE);
        expect(text).not.toMatch(/args: \[|"args":/);
      }
    }, 60_000);
  });

  it("a given client's password does not appear either", async () => {
    const { port } = await lab.server('--requirepass', 'right');
    const options = { lazyConnect: true, password: SECRET };
    const startup = [{ host: '127.0.0.1', port, password: SECRET }];
    const clients = [
      new Redis(port, options),
      new Redis(`redis://${LOGIN}:${port}`, { lazyConnect: true }),
      new Cluster(startup, { lazyConnect: true, redisOptions: { password: SECRET } }),
    ];
    for (const redis of clients) {
      const support = redisSupport({ redis });
      const error = await failureOf(support.getNextWorkId(request()));
      const texts = [await sinks.shownError(error), sinks.shownSupport(support), support.location];
      for (const text of texts) expect(text).not.toContain(TRACE);
      await support.close();
    }
  });

  /** The worst error that a client may pass on besides its message. */
  function hostile(message: string): Error {
    const inner = Object.assign(new Error(`${message} ${SECRET}`), {
      name: 'ReplyError',
      command: { name: 'auth', args: ['user', SECRET] },
    });
    return Object.assign(new Error(`${message}, with args beginning with: \`${SECRET}\``), {
      name: 'ReplyError',
      command: { name: 'auth', args: [SECRET] },
      options: { password: SECRET },
      errors: [inner],
      cause: inner,
    });
  }

  it('the searched output would contain the password if it leaked', async () => {
    const text = await sinks.shownError(new Error('x', { cause: hostile('y') }));
    expect(text.split(TRACE).length).toBeGreaterThan(10);
    const told = await sinks.written(() => console.error(SECRET));
    expect(told + sinks.shownSupport({ inner: { SECRET } })).toContain(TRACE);
    const support = {
      getNextWorkId: () => Promise.reject(hostile('z')),
      refreshAlive: () => Promise.reject(hostile('z')),
      workers: () => Promise.reject(new SnowflakeError('STORE_UNAVAILABLE', SECRET)),
    };
    expect(await sinks.shownByApplication({ support }, true)).toContain(TRACE);
  });

  it.each(Object.entries(FAILURES))(
    'locks behind %s keep no password in their properties',
    async (_, begin) => {
      const store = locksFromUrl(await begin());
      const locks = new DistributedLock(store, { callTimeoutMs: 1000 });
      const error = await failureOf(locks.tryAcquire('order:7'));
      expect(error.code).toBe('STORE_UNAVAILABLE');
      expect(await sinks.shownError(error)).not.toContain(TRACE);
      expect(inspect([store, locks], { depth: 20, showHidden: true })).not.toContain(TRACE);
      await locks.close();
    },
  );

  describe('safe construction', () => {
    const location = { where: 'h:6379, database 0', db: 0, secrets: [SECRET] };

    it.each(Object.entries(REFUSALS))(
      'the error %s contains no part of its cause',
      async (_, row) => {
        // Every match of the pattern begins with one of these words.
        const said = row.says.source.replaceAll(/[^\w ]+/g, ' ');
        for (const error of [
          redisError(hostile(said), location),
          redisError(new Error('closed'), location, hostile(said)),
          redisError(Object.assign(new Error('x'), { lastNodeError: hostile(said) }), location),
        ]) {
          expect(await sinks.shownError(error)).not.toContain(TRACE);
        }
        expect(row.advice).not.toContain('${');
      },
    );

    it("an error from a custom support loses its client's data", async () => {
      const limit = { timers: systemTimers, ms: 1000, consequence: '' };
      const thrown = hostile(`connect redis://user:${SECRET}@h failed`);
      const error = await failureOf(answerWithin(() => Promise.reject(thrown), limit));
      expect(error.message).toContain('redis://***@h');
      expect(await sinks.shownError(error)).not.toContain(TRACE);
    });

    /**
     * Codes whose messages consist of the library's own words and numbers. The tests above trigger
     * the other codes.
     */
    const OWN_WORDS: Readonly<Partial<Record<SnowflakeErrorCode, string>>> = {
      LEASE_LOST: 'states and times',
      VERSION_MISMATCH: 'the number that the registry is kept by',
      REGION_TAKEN: 'who claims a number, as the registry of regions names it',
      NO_WORKER_FREE: 'a time',
      CLOCK_UNUSABLE: 'times',
      SEQUENCE_SPENT: 'numbers of the layout',
      SEGMENT_SPENT: 'the name of a counter, and the message of a failure that is one of these',
      COUNTER_ABSENT: 'the name of a counter and the place of its store',
      COUNTER_MISMATCH: 'the same, and the form that is stored',
      COUNTER_FULL: 'the same',
      TIME_EXHAUSTED: 'a date',
      ID_INVALID: 'an id, which is no secret',
      ARGUMENT_INVALID: 'a number, a field or a date',
      LAYOUT_MISMATCH: 'fingerprints',
      LOCK_HELD: 'the name of a lock and the label of its holder',
      LOCK_LOST: 'the name of a lock and a token',
      LOCK_REENTERED: 'the name of a lock',
    };
    /** Error codes that these failures and the pasted URLs produced. */
    const SHOWN: readonly SnowflakeErrorCode[] = [
      'CONFIG_INVALID',
      'NOT_READY',
      'STORE_UNAVAILABLE',
    ];

    it('the tests trigger every error code, or state why not', () => {
      const source = readFileSync('lib/errors.ts', 'utf8');
      const [, list] = /type SnowflakeErrorCode =(.*?);\n/s.exec(source) ?? [];
      const codes = [...(list ?? '').matchAll(/'([A-Z_]+)'/g)].map(([, code]) => code);
      expect(codes.length).toBeGreaterThan(5);
      expect(new Set([...Object.keys(OWN_WORDS), ...SHOWN])).toEqual(new Set(codes));
      expect(new SnowflakeError('NOT_READY', '')).toBeInstanceOf(Error);
    });
  });
});

/*
 * Members of etcd that reject requests, and text pasted in place of their URL. No log line,
 * message, metric, or page may contain a password or a token.
 */
describe('etcd failures', () => {
  const { SECRET, TRACE } = sinks;
  const lab = new EtcdLab();
  afterAll(() => lab.end());

  const LOGIN = `user:${encodeURIComponent(SECRET)}@`;
  const date = new Date().toUTCString();
  const answering = (status: number, body: string): Handler => {
    return async () => ({ status, headers: { date }, body });
  };

  /** Responses to a login that may repeat it. */
  const FAILURES: Readonly<Record<string, Handler>> = {
    'a page that repeats what was sent': async ({ body }) => ({
      status: 400,
      headers: { date },
      body: `<html>${body}</html>`,
    }),
    'a message that repeats it': async ({ body }) => ({
      status: 400,
      headers: { date },
      body: JSON.stringify({ message: `cannot read ${body} ${SECRET}` }),
    }),
    'a token and then a message that repeats it': async ({ path }) =>
      path === 'auth/authenticate'
        ? { status: 200, headers: { date }, body: JSON.stringify({ token: SECRET }) }
        : { status: 400, headers: { date }, body: JSON.stringify({ message: `what? ${SECRET}` }) },
    'a redirect with a login in it': async () => ({
      status: 302,
      headers: { date, location: `http://user:${SECRET}@elsewhere` },
      body: '',
    }),
    'no authentication': answering(412, '{"message":"etcdserver: authentication is not enabled"}'),
    nothing: async ({ drop }) => drop(),
  };

  describe.each(Object.keys(FAILURES))('reported failures', (name) => {
    it('appear without a password everywhere', async () => {
      const { endpoint } = await lab.proxy(lab.shared, FAILURES[name]!);
      const url = endpoint.replace('http://', `etcd://${LOGIN}`);
      const support = etcdFromUrl(url);
      const error = await failureOf(support.getNextWorkId(request()));
      const texts = [await sinks.shownError(error), sinks.shownSupport(support)];
      expect(texts[0]).toContain('STORE_UNAVAILABLE');
      texts.push((await support.advice!()).join(), support.location, sinks.shownSupport(support));
      await support.close!();
      const locks = etcdLocks({ url });
      texts.push(await sinks.shownError(await failureOf(locks.acquire(namedLock('a')))));
      texts.push((await locks.advice!()).join(), locks.location!, sinks.shownSupport(locks));
      await locks.close!();
      texts.push(await sinks.shownByCommands(url));
      texts.push(await sinks.shownByApplication({ support: url }, true));
      for (const text of texts) expect(text).not.toContain(TRACE);
    });
  });

  it.each(Object.entries(ETCD_REFUSALS))(
    'the error %s contains no part of its cause',
    async (_, row) => {
      const said = row.says.source.replaceAll(/[^\w ]+/g, ' ');
      const inner = Object.assign(new Error(`${said} ${SECRET}`), { auth: SECRET });
      const hostile = Object.assign(new Error(`${said} ${SECRET}`, { cause: inner }), {
        config: { password: SECRET },
        errors: [inner],
      });
      const error = etcdError(hostile, { where: 'h:2379', secrets: [SECRET] });
      expect(await sinks.shownError(error)).not.toContain(TRACE);
    },
  );

  const SHAPES = [
    'user:hunter2@/',
    'user:hunter2@host:99999',
    'user:hunt/er@hunter2@host',
    ':hunter2#@host',
    'host:hunter2',
    'host:2379,password=hunter2',
    'host?password=hunter2',
    'host?hunter2',
    'host?hunter2=1',
    'host?namespace=hunter2@x',
    'host?namespace=a&namespace=hunter2',
    'host?failoverWindowMs=hunter2',
    'host/hunter2',
    'host?ca=hunter2',
    ':hunter2@host\n',
    'hunter2@host',
  ];

  it.each(
    ['etcd', 'etcds', 'ETCD', 'etcd3'].flatMap((scheme) => SHAPES.map((s) => `${scheme}://${s}`)),
  )('%j is rejected, and not repeated', async (url) => {
    const error = await failureOf(resolveOptions({ support: url } as never, true));
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    const texts = [await sinks.shownError(error), await sinks.shownByCommands(url)];
    const uses: readonly (() => object)[] = [
      () => etcdFromUrl(url),
      () => etcdSupport({ endpoints: [url] }),
      () => etcdSupport(url as never),
      () => etcdLocks({ url }),
      () => etcdLocks(url as never),
    ];
    for (const use of uses) {
      texts.push(await sinks.shownError(await failureOf(Promise.resolve().then(use))));
    }
    for (const text of texts) expect(text).not.toContain(TRACE);
  });
});

/*
 * Databases that reject a login or a name, and drivers that repeat their input. No report may
 * contain the password.
 */
describe('sql failures', () => {
  const LOGIN = `shop:${encodeURIComponent(SECRET)}`;
  const POSTGRES = new URL(process.env['DATABASE_URL']!);
  const MYSQL = new URL(process.env['MYSQL_URL']!);

  const URLS: Readonly<Record<string, string>> = {
    'a user that PostgreSQL does not know': `postgres://${LOGIN}@${POSTGRES.host}/postgres`,
    'a user that MariaDB does not know': `mysql://${LOGIN}@${MYSQL.host}/test`,
    'no such database':
      `postgres://postgres:${encodeURIComponent(SECRET)}` + `@${POSTGRES.host}/nowhere`,
    'no listener': `postgres://${LOGIN}@127.0.0.1:1/shop`,
    'no MySQL listener': `mariadb://${LOGIN}@127.0.0.1:1/shop`,
    'no such host': `mysql://${LOGIN}@nowhere.invalid/shop`,
    'a server without TLS': `postgres://${LOGIN}@${POSTGRES.host}/postgres?sslmode=require`,
    'a MariaDB without TLS': `mysql://${LOGIN}@localhost:${MYSQL.port}/test?sslmode=require`,
  };

  async function told(support: IDistributedSupport): Promise<string> {
    const texts = [shownSupport(support), support.location!];
    texts.push(await shownError(await failureOf(support.getNextWorkId(request()))));
    texts.push(await shownError(await failureOf(support.workers!())));
    texts.push(await shownError(await failureOf(support.advice!())), shownSupport(support));
    expect(texts[2]).toContain('STORE_UNAVAILABLE');
    return texts.join();
  }

  async function toldByLocks(store: LockStore): Promise<string> {
    const texts = [shownSupport(store), store.location!];
    texts.push(await shownError(await failureOf(store.acquire(namedLock('a')))));
    texts.push(await shownError(await failureOf(store.locks!())));
    texts.push(await shownError(await failureOf(store.advice!())), shownSupport(store));
    expect(texts[2]).toContain('STORE_UNAVAILABLE');
    return texts.join();
  }

  describe.each(Object.entries(URLS))('%s', (_what, url) => {
    it('does not reveal the password through locks', async () => {
      const store = sqlLocks({ url });
      expect(await toldByLocks(store)).not.toContain(TRACE);
      await store.close!();
    });

    it('does not reveal the password', async () => {
      const support = sqlFromUrl(url);
      expect(await told(support)).not.toContain(TRACE);
      await support.close();
      expect(await shownByCommands(url)).not.toContain(TRACE);
    });
  });

  describe("an application's database pool", () => {
    it.each([
      ['with a password', { host: '127.0.0.1', port: 1, user: 'shop', password: SECRET }],
      ['with a URL', { connectionString: `postgres://${LOGIN}@127.0.0.1:1/shop` }],
    ])('created %s does not reveal the password', async (_what, options) => {
      const pool = new Pool(options);
      expect(await told(postgresSupport({ pool }))).not.toContain(TRACE);
      const store = sqlLocks({ pool, dialect: 'postgres' });
      expect(await toldByLocks(store)).not.toContain(TRACE);
      await pool.end();
    });

    it('created by mysql2 does not reveal the password', async () => {
      const pool = createPool({ host: '127.0.0.1', port: 1, user: 'shop', password: SECRET });
      expect(await told(mysqlSupport({ pool }))).not.toContain(TRACE);
      await pool.end();
    });

    it('is not shown if it has the wrong type', async () => {
      for (const given of [`postgres://${LOGIN}@host/shop`, { password: SECRET }, undefined]) {
        const make = async () => postgresSupport({ pool: given as never });
        expect(await shownError(await failureOf(make()))).not.toContain(TRACE);
      }
    });

    it('hides a URL that a query function repeats in its error', async () => {
      const query = () => Promise.reject(new Error(`cannot reach postgres://${LOGIN}@host/shop`));
      expect(await told(sqlSupport({ query, dialect: 'postgres' }))).not.toContain(TRACE);
      expect(await toldByLocks(sqlLocks({ query, dialect: 'mysql' }))).not.toContain(TRACE);
      for (const given of [{ url: { password: SECRET } }, `postgres://${LOGIN}@host/shop`]) {
        for (const make of [sqlLocks, sqlCounters]) {
          const wrong = (async () => make(given as never))();
          expect(await shownError(await failureOf(wrong))).not.toContain(TRACE);
        }
      }
    });
  });
});

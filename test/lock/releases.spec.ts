/**
 * A caller that waits for a lock in Redis repeatedly sends one request. It learns of releases
 * between two waits, and leaves no subscription behind. The test controls the time.
 */
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { Client, Pool } from 'pg';
import { DataSource } from 'typeorm';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { LINGER_MS, Releases } from '../../lib/lock/releases.js';
import { messagesFrom } from '../../lib/stores/redis/redis-options.js';
import { type LockDatabase, registryTable, sqlLocks } from '../../lib/stores/sql/index.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import { SettableTime } from '../../lib/testing/index.js';
import { type OwnDatabase, ownDatabase } from '../own-database.js';
import { startPgbouncer } from '../../scripts/servers/start-pgbouncer.mjs';
import { etcdLocks } from '../../lib/stores/etcd/index.js';
import { EtcdCluster } from '../chaos/stores/etcd.mjs';
import { EtcdLab, type Handler } from '../stores/etcd-lab.js';
import { RedisLab } from '../stores/redis-lab.js';
import { until } from '../until.js';
import { heldIn, namedLock } from './held-locks.js';

describe('releases', () => {
  const CHANNEL = 'locks:order:7';

  const lab = new RedisLab();
  let admin: Redis;
  let time: SettableTime;
  let releases: Releases;
  /** The count of checks whether the lock is free. */
  let askedCount: number;
  let isFree: boolean;
  let stop: AbortController;

  beforeEach(async () => {
    const { port } = await lab.server();
    admin = lab.client(port);
    time = new SettableTime();
    releases = new Releases(messagesFrom(`redis://127.0.0.1:${port}`), time);
    [askedCount, isFree, stop] = [0, false, new AbortController()];
  });
  afterEach(() => releases.close());
  afterAll(() => lab.end());

  function wait(signal = stop.signal): Promise<void> {
    return releases.until(CHANNEL, signal, async () => {
      askedCount++;
      return isFree;
    });
  }

  /** Waits for a while and gives up, like a caller that checks something in between. */
  async function waitInVain(): Promise<void> {
    const once = new AbortController();
    const waiting = wait(once.signal);
    await until(() => askedCount > 0);
    once.abort();
    await waiting;
  }

  const channels = async (): Promise<number> => (await admin.pubsub('CHANNELS')).length;

  describe('a caller that waits repeatedly', () => {
    it('sends one request to the server', async () => {
      for (let n = 0; n < 5; n++) {
        await waitInVain();
        await time.advance(LINGER_MS - 1);
      }
      expect(askedCount).toBe(1);
      const waiting = wait();
      // A continuous listener receives it. A new one may have been too late.
      expect(await admin.publish(CHANNEL, '')).toBe(1);
      await waiting;
      const stats = await admin.info('commandstats');
      expect(stats).toMatch(/cmdstat_subscribe:calls=1,/);
    });

    it('receives a release between two waits at once, and none two times', async () => {
      await waitInVain();
      await admin.publish(CHANNEL, '');
      await until(async () => {
        const once = new AbortController();
        const waiting = wait(once.signal).then(() => !once.signal.aborted);
        await new Promise(setImmediate);
        once.abort();
        return waiting;
      });
      let isTold = false;
      const waiting = wait().then(() => (isTold = true));
      await admin.ping();
      expect(isTold).toBe(false);
      stop.abort();
      await waiting;
    });

    it('checks whether it is free if it has not subscribed before', async () => {
      isFree = true;
      await wait();
      expect(askedCount).toBe(1);
    });
  });

  describe('a caller that has stopped waiting', () => {
    it('leaves no subscription behind', async () => {
      await waitInVain();
      expect(await channels()).toBe(1);
      await time.advance(LINGER_MS);
      await until(async () => (await channels()) === 0);
    });

    it('does not end the subscription of a caller that came back', async () => {
      await waitInVain();
      await time.advance(LINGER_MS - 1);
      const waiting = wait();
      await time.advance(LINGER_MS * 2);
      expect(await channels()).toBe(1);
      await admin.publish(CHANNEL, '');
      await waiting;
    });
  });
});

/*
 * A caller that waits for a lock in PostgreSQL gets a message at its release, by a connection that
 * is open only during the wait. Without such a connection, the caller polls.
 */
describe('postgres releases', () => {
  const TABLE = `locks_${randomUUID().replaceAll('-', '')}`;
  const NEVER = new AbortController().signal;
  const LISTENERS =
    "FROM pg_stat_activity WHERE query ~ '^(UN)?LISTEN snowflake_' AND datname = $1";

  const closed: (() => unknown)[] = [];
  let admin: Pool;
  const database = TABLE;
  let own: OwnDatabase;

  beforeAll(async () => {
    // No other client listens in it.
    own = await ownDatabase(process.env['DATABASE_URL']!, database);
    admin = new Pool({ connectionString: own.url });
    await admin.query(registryTable('postgres', TABLE));
  });
  afterEach(async () => {
    for (const close of closed.splice(0).toReversed()) await close();
  });
  afterAll(async () => {
    await admin.end();
    await own.drop();
  });

  async function listenerCount(): Promise<number> {
    const { rows } = await admin.query(`SELECT count(*)::int AS n ${LISTENERS}`, [database]);
    return rows[0].n;
  }

  function opened(options: LockDatabase): LockStore {
    const store = sqlLocks(options);
    closed.push(() => store.close!());
    return store;
  }

  const byUrl = (namespace: string) =>
    opened({ url: `${own.url}?namespace=${namespace}&table=${TABLE}&replicated=false` });

  const WAYS: [string, (namespace: string) => Promise<LockStore>][] = [
    ['a URL', async (namespace) => byUrl(namespace)],
    [
      'a pool with no connection to spare',
      async (namespace) => {
        const pool = new Pool({ connectionString: own.url, max: 1 });
        closed.push(() => pool.end());
        const options = { namespace, table: TABLE, replicated: false };
        return opened({ pool, dialect: 'postgres', ...options });
      },
    ],
    [
      'a DataSource',
      async (namespace) => {
        const dataSource = new DataSource({ type: 'postgres', url: own.url });
        await dataSource.initialize();
        closed.push(() => dataSource.destroy());
        return opened({ dataSource, namespace, table: TABLE, replicated: false });
      },
    ],
  ];

  describe.each(WAYS)('a release in PostgreSQL, by %s', (_name, open) => {
    it('reaches its waiting caller, which leaves nothing open afterwards', async () => {
      const namespace = randomUUID();
      const [one, two] = [await open(namespace), await open(namespace)];
      const held = await heldIn(one, namedLock('a'));
      const other = await heldIn(one, namedLock('b'));
      const isTold: string[] = [];
      const told = two.untilReleased!('a', 0, NEVER).then(() => isTold.push('a'));
      await until(async () => (await listenerCount()) === 1);
      await one.release(other);
      // The release came before any listener, so the caller finds it by polling.
      await two.untilReleased!('b', 0, NEVER);
      expect(isTold).toEqual([]);
      await one.release(held);
      await told;
      await until(async () => (await listenerCount()) === 0);
    });
  });

  /*
   * A LISTEN is bound to the pooler's session that carried it, so its messages reach no caller.
   */
  describe.each(['transaction', 'statement'])('PgBouncer that pools by %s', (pool_mode) => {
    it('keeps no session for waiting callers, which get the lock by polling', async () => {
      const bouncer = await startPgbouncer(own.url, { pool_mode, default_pool_size: 1 });
      closed.push(() => bouncer.stop());
      const url = `${bouncer.url}?namespace=${randomUUID()}&table=${TABLE}&replicated=false`;
      const [first, ...others] = Array.from({ length: 4 }, () => {
        const locks = new DistributedLock(opened({ url }), { ttlMs: 2000, drainMs: 0 });
        closed.push(() => locks.close());
        return locks;
      });
      // The first lock of a new table.
      await first!.using('a', { waitMs: 600_000 }, () => 1);
      const held = await first!.tryAcquire('a');
      const got = others.map((locks) => locks.using('a', { waitMs: 600_000 }, () => 'got'));
      await until(() => others.every(({ status }) => status.waitingCount === 1));
      // All queries of this phase share the only session.
      await until(async () => (await first!.list()).length === 1);
      await held!.release();
      expect(await Promise.all(got)).toEqual(['got', 'got', 'got']);
      const sessions =
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = $1 ` +
        `AND application_name = 'nestjs-snowflake'`;
      expect((await admin.query<{ n: number }>(sessions, [database])).rows[0]!.n).toBe(1);
    });
  });

  describe('a release in PostgreSQL with a notification', () => {
    /** A store with recorded statements. */
    function watched(namespace: string, refused?: RegExp) {
      const pool = new Pool({ connectionString: own.url });
      closed.push(() => pool.end());
      const sent: string[] = [];
      const query: SqlQuery = (sql, params) => {
        sent.push(/\b(SELECT pg_notify|SELECT|UPDATE|INSERT)\b/.exec(sql)?.[0] ?? sql);
        if (refused?.test(sql))
          throw Object.assign(new Error('permission denied'), { code: '42501' });
        return pool.query(sql, params);
      };
      const given = { query, Client, options: { connectionString: own.url } };
      const options = { namespace, table: TABLE, replicated: false };
      const store = opened({ pool: given as never, dialect: 'postgres', ...options });
      return { store, sent };
    }

    /** One store holds a lock and the other was refused. Both listen, and so does an observer. */
    async function heldAndHeard(refused?: RegExp) {
      const namespace = randomUUID();
      const [one, two] = [watched(namespace, refused), watched(namespace)];
      const held = await heldIn(one.store, namedLock('a'));
      expect(await two.store.acquire(namedLock('a'))).toMatchObject({ status: 'held' });
      const digest = createHash('sha256').update([TABLE, namespace, 'a'].join(' ')).digest('hex');
      const channel = `snowflake_${digest.slice(0, 40)}`;
      const ear = new Client({ connectionString: own.url });
      await ear.connect();
      closed.push(() => ear.end());
      const heard: string[] = [];
      ear.on('notification', ({ payload }) => heard.push(payload!));
      await ear.query(`LISTEN ${channel}`);
      for (const { sent } of [one, two]) sent.length = 0;
      const told = Promise.all([one, two].map(({ store }) => store.untilReleased!('a', 0, NEVER)));
      // Each has checked once more since it listens.
      await until(() => one.sent.length > 0 && two.sent.length > 0);
      const say = (text: string) => admin.query('SELECT pg_notify($1, $2)', [channel, text]);
      return { one, two, held, told, heard, say };
    }

    it('is one statement, and one more per notified caller', async () => {
      const { one, two, held, told } = await heldAndHeard();
      for (const { sent } of [one, two]) sent.length = 0;
      await one.store.release(held);
      await told;
      const granted = await two.store.acquire(namedLock('a'));
      expect(granted).toMatchObject({ status: 'ok' });
      expect((granted as { token: bigint }).token).toBeGreaterThan(held.token);
      // The pool belongs to the application, so the store checks whether the transaction committed.
      const written = [one, two].map(({ sent }) => sent.slice(sent.indexOf('UPDATE')));
      expect(written).toEqual([0, 1].map(() => ['UPDATE', 'SELECT']));
      expect(await one.store.acquire(namedLock('a'))).toMatchObject({ status: 'held' });
    });

    it('grants nothing by a false message', async () => {
      const { one, two, held, told, heard, say } = await heldAndHeard();
      await one.store.release(held);
      await told;
      await heldIn(two.store, namedLock('a'));
      expect(await one.store.acquire(namedLock('a'))).toMatchObject({ status: 'held' });
      // The store reports that the message came too late.
      await until(() => heard.length === 2 && /^lost:[\w-]{36}$/.test(heard[1]!));
      // The version, after the time, is later than any stored one.
      const later = (_: string, time: string, version: string) =>
        `${time} ${Number(version) + 2 ** 21} `;
      const answerAfter = async (text: string) => {
        const again = one.store.untilReleased!('a', 0, NEVER);
        await say(text);
        await again;
        return one.store.acquire(namedLock('a'));
      };
      const text = heard[0]!.replace(/^(\d+) (\d+) /, later);
      expect(text).not.toBe(heard[0]);
      expect(await answerAfter(text)).toMatchObject({ status: 'held' });
      expect(await answerAfter('none')).toMatchObject({ status: 'held' });
    });

    it('still succeeds for a user without the right to notify', async () => {
      const { one, two, held } = await heldAndHeard(/pg_notify/);
      await one.store.release(held);
      expect(await two.store.acquire(namedLock('a'))).toMatchObject({ status: 'ok' });
    });
  });

  describe('a caller that listens for a release in PostgreSQL', () => {
    const waited = async (holder: LockStore, waiter: LockStore) => {
      const held = await heldIn(holder, namedLock('a'));
      const told = waiter.untilReleased!('a', 0, NEVER);
      await until(async () => (await listenerCount()) === 1);
      return { held, told };
    };

    it('checks again when its connection is lost, and listens on another one', async () => {
      const namespace = randomUUID();
      const [one, two] = [byUrl(namespace), byUrl(namespace)];
      const { held, told } = await waited(one, two);
      // The listeners in the test's own database.
      await admin.query(`SELECT pg_terminate_backend(pid) ${LISTENERS}`, [database]);
      await told;
      const again = two.untilReleased!('a', 0, NEVER);
      await until(async () => (await listenerCount()) === 1);
      await one.release(held);
      expect(await again).toBeUndefined();
    });

    it('receives a release sent just before a shutdown', async () => {
      const namespace = randomUUID();
      const [one, two] = [byUrl(namespace), byUrl(namespace)];
      const { held, told } = await waited(one, two);
      await one.release(held);
      await one.close!();
      expect(await told).toBeUndefined();
    });

    it('reconnects seldom while no connection is possible, for any number of locks', async () => {
      let openedCount = 0;
      const pool = new Pool({ connectionString: own.url });
      const Refused = class extends Client {
        constructor() {
          // No caller listens.
          super({ host: '127.0.0.1', port: 1 });
          openedCount++;
        }
      };
      closed.push(() => pool.end());
      const query: Pool['query'] = pool.query.bind(pool);
      const given = { query, Client: Refused, options: {} };
      const namespace = randomUUID();
      const asked = { pool: given, dialect: 'postgres', namespace, table: TABLE } as const;
      const store = opened({ ...asked, replicated: false });
      const names = ['a', 'b', 'c'];
      for (const name of names) await heldIn(store, namedLock(name));
      const locks = new DistributedLock(store, { ttlMs: 2000, drainMs: 0 });
      closed.push(() => locks.close());
      const waits = names.map((name) => locks.using(name, { waitMs: 700 }, () => 1).catch(String));
      expect(await Promise.all(waits)).toEqual(
        names.map(() => expect.stringMatching('is held by')),
      );
      expect(openedCount).toBe(1);
    });

    it('leaves nothing open when it closes while a caller waits', async () => {
      const namespace = randomUUID();
      const [one, two] = [byUrl(namespace), byUrl(namespace)];
      await waited(one, two);
      await two.close!();
      await until(async () => (await listenerCount()) === 0);
      expect(await one.locks!()).toHaveLength(1);
    });
  });
});

/*
 * A caller that waits for a lock in etcd learns of its end by a watch, which all locks of a process
 * share. Without a watch, or after its end, all callers poll.
 */
describe('etcd releases', () => {
  const NEVER = new AbortController().signal;
  const lab = new EtcdLab();
  const cluster = new EtcdCluster();
  const closed: (() => unknown)[] = [];

  beforeAll(() => cluster.create(1));
  afterEach(async () => {
    for (const close of closed.splice(0).toReversed()) await close();
  });
  afterAll(async () => {
    await cluster.stop();
    await lab.end();
  });

  const opened = (endpoint: string, namespace: string): LockStore => {
    const store = etcdLocks({ endpoints: [endpoint], namespace });
    closed.push(() => store.close!());
    return store;
  };
  const member = () => `http://127.0.0.1:${cluster.members[0]!.port}`;

  /** The count of the member's open watches. */
  const watchCount = async (): Promise<number> => {
    const text = await (await fetch(`${member()}/metrics`)).text();
    return Number(/^etcd_debugging_mvcc_watch_stream_total (\d+)$/m.exec(text)![1]);
  };

  it('arrive through one watch, which ends with the last waiting caller', async () => {
    const namespace = randomUUID();
    const [one, two] = [opened(member(), namespace), opened(member(), namespace)];
    const held = await heldIn(one, namedLock('a'));
    const other = await heldIn(one, namedLock('b'));
    const told: string[] = [];
    const waits = ['a', 'b'].map((lock) =>
      two.untilReleased!(lock, 0, NEVER).then(() => told.push(lock)),
    );
    await until(async () => (await watchCount()) === 1);
    await one.release(other);
    await waits[1];
    expect(told).toEqual(['b']);
    expect(await watchCount()).toBe(1);
    await one.release(held);
    await Promise.all(waits);
    await until(async () => (await watchCount()) === 0);
  });

  it('include a lock that ended at its time', async () => {
    const namespace = randomUUID();
    const [one, two] = [opened(member(), namespace), opened(member(), namespace)];
    await heldIn(one, namedLock('a'));
    await two.untilReleased!('a', 0, NEVER);
    expect((await two.acquire(namedLock('a'))).status).toBe('ok');
  });

  it('are found by polling while the member is down, and by the watch afterwards', async () => {
    const namespace = randomUUID();
    const [one, two] = [opened(member(), namespace), opened(member(), namespace)];
    const held = await heldIn(one, namedLock('a'));
    const told = two.untilReleased!('a', 0, NEVER);
    await until(async () => (await watchCount()) === 1);
    await cluster.kill(cluster.members[0]!);
    // Each waiting caller checks, since it may have missed a message.
    await told;
    await cluster.start(cluster.members[0]!);
    // The new run of etcd needs a new watch.
    const next = await heldIn(one, namedLock('b'));
    const again = two.untilReleased!('b', 0, NEVER);
    await until(async () => (await watchCount()) === 1);
    await one.release(next);
    await again;
    expect(next.token > held.token).toBe(true);
  });

  const WATCHES: [string, Handler][] = [
    ['whose answer is delayed', async () => undefined],
    [
      'that is cancelled',
      async () => ({
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: '{"result":{"created":true,"canceled":true,"compact_revision":"9"}}\n',
      }),
    ],
    ['that is cut off', async ({ drop }) => drop()],
    [
      'that is something else',
      async () => ({ status: 200, headers: {}, body: '{"result":{"events":7}}\n[]\n<html>\n' }),
    ],
  ];

  it.each(WATCHES)('a caller whose watch is %s gets the lock by polling', async (_name, watch) => {
    const proxy = await lab.proxy(lab.shared, async (call) =>
      call.path === 'watch' ? watch(call) : call.pass(),
    );
    const namespace = randomUUID();
    const holder = opened(lab.shared, namespace);
    const locks = new DistributedLock(opened(proxy.endpoint, namespace), { ttlMs: 2000 });
    closed.push(() => locks.close());
    const held = await heldIn(holder, namedLock('a'));
    const got = locks.using('a', { waitMs: 600_000 }, () => 'got');
    await until(() => proxy.asked.includes('watch'));
    await holder.release(held);
    expect(await got).toBe('got');
  });
});

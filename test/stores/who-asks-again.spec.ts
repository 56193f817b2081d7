/**
 * Measures the table of architecture.md in the stores: how long one call takes at most if a server
 * refuses, or stops answering. `test/lease/who-asks-again.spec.ts` measures the layers above.
 */
import { randomUUID } from 'node:crypto';
import timers from 'node:timers';
import { afterAll, afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import { EtcdClient } from '../../lib/stores/etcd/etcd-client.js';
import { settingsOf } from '../../lib/stores/etcd/etcd-options.js';
import { EtcdStore } from '../../lib/stores/etcd/etcd-store.js';
import { ClientLife, SILENCE_MS } from '../../lib/stores/redis/client-life.js';
import { clientFromUrl } from '../../lib/stores/redis/redis-client.js';
import { RedisConnection } from '../../lib/stores/redis/redis-connection.js';
import { locationOfUrl } from '../../lib/stores/redis/redis-client.js';
import { parseRedisUrl } from '../../lib/stores/redis/redis-url.js';
import { sqlSupport } from '../../lib/stores/sql/index.js';
import { openClient } from '../../lib/stores/sql/open-client.js';
import { OwnConnection } from '../../lib/stores/sql/sql-connection.js';
import { parseSqlUrl, type ServerUrl } from '../../lib/stores/sql/sql-options.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { systemTimers, turn } from '../../lib/time/timers.js';
import { retryRow, seconds } from '../docs/retry-table.js';
import { until } from '../until.js';
import { EtcdLab } from './etcd-lab.js';
import { MuteProxy } from './network.js';
import { failureOf } from './redis-lab.js';

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** Ends pauses of less than a second at once. @returns their lengths */
function pausesFrom(): number[] {
  const pauses: number[] = [];
  const after = systemTimers.after.bind(systemTimers);
  jest.spyOn(systemTimers, 'after').mockImplementation((ms, run) => {
    if (ms >= 1000) return after(ms, run);
    pauses.push(ms);
    return after(0, run);
  });
  return pauses;
}

/** Like `until`, for tests with stopped timers. */
async function untilTurn(isSo: () => boolean): Promise<void> {
  const endMs = performance.now() + 60_000;
  while (!isSo() && performance.now() < endMs) await turn();
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, ms) => sum + ms, 0);
const isWithin = (ms: number, cell: string) => ms / 1000 <= Number.parseFloat(cell);

describe('a read of SQL', () => {
  it('that meets a conflict each time is given up', async () => {
    const pauses = pausesFrom();
    const query = jest.fn(async () => {
      throw Object.assign(new Error('could not serialize access'), { code: '40001' });
    });
    const support = sqlSupport({ query, dialect: 'postgres' } as never);
    const failed = await failureOf(support.workers());
    const row = retryRow('read of SQL');
    expect(failed).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    expect([query.mock.calls.length, pauses.length]).toEqual([Number(row.tries), 9]);
    expect(isWithin(Math.max(...pauses), row.pause)).toBe(true);
    expect([
      isWithin(sumOf(pauses), row.end),
      seconds(sumOf(pauses.map((_, at) => 10 * at + 10))),
    ]).toEqual([true, row.end]);
  });
});

describe('etcd', () => {
  const lab = new EtcdLab();
  afterEach(() => lab.end());

  const settings = (endpoints: readonly string[]) =>
    settingsOf({ endpoints, namespace: randomUUID() });

  it('is repeated ten times if another node answers each time', async () => {
    const pauses = pausesFrom();
    let writeCount = 0;
    const proxy = await lab.proxy(lab.shared, async ({ body, pass }) => {
      const isWrite = body.includes('"compare"');
      if (!isWrite) return pass();
      writeCount++;
      // Another process was faster, and its write is gone.
      const { headers, body: said } = await pass('{"compare":[],"success":[]}');
      return { status: 200, headers, body: said.replace('"succeeded":true', '"succeeded":false') };
    });
    const given = settings([proxy.endpoint]);
    const store = new EtcdStore(given, new EtcdClient(given));
    const failed = await failureOf(store.read({ keys: [HEADER_KEY] }));
    const row = retryRow('read of etcd');
    expect(failed).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    // The first one limits how long others wait for this read.
    const [, ...own] = pauses;
    expect([writeCount, own.length]).toEqual([Number(row.tries), Number(row.tries)]);
    expect(isWithin(Math.max(...own), row.pause)).toBe(true);
    expect([isWithin(sumOf(own), row.end), seconds(own.length * 500)]).toEqual([true, row.end]);
    await store.close();
  });

  it.each([
    [1, false, 2],
    [2, false, 2],
    [3, false, 3],
    [3, true, 1],
  ])('calls %i silent members, with write %s, this often: %i', async (count, isWrite, tries) => {
    const time = new SettableTime();
    let askedCount = 0;
    const silent = async () => {
      askedCount++;
      return new Promise<undefined>(() => undefined);
    };
    const members = Array.from({ length: count }, () => lab.proxy(lab.shared, silent));
    const given = settings((await Promise.all(members)).map(({ endpoint }) => endpoint));
    const client = new EtcdClient(given, time);
    let isOver = false;
    const failed = failureOf(client.ask({ path: 'kv/txn', body: {}, isWrite })).finally(() => {
      isOver = true;
    });
    for (let at = 1; at <= tries; at++) {
      await until(async () => askedCount === at);
      await time.advance(999);
      expect([isOver, askedCount]).toEqual([false, at]);
      await time.advance(1);
    }
    expect(await failed).toMatchObject({ details: { refusal: 'late' } });
    expect(retryRow('request to etcd')).toEqual({
      tries: '1 for each member, at least 2; a write 1',
      pause: 'none',
      end: `${seconds(1000)} for each (\`requestTimeoutMs\`)`,
    });
    await client.close();
  });
});

describe.each([
  ['PostgreSQL', 'DATABASE_URL'],
  ['MariaDB', 'MYSQL_URL'],
])('a silent %s', (_, variable) => {
  let proxy: MuteProxy;
  let connection: OwnConnection;
  const ask = () => connection.query('SELECT 1 AS one', []);

  beforeEach(async () => {
    const server = new URL(process.env[variable]!);
    proxy = await new MuteProxy(Number(server.port)).listen();
    server.port = String(proxy.port);
    const url = parseSqlUrl(server.href) as ServerUrl;
    connection = new OwnConnection({ text: 'here', secrets: [] }, () => openClient(url));
    // The driver is reloaded as well.
    await ask();
  });
  afterEach(async () => {
    await connection.close();
    proxy.end();
  });

  /** Everything except the drivers' own limits for a call. */
  const REAL = [
    'Date',
    'hrtime',
    'nextTick',
    'performance',
    'queueMicrotask',
    'setImmediate',
    'clearImmediate',
    'setInterval',
    'clearInterval',
  ] as const;

  /** The time until a call fails, by the driver's timers. */
  async function limitOf(call: () => Promise<unknown>): Promise<number> {
    jest.useFakeTimers({ doNotFake: [...REAL] });
    // The MariaDB driver takes its timers from here.
    jest.spyOn(timers, 'setTimeout').mockImplementation(setTimeout as never);
    // The library keeps the timers that existed when it was loaded.
    jest.spyOn(systemTimers, 'after').mockImplementation((ms, run) => setTimeout(run, ms));
    jest.spyOn(systemTimers, 'cancel').mockImplementation(clearTimeout as never);
    let isOver = false;
    const failed = failureOf(call()).finally(() => (isOver = true));
    await untilTurn(() => jest.getTimerCount() > 0);
    let passedMs = 0;
    for (; !isOver && passedMs < 60_000; passedMs += 100) {
      jest.advanceTimersByTime(100);
      await turn();
    }
    expect(isOver).toBe(true);
    await failed;
    return passedMs;
  }

  const END = retryRow('statement of SQL, by a URL');

  it('ends a statement with its connection', async () => {
    proxy.mute();
    const statement = seconds(await limitOf(ask));
    expect([`${statement}, and 5 s to connect`, END.tries]).toEqual([END.end, '1']);
  });

  it('ends the opening of a connection', async () => {
    await connection.close();
    connection.reopen();
    proxy.isMute = true;
    const opening = seconds(await limitOf(ask));
    expect(`5 s, and ${opening} to connect`).toBe(END.end);
  });
});

describe('a silent Redis', () => {
  let proxy: MuteProxy;
  afterAll(() => proxy.end());

  it('is asked over one connection after the other, until one is heard', async () => {
    proxy = await new MuteProxy(Number(new URL(process.env['REDIS_URL']!).port)).listen();
    const url = parseRedisUrl(`redis://127.0.0.1:${proxy.port}`);
    const time = new SettableTime();
    const life = () => new ClientLife(() => clientFromUrl(url), { timers: time, monotonic: time });
    const connection = new RedisConnection(life, locationOfUrl(url));
    await connection.info('server');
    proxy.mute();
    proxy.isMute = true;
    let isOver = false;
    const asked = connection.info('server').finally(() => (isOver = true));
    for (const count of [2, 3, 4]) {
      await time.advance(SILENCE_MS - 1);
      expect([proxy.count, isOver]).toEqual([count - 1, false]);
      await time.advance(1);
      await until(() => proxy.count === count);
    }
    proxy.isMute = false;
    await time.advance(SILENCE_MS);
    expect(await asked).toContain('run_id');
    const { tries, end } = retryRow('call of Redis');
    expect([seconds(SILENCE_MS), tries, end]).toEqual([
      '10 s',
      'any number',
      'never; its caller ends it',
    ]);
    await connection.close();
  });
});

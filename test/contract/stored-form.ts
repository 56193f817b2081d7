/**
 * The data of a store as text: a short story of holders, counters, and locks writes it. A test
 * dumps it from a real server, loads it into another, and continues there with the current build.
 * The test sets clock and server, so grants may be ahead of the clock.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import type { CounterStore } from '../../lib/counters/counter-store.js';
import type { IDistributedSupport, WorkerLease } from '../../lib/lease/distributed-support.js';
import type { HeldLock, LockStore } from '../../lib/lock/lock-store.js';
import { etcdLocks, etcdSupport } from '../../lib/stores/etcd/index.js';
import { folderSupport } from '../../lib/stores/host/index.js';
import { RedisCounters, RedisLocks, RedisSupport } from '../../lib/stores/redis/index.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import {
  MYSQL_DURABLE,
  MYSQL_TIME,
  mysqlHistory,
  mysqlServer,
} from '../../lib/stores/sql/dialects/mysql.js';
import {
  POSTGRES_HISTORY,
  POSTGRES_SERVER,
  POSTGRES_TIME,
} from '../../lib/stores/sql/dialects/postgres.js';
import * as sql from '../../lib/stores/sql/index.js';
import { Harness, ContractHolder, type Expect } from '../../lib/testing/contract/harness.js';
import { CounterHarness } from '../../lib/testing/counter-harness.js';
import { LockHarness } from '../../lib/testing/lock-harness.js';
import { ownDatabase } from '../own-database.js';
import { endpointOf, settableEtcd } from '../stores/etcd-lab.js';
import {
  LOSS_WINDOW_MS,
  StoreReadings,
  timed,
  timedClient,
  withTime,
} from '../stores/timed-redis.js';
import { quickFolder } from '../support/made-once.mjs';

/** Fields or columns, by their key, row, or file. */
export type Stored = Record<string, Record<string, string>>;

export interface Place {
  readonly clock: { now(): number; advance(ms: number): void | Promise<void> };
  readonly support: () => IDistributedSupport | Promise<IDistributedSupport>;
  readonly counters?: () => CounterStore;
  readonly locks?: () => LockStore | Promise<LockStore>;
  /** Takes the next number of a gapless series, in a separate transaction. */
  readonly invoice?: () => Promise<string>;
  /** Switches to another server, as after a restored backup. */
  readonly changeServer: () => unknown;
  readonly dump: () => Promise<Stored>;
  readonly load: (stored: Stored) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** Merges neighbors with equal fields into one entry: `w0000000004..0000000127`. */
export function folded(stored: Stored): Stored {
  const runs: { prefix: string; from: string; to: string; text: string }[] = [];
  for (const [place, fields] of Object.entries(stored)) {
    const [, prefix = place, number = ''] = /^(.*?)(\d+)$/.exec(place) ?? [];
    const text = JSON.stringify(fields);
    const last = runs.at(-1);
    const isNext = number !== '' && Number(number) === Number(last?.to) + 1;
    if (last?.prefix === prefix && last.text === text && isNext) last.to = number;
    else runs.push({ prefix, from: number, to: number, text });
  }
  const placeOf = ({ prefix, from, to }: (typeof runs)[number]) =>
    from === to ? prefix + from : `${prefix}${from}..${to}`;
  return Object.fromEntries(runs.map((run) => [placeOf(run), JSON.parse(run.text)])) as Stored;
}

export function unfolded(stored: Stored): Stored {
  const all = Object.entries(stored).flatMap(([place, fields]): [string, Stored[string]][] => {
    const [, prefix = '', from = '', to = ''] = /^(.*?)(\d+)\.\.(\d+)$/.exec(place) ?? [];
    if (to === '') return [[place, fields]];
    return Array.from({ length: Number(to) - Number(from) + 1 }, (_, at) => {
      return [prefix + String(Number(from) + at).padStart(from.length, '0'), fields];
    });
  });
  return Object.fromEntries(all);
}

const NAMESPACE = 'shop';
const sorted = <T>(fields: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1)));

const TEXTS = new Map(
  Object.values(SCRIPTS).map(({ sha1, lua }): [string, string] => {
    if (lua.includes('local server = run')) return [sha1, timed(lua)];
    return [sha1, lua.includes('local time = seconds') ? withTime(lua) : lua];
  }),
);

export async function inRedis(): Promise<Place> {
  const redis = new Redis(process.env['REDIS_URL']!);
  const readings = new StoreReadings();
  const prefix = `${randomUUID()}:`;
  const own = {
    redis: timedClient(redis, TEXTS, () => readings.of(NAMESPACE)),
    namespace: NAMESPACE,
    prefix,
  };
  const opened: { close(): Promise<void> }[] = [];
  const open = <T extends { close(): Promise<void> }>(one: T): T => {
    opened.push(one);
    return one;
  };
  const keyOf = (kind: string) => `${prefix}{${NAMESPACE}}:${kind}`;
  return {
    clock: readings.control,
    changeServer: () => readings.changeServer(NAMESPACE),
    support: () => open(new RedisSupport({ ...own, failoverWindowMs: LOSS_WINDOW_MS })),
    counters: () => open(new RedisCounters({ ...own, lossWindowMs: LOSS_WINDOW_MS })),
    locks: () => open(new RedisLocks({ ...own, lossWindowMs: LOSS_WINDOW_MS })),
    async dump() {
      const hashes = ['registry', 'counters', 'locks'].map(
        async (kind) => [kind, sorted(await redis.hgetall(keyOf(kind)))] as const,
      );
      return Object.fromEntries(await Promise.all(hashes));
    },
    async load(stored) {
      for (const [kind, fields] of Object.entries(stored)) await redis.hset(keyOf(kind), fields);
    },
    async end() {
      await Promise.all(opened.map((one) => one.close()));
      await redis.quit();
    },
  };
}

/** The key columns of each table; they follow the table in the row's place. */
const TABLES = {
  snowflake_registry: { made: sql.registryTable, key: ['namespace', 'kind', 'name'] },
  snowflake_series: { made: sql.seriesTable, key: ['series', 'period'] },
};

interface Database {
  readonly dialect: 'postgres' | 'mysql';
  readonly query: sql.SqlQuery;
  readonly rows: (text: string) => Promise<Record<string, string | null>[]>;
  readonly inOne: (run: (query: sql.SqlQuery) => Promise<string>) => Promise<string>;
  /** The expression for time and server in statements. */
  readonly time: string;
  readonly servers: readonly string[];
  readonly mark: (number: number) => string;
  readonly end: () => Promise<void>;
}

const STAMP = /("written":"\d+\/\d+\/)\w*"/;

async function inDatabase(database: Database): Promise<Place> {
  const { dialect, rows, time, servers, mark } = database;
  const readings = new StoreReadings();
  const query: sql.SqlQuery = (text, params) => {
    const { timeMs, server } = readings.of(NAMESPACE);
    const told = servers.reduce(
      (all, asked) => all.replaceAll(asked, `'${server}'`),
      text.replaceAll(time, String(timeMs)),
    );
    return database.query(told, params);
  };
  for (const { made } of Object.values(TABLES)) await rows(made(dialect));
  const own = { query, dialect, namespace: NAMESPACE } as const;
  const windows = { failoverWindowMs: LOSS_WINDOW_MS, clockDifferenceMs: 0 };
  const invoices = sql.gaplessSeries({
    name: 'invoice',
    period: 'year',
    timeZone: 'UTC',
    form: 'R-{date}-{00000}',
    clock: readings.clock,
  });
  return {
    clock: readings.control,
    changeServer: () => readings.changeServer(NAMESPACE),
    support: () => sql.sqlSupport({ ...own, ...windows }),
    counters: () => sql.sqlCounters({ ...own, ...windows }),
    locks: () => sql.sqlLocks({ ...own, ...windows }),
    invoice: () => database.inOne((inside) => invoices.nextIn({ query: inside, dialect })),
    async dump() {
      const stored: Stored = {};
      for (const [table, { key }] of Object.entries(TABLES)) {
        for (const row of await rows(`SELECT * FROM ${table} ORDER BY ${key.join(', ')}`)) {
          const texts = Object.entries(row)
            .filter(([column, value]) => value !== null && !key.includes(column))
            .map(([column, value]) => [column, String(value)]);
          const place = [table, ...key.map((column) => row[column])].join(' ');
          stored[place] = Object.fromEntries(texts) as Stored[string];
        }
      }
      return folded(stored);
    },
    async load(stored) {
      for (const [place, fields] of Object.entries(unfolded(stored))) {
        const [table = '', ...names] = place.split(' ');
        const { key } = TABLES[table as keyof typeof TABLES];
        const row = {
          ...Object.fromEntries(key.map((column, at) => [column, names[at]!])),
          ...fields,
        };
        const columns = Object.keys(row);
        const marks = columns.map((_column, at) => mark(at + 1)).join(', ');
        const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`;
        // Restored rows must not look copied, so their stamp is removed.
        const values = Object.values(row).map((value) => value.replace(STAMP, '$1"'));
        await database.query(text, values);
      }
    },
    end: database.end,
  };
}

export async function inPostgres(): Promise<Place> {
  const own = await ownDatabase(process.env['DATABASE_URL']!);
  const pool = new Pool({ connectionString: own.url });
  return inDatabase({
    dialect: 'postgres',
    // The test server runs without fsync, so each start would count as a loss.
    query: (text, params) =>
      pool.query(text.replaceAll("current_setting('fsync')", "'on'"), params),
    rows: async (text) => (await pool.query<Record<string, string | null>>(text)).rows,
    async inOne(run) {
      const client = await pool.connect();
      await client.query('BEGIN');
      const text = await run((asked, params) => client.query(asked, params));
      await client.query('COMMIT');
      client.release();
      return text;
    },
    time: POSTGRES_TIME,
    servers: [POSTGRES_HISTORY, POSTGRES_SERVER],
    mark: (number) => `$${number}`,
    async end() {
      await pool.end();
      await own.drop();
    },
  });
}

export async function inMariadb(): Promise<Place> {
  const own = await ownDatabase(process.env['MYSQL_URL']!);
  const pool = createPool({ uri: own.url, supportBigNumbers: true, bigNumberStrings: true });
  const server = mysqlServer(true, 'server_uid');
  return inDatabase({
    dialect: 'mysql',
    query: (text, params) => pool.execute(text, params),
    rows: async (text) => (await pool.query(text))[0] as Record<string, string | null>[],
    async inOne(run) {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      const text = await run((asked, params) => connection.execute(asked, params));
      await connection.commit();
      connection.release();
      return text;
    },
    time: MYSQL_TIME,
    servers: [mysqlHistory('server_uid', server, MYSQL_DURABLE), server],
    mark: () => '?',
    async end() {
      await pool.end();
      await own.drop();
    },
  });
}

const toBase64 = (text: string) => Buffer.from(text).toString('base64');
const fromBase64 = (text: string) => Buffer.from(text, 'base64').toString('utf8');

/** The value of a key bound to an etcd lease includes the remaining seconds. */
export async function inEtcd(): Promise<Place> {
  const endpoint = endpointOf(process.env['ETCD_URL']!);
  const etcd = settableEtcd<IDistributedSupport | LockStore>(() => endpoint);
  const { clockControl, lossControl, leases, keysOf, made, end } = etcd;
  const keys = keysOf(NAMESPACE);
  const span = { key: toBase64(keys.prefix), range_end: toBase64(`${keys.prefix.slice(0, -1)}0`) };
  const window = { failoverWindowMs: LOSS_WINDOW_MS };
  return {
    clock: clockControl,
    changeServer: () => lossControl.restart(NAMESPACE),
    support: () =>
      made(NAMESPACE, (options) =>
        etcdSupport({ ...options, clockDifferenceMs: LOSS_WINDOW_MS }),
      ) as Promise<IDistributedSupport>,
    locks: () =>
      made(NAMESPACE, (options) => etcdLocks({ ...options, ...window })) as Promise<LockStore>,
    async dump() {
      const { kvs } = await keys.ask('kv/range', span);
      const all = kvs as { key: string; value?: string; lease?: string }[];
      const texts = all.map(({ key, value = '', lease }) => {
        const fields: Record<string, string> = { value: fromBase64(value) };
        if (lease !== undefined) fields['leaseS'] = leases.leftText(lease);
        return [fromBase64(key).slice(keys.prefix.length), fields] as const;
      });
      return folded(Object.fromEntries(texts));
    },
    async load(stored) {
      for (const [name, { value = '', leaseS }] of Object.entries(unfolded(stored))) {
        const put = { key: toBase64(keys.prefix + name), value: toBase64(value) };
        if (leaseS === undefined) await keys.ask('kv/put', put);
        else {
          const { ID } = await keys.ask('lease/grant', { TTL: '100000' });
          leases.granted(String(ID), Number(leaseS));
          await keys.ask('kv/put', { ...put, lease: ID });
        }
      }
    },
    end,
  };
}

export async function inFolder(): Promise<Place> {
  const readings = new StoreReadings();
  const folder = quickFolder('stored');
  const files = join(folder, NAMESPACE);
  return {
    clock: readings.control,
    // A copied folder always counts as another server.
    changeServer: () => undefined,
    support: () => folderSupport({ folder, namespace: NAMESPACE, clock: readings.clock }),
    async dump() {
      const texts = (await readdir(files)).toSorted().map(async (name) => {
        return [name, { text: await readFile(join(files, name), 'utf8') }] as const;
      });
      return Object.fromEntries(await Promise.all(texts));
    },
    async load(stored) {
      await mkdir(files, { recursive: true });
      for (const [name, { text = '' }] of Object.entries(stored)) {
        await writeFile(join(files, name), text);
      }
    },
    end: () => rm(folder, { recursive: true }),
  };
}

// The story, and the numbers that its processes hold at the end.

/** Everything handed out, as its recipients hold it. */
export interface HandedOut {
  readonly nowMs: number;
  /** The lease of a held worker ID. */
  readonly held: WorkerLease;
  /** The lease of a released worker ID, with IDs up to the end of its range. */
  readonly released: WorkerLease;
  /** The end of the highest range of each counter, by name. */
  readonly ends: Readonly<Record<string, string>>;
  /** A held lock and a released lock. */
  readonly locks: readonly { lock: string; holder: string; token: string }[];
  readonly invoice?: string;
}

const TERMS = {
  fingerprint: 't41-w10-s12/1ms@1704067200000',
  workerIdMin: 0,
  workerIdMax: 3,
  ttlMs: 60_000,
  quarantineMs: 65_000,
};
const partsOf = ({ clock, support, counters, locks }: Place, expect: Expect) => {
  const parts = { expect, clockControl: clock };
  return {
    leases: new Harness({ ...parts, createSupport: support }, NAMESPACE),
    counters: counters && new CounterHarness({ ...parts, createStore: counters }, NAMESPACE),
    locks: locks && new LockHarness({ ...parts, createStore: locks }, NAMESPACE),
  };
};

export async function written(place: Place, expect: Expect): Promise<HandedOut> {
  const { leases, counters, locks } = partsOf(place, expect);
  const ends: Record<string, string> = {};
  const first = await leases.holder(TERMS);
  const second = await leases.holder(TERMS);
  await place.clock.advance(20_000);
  await first.holder.renew();
  await second.holder.renew();
  const { lease: released } = second.holder;
  await second.holder.release(released!.haveMs - 1);
  if (counters) {
    const segment = await counters.begun({ count: 100n });
    await counters.take({ count: 50n, have: segment.end });
    const last = await counters.take({ count: 50n, have: segment.end });
    await (
      await counters.store()
    ).giveBack!(last.grant, 20n);
    ends['order'] = String(last.end - 20n);
    ends['event'] = String((await counters.tick({ count: 10n ** 9n })).end);
    await (
      await counters.store()
    ).create!({ counter: 'ticket', start: 500n });
    ends['ticket'] = '500';
  }
  const held: HeldLock[] = [];
  if (locks) {
    await locks.begin();
    const done = await locks.held({ lock: 'done' });
    await locks.release(done);
    const job = await locks.held({ lock: 'job', ttlMs: 4000 });
    await locks.extend({ ...job, note: '{"at":"ä|"}' });
    const kept = await locks.held({ lock: 'kept' });
    await locks.release(kept, 2000);
    held.push(done, job, kept);
  }
  const invoice = place.invoice && (await place.invoice(), await place.invoice());
  return {
    nowMs: place.clock.now(),
    held: first.holder.lease!,
    released: released!,
    ends,
    locks: held.map(({ lock, holder, token }) => ({ lock, holder, token: String(token) })),
    ...(invoice !== undefined && { invoice }),
  };
}

/** Continues after the story, and returns one sentence for each duplicate. */
export async function faultsOf(place: Place, out: HandedOut, expect: Expect): Promise<string[]> {
  const faults: string[] = [];
  const expectMore = (what: string, next: bigint | number, last: bigint | number) =>
    next < last && faults.push(`${what}: ${next} comes after ${last}`);
  const { leases, counters, locks } = partsOf(place, expect);
  const another = async (workerId: number) => {
    const span = { workerIdMin: workerId, workerIdMax: workerId };
    const support = await place.support();
    const holder = new ContractHolder(support, `heir of ${workerId}`, { ...TERMS, ...span });
    const answer = await holder.acquire();
    if (answer.status === 'other-version') return answer;
    return leases.patiently(() => holder.acquire());
  };
  // Locks first: under a later clock, a second grant would be legitimate.
  if (locks) {
    for (const { lock, holder, token } of out.locks) {
      const answer = await locks.acquire({ lock });
      if (answer.status !== 'ok') continue;
      if (lock !== 'done') faults.push(`the lock ${lock}: it is held by ${holder}`);
      expectMore(`the token of ${lock}`, answer.token, BigInt(token) + 1n);
    }
  }
  for (const [counter, end] of Object.entries(out.ends)) {
    const take = counter === 'event' ? counters!.tick({ counter }) : counters!.take({ counter });
    expectMore(`the counter ${counter}`, (await take).first, BigInt(end));
  }
  if (out.invoice !== undefined) {
    const numberOf = (text: string) => BigInt(text.split('-').at(-1)!);
    const expected = numberOf(out.invoice) + 1n;
    const invoice = await place.invoice!();
    if (numberOf(invoice) !== expected) faults.push(`the invoice ${invoice}: not ${expected}`);
  }
  for (const { workerId, haveMs } of [out.released, out.held]) {
    const answer = await another(workerId);
    if ('floorMs' in answer) expectMore(`the worker id ${workerId}`, answer.floorMs, haveMs);
    else faults.push(`the worker id ${workerId}: version ${answer.version} is refused`);
  }
  for (const { lock, token } of locks ? out.locks : []) {
    const next = await untilHeld(place, locks!, lock);
    expectMore(`the token of ${lock}`, next.token, BigInt(token) + 1n);
    if (lock === 'job' && next.note === undefined) faults.push('the note of job: it is gone');
  }
  return faults;
}

async function untilHeld(place: Place, locks: LockHarness, lock: string) {
  for (let tries = 0; tries < 20; tries++) {
    const answer = await locks.acquire({ lock });
    if (answer.status === 'ok') return answer;
    await place.clock.advance(answer.status === 'wait' ? answer.waitMs : answer.leftMs);
  }
  throw new Error(`The lock ${lock} stays held.`);
}

/**
 * Real stores of rows under concurrent use follow the proved rules, write by write. A difference of
 * one digit is detected.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import Database from 'libsql';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import type { WorkerLease } from '../../lib/lease/distributed-support.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import {
  HEADER_KEY,
  type RowQuery,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
  type StoredRow,
} from '../../lib/rows/row-store.js';
import { EtcdClient } from '../../lib/stores/etcd/etcd-client.js';
import { settingsOf } from '../../lib/stores/etcd/etcd-options.js';
import { EtcdStore } from '../../lib/stores/etcd/etcd-store.js';
import { FolderStore } from '../../lib/stores/host/folder-store.js';
import { connectionTo } from '../../lib/stores/redis/redis-options.js';
import { RedisRows } from '../../lib/stores/redis/redis-rows.js';
import { registryTable } from '../../lib/stores/sql/index.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import { storeOf } from '../../lib/stores/sql/sql.support.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { ROWS_MUTANTS } from '../mutants/registry-mutants.mjs';
import { ownDatabase } from '../own-database.js';
import type { StoreCall } from '../simulation/world/index.js';
import { broken } from '../stores/sql-lab.js';
import { Follower } from './follow.mjs';
import { NONE } from './registries.mjs';

/** Each real store, and how to delete a row without notice. */
interface Opened {
  readonly store: () => RowStore;
  readonly remove?: (key: string) => Promise<unknown>;
  readonly end: () => Promise<unknown>;
}

const SQL = { table: 'followed', namespace: 'followed', replicated: false };
const deletion = (key: string) =>
  `DELETE FROM followed WHERE name = '${key === HEADER_KEY ? key : key.padStart(10, '0')}'`;

/** A store whose statements can be altered. */
async function inSqlite(from: string | RegExp, to: string): Promise<Opened> {
  const database = new Database(':memory:');
  database.exec(registryTable('sqlite', SQL.table));
  const query: SqlQuery = async (sql, params) => database.prepare(sql).all(...params);
  const connection = { where: WHERE, query: broken(query, from, to) };
  const { table, namespace } = SQL;
  return {
    store: () => storeOf('sqlite', connection, { table, namespace }),
    remove: async (key) => database.exec(deletion(key)),
    end: async () => database.close(),
  };
}

const STORES: Record<string, () => Promise<Opened>> = {
  SQLite: () => inSqlite('', ''),
  async PostgreSQL() {
    const own = await ownDatabase(process.env['DATABASE_URL']!);
    const pool = new Pool({ connectionString: own.url });
    await pool.query(registryTable('postgres', SQL.table));
    // The server of the tests has no durable files, so it would count each start as a loss.
    const query: SqlQuery = (sql, params) =>
      pool.query(sql.replaceAll("current_setting('fsync')", "'on'"), params);
    return {
      store: () => storeOf('postgres', { where: WHERE, query }, SQL),
      remove: (key) => pool.query(deletion(key)),
      end: () => pool.end().then(own.drop),
    };
  },
  async MariaDB() {
    const own = await ownDatabase(process.env['MYSQL_URL']!);
    const pool = createPool({ uri: own.url, supportBigNumbers: true, bigNumberStrings: true });
    await pool.query(registryTable('mysql', SQL.table));
    const query: SqlQuery = async (sql, params) => pool.execute(sql, params);
    return {
      store: () => storeOf('mysql', { where: WHERE, query }, SQL),
      remove: (key) => pool.query(deletion(key)),
      end: () => pool.end().then(own.drop),
    };
  },
  async Redis() {
    const url = process.env['REDIS_URL']!;
    const [redis, key] = [new Redis(url), `followed:{${randomUUID()}}`];
    const parts = { key, lossWindowMs: 0, statement: false, evicted: String, unread: String };
    return {
      store: () => new RedisRows({ ...parts, connection: connectionTo(url) }),
      remove: (row) => redis.hdel(key, `r:${row}`),
      end: () => redis.quit(),
    };
  },
  async 'a folder'() {
    const folder = mkdtempSync(join(tmpdir(), 'snowflake-followed-'));
    return {
      store: () => new FolderStore(folder),
      end: async () => rmSync(folder, { recursive: true }),
    };
  },
  async etcd() {
    const endpoints = [process.env['ETCD_URL']!.replace('etcd:', 'http:')];
    const patient = { failoverWindowMs: 0, clockDifferenceMs: 0, requestTimeoutMs: 30_000 };
    const settings = settingsOf({ endpoints, namespace: randomUUID(), ...patient });
    return {
      store: () => new EtcdStore(settings, new EtcdClient(settings)),
      end: async () => undefined,
    };
  },
};
const WHERE = { text: 'followed', secrets: [] };

const TTL_MS = 400;
const TERMS = { fingerprint: 'f', ttlMs: TTL_MS, minRangeMs: 1, quarantineMs: 0 };
const HOLDER = { host: 'h', pid: 1, application: 'a' };

const alone = async (): Promise<void> => undefined;

/** A store in which each write is a step. It reads the changes before any caller continues. */
class FollowedStore implements RowStore {
  readonly location: string;
  readonly lossWindowMs: number;
  readonly clock: RowStore['clock'];
  call!: StoreCall;
  /** The calls of others between a read and the write that depends on it. */
  between = alone;
  private reads: RowSnapshot[] = [];

  constructor(
    private readonly store: RowStore,
    private readonly known: Map<string, StoredRow>,
    private readonly follower: Follower,
  ) {
    ({ location: this.location, lossWindowMs: this.lossWindowMs, clock: this.clock } = store);
  }

  begins(call: StoreCall): void {
    this.call = call;
    this.reads = [];
  }

  async read(query: RowQuery): Promise<RowSnapshot> {
    const snapshot = await this.store.read(query);
    this.reads.push(snapshot);
    return snapshot;
  }

  readAll(): Promise<RowSnapshot> {
    return this.store.readAll();
  }

  async write(write: RowWrite): Promise<boolean | undefined> {
    const { between, call, reads } = this;
    this.between = alone;
    await between();
    this.begins(call);
    this.reads = reads;
    const isTaken = await this.store.write(write);
    await this.note(write, isTaken === true);
    return isTaken;
  }

  async close(): Promise<void> {
    await this.store.close?.();
  }

  private async note(write: RowWrite, isTaken: boolean): Promise<void> {
    const { call, store, clock, known } = this;
    const { rows } = await store.readAll();
    const textOf = (row: StoredRow | undefined) =>
      row && `${row.version} ${row.number} ${row.text}`;
    const changed = rows.filter((row) => textOf(row) !== textOf(known.get(row.key)));
    for (const row of changed) known.set(row.key, row);
    const used = write.rows.filter(({ row }) => isTaken && row.number > 0n);
    if (changed.length === 0 && used.length === 0) return;
    const headerIn = (snapshot: RowSnapshot) => snapshot.rows.find(({ key }) => key === HEADER_KEY);
    const read = this.reads.findLast((one) => headerIn(one)?.version === write.headerVersion)!;
    const { timeMs, server, isPutBack } = read;
    const { lossWindowMs } = store;
    const event = {
      kind: 'written',
      registry: 1,
      call,
      reading: { timeMs, server, isPutBack, random: '', lossWindowMs, clock },
      read: headerIn(read),
      rows: changed,
      workerIds: used.map(({ row }) => Number(row.key)),
    } as const;
    this.follower.note(event, () => NONE);
  }
}

/** A caller that requests a worker ID repeatedly, and its grants. */
class Caller {
  private lease: WorkerLease | undefined;
  private count = 0;
  private readonly support: RegistrySupport;

  constructor(
    readonly store: FollowedStore,
    private readonly follower: Follower,
    private readonly name: string,
    Support: typeof RegistrySupport,
  ) {
    this.support = new Support(store);
  }

  get waits(): boolean {
    return this.lease === undefined;
  }

  async asks(chance: number): Promise<void> {
    const { lease, support } = this;
    if (lease === undefined) return this.acquires();
    if (chance < 0.1) {
      const call = { op: 'release', lease, lastIssuedMs: lease.haveMs - TTL_MS } as const;
      this.lease = undefined;
      this.store.begins(call);
      return support.release(lease, call.lastIssuedMs);
    }
    this.store.begins({ op: 'renew', lease });
    const answer = await support.refreshAlive(lease);
    this.follower.answers({ op: 'renew', token: lease.token }, answer);
    const nonceNext = String(++this.count);
    if (answer.status === 'hold') return;
    this.lease = undefined;
    if (answer.status !== 'ok') return;
    const { ceilingMs: haveMs, mark } = answer;
    this.lease = { ...lease, nonce: lease.nonceNext, nonceNext, haveMs, mark: mark! };
  }

  private async acquires(): Promise<void> {
    const token = `${this.name} ${++this.count}`;
    const span = { workerIdMin: 0, workerIdMax: 2 };
    const request = { ...TERMS, ...span, token, nonce: '0', haveMs: 0, holder: HOLDER };
    this.store.begins({ op: 'acquire', request });
    const answer = await this.support.getNextWorkId(request);
    this.follower.answers({ op: 'acquire', token }, answer);
    if (answer.status !== 'ok') return;
    const { workerId, ceilingMs: haveMs, mark } = answer;
    this.lease = { ...request, workerId, haveMs, mark: mark!, nonceNext: `${token} next` };
  }
}

/** Callers with interleaved calls, and rows that are lost. */
async function attacked(
  { store, remove, end }: Opened,
  Support = RegistrySupport,
): Promise<Follower['followed']> {
  const follower = new Follower();
  const random = new SeededRandom(7);
  const known = new Map<string, StoredRow>();
  // More callers than worker IDs.
  const callers = ['a', 'b', 'c', 'd', 'e'].map(
    (name) => new Caller(new FollowedStore(store(), known, follower), follower, name, Support),
  );
  const lost = async (key: string) => {
    if (remove === undefined) return;
    await remove(key);
    known.delete(key);
    follower.note({ kind: 'lost', registry: 1, key }, () => NONE);
  };
  const { followed } = follower;
  const grants = () => followed.counts['an answer is what was stored'] ?? 0;
  const onward = async () => {
    for (const goal = grants() + 20; grants() < goal && followed.differences.length === 0;) {
      const [one, other] = [random.pick(callers), random.pick(callers)];
      const isMixed = one !== other && random.chance(0.3);
      // SQLite answers synchronously, and concurrent attacks need the event loop.
      await setImmediate();
      one.store.between = isMixed ? () => other.asks(random.next()) : alone;
      await one.asks(random.next());
      one.store.between = alone;
    }
  };
  await onward();
  for (const key of ['0', '1', '2']) {
    await lost(key);
    // Callers without a worker ID come before its holder, which could report the loss.
    for (const caller of callers) if (caller.waits) await caller.asks(1);
    await onward();
  }
  await lost(HEADER_KEY);
  await onward();
  for (const { store } of callers) await store.close();
  await end();
  return followed;
}

/** The real clock decides which calls overlap, so one attack may miss an error. */
async function foundIn(open: () => Promise<Opened>, Support = RegistrySupport) {
  let differences: readonly string[] = [];
  for (let round = 0; round < 8 && differences.length === 0; round++) {
    ({ differences } = await attacked(await open(), Support));
  }
  return differences;
}

describe('rows in a real store', () => {
  // Each test waits for the quarantines of its registry in real time.
  it.concurrent.each(Object.entries(STORES))(
    'follow the rules, write by write: %s',
    async (_name, open) => {
      const opened = await open();
      const { differences, counts } = await attacked(opened);
      expect(differences).toEqual([]);
      const wanted = ['a worker id is leased', 'a lease is renewed', 'a worker id is released'];
      const ofLosses = opened.remove === undefined ? [] : ['a holder proves a loss'];
      expect(Object.keys(counts)).toEqual(expect.arrayContaining([...wanted, ...ofLosses]));
    },
    120_000,
  );

  it.concurrent(
    'differ from the rules if SQLite ignores the version of a row',
    async () => {
      const differences = await foundIn(() => inSqlite(/ AND version = /, ' AND 0 <> '));
      expect(differences.join()).toContain('follows no rule; the nearest: ');
    },
    120_000,
  );

  it.each(ROWS_MUTANTS)(
    'differ from the rules for a broken variant: $name',
    async ({ edits }) => {
      const library = await loadLibrary(edits, 'registry/registry-support.ts');
      const { RegistrySupport: Broken } = library as { RegistrySupport: typeof RegistrySupport };
      const differences = await foundIn(() => inSqlite('', ''), Broken);
      expect(differences).not.toEqual([]);
    },
    120_000,
  );
});

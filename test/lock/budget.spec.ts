/**
 * The cost of an uncontended lock, in counts instead of times: promises, timers, signals of Node,
 * writes and bytes, by store. A change that costs more fails on any machine.
 */
import { randomUUID } from 'node:crypto';
import { createHook } from 'node:async_hooks';
import { Socket } from 'node:net';
import { afterAll, afterEach, expect, it } from '@jest/globals';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { LockGrant, LockStore } from '../../lib/lock/lock-store.js';
import { registryTable } from '../../lib/stores/sql/index.js';
import { locksOf } from '../../lib/stores/schemes.js';
import { ownDatabase } from '../own-database.js';
import { until } from '../until.js';

interface Costs {
  promises: number;
  timers: number;
  signals: number;
  writes: number;
  bytes: number;
}

interface Budget {
  readonly url: () => Promise<string>;
  /** The costs of an acquire and release by `using`, and of one extension. */
  readonly using: Costs;
  readonly extend: Costs;
}

const ends: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

const BUDGETS: Record<string, Budget> = {
  Redis: {
    url: async () => `${process.env['REDIS_URL']}?namespace=${randomUUID()}`,
    using: { promises: 39, timers: 1, signals: 0, writes: 2, bytes: 608 },
    extend: { promises: 8, timers: 0, signals: 0, writes: 1, bytes: 250 },
  },
  PostgreSQL: {
    async url() {
      const own = await ownDatabase(process.env['DATABASE_URL']!);
      const pool = new Pool({ connectionString: own.url, max: 1 });
      await pool.query(registryTable('postgres'));
      await pool.end();
      ends.push(own.drop);
      return `${own.url}?namespace=budget&replicated=false`;
    },
    using: { promises: 106, timers: 5, signals: 0, writes: 2, bytes: 1500 },
    extend: { promises: 40, timers: 2, signals: 0, writes: 1, bytes: 520 },
  },
  MariaDB: {
    async url() {
      const own = await ownDatabase(process.env['MYSQL_URL']!);
      const pool = createPool({ uri: own.url, connectionLimit: 1 });
      await pool.query(registryTable('mysql'));
      await pool.end();
      ends.push(own.drop);
      return `${own.url}?namespace=budget&replicated=false`;
    },
    using: { promises: 93, timers: 5, signals: 0, writes: 2, bytes: 720 },
    extend: { promises: 34, timers: 2, signals: 0, writes: 1, bytes: 350 },
  },
  etcd: {
    url: async () => `etcd://${new URL(process.env['ETCD_URL']!).host}?namespace=${randomUUID()}`,
    using: { promises: 182, timers: 13, signals: 0, writes: 5, bytes: 2700 },
    extend: { promises: 118, timers: 9, signals: 0, writes: 4, bytes: 2100 },
  },
};

/*
 * Counts these operations in the whole process while active.
 */

const NONE: Costs = { promises: 0, timers: 0, signals: 0, writes: 0, bytes: 0 };
const found = { ...NONE };
const hook = createHook({
  init(_, type) {
    if (type === 'PROMISE') found.promises++;
    if (type === 'Timeout') found.timers++;
  },
});

type Writing = (isList: boolean, data: unknown, ...rest: unknown[]) => unknown;
const sockets = Socket.prototype as unknown as { _writeGeneric: Writing };
const real = {
  write: sockets._writeGeneric,
  AbortController: globalThis.AbortController,
};

function begin(): void {
  Object.assign(found, NONE);
  sockets._writeGeneric = function write(this: unknown, isList, data, ...rest) {
    found.writes++;
    const chunks = isList ? (data as { chunk: string }[]).map(({ chunk }) => chunk) : [data];
    for (const chunk of chunks) found.bytes += Buffer.byteLength(chunk as string);
    return real.write.call(this, isList, data, ...rest);
  };
  globalThis.AbortController = class extends real.AbortController {
    constructor() {
      super();
      found.signals++;
    }
  };
  hook.enable();
}

function end(): Costs {
  hook.disable();
  sockets._writeGeneric = real.write;
  globalThis.AbortController = real.AbortController;
  return { ...found };
}
afterEach(() => void end());

/** The minimum of several runs, since other work in the process only adds to the counts. */
async function costsOf(run: () => Promise<unknown>): Promise<Costs> {
  for (let count = 0; count < 3; count++) await run();
  let least: Costs = { ...NONE, promises: Infinity };
  for (let count = 0; count < 10; count++) {
    begin();
    await run();
    const costs = end();
    if (costs.promises < least.promises) least = costs;
  }
  return least;
}

async function heldBy(store: LockStore) {
  const own = { lock: 'extended', holder: 'holder', label: 'label', ttlMs: 10_000 };
  let held: LockGrant | undefined;
  await until(async () => {
    const answer = await store.acquire({ ...own, longestMs: 10_000, have: 0n });
    if (answer.status === 'ok') held = answer;
    return held !== undefined;
  });
  return { lock: 'extended', holder: 'holder', ...held! };
}

const asMuch = (costs: Costs, budget: Costs) =>
  Object.fromEntries(
    Object.entries(costs).map(([name, cost]) => {
      const most = budget[name as keyof Costs];
      return [name, cost <= most ? most : cost];
    }),
  );

it.each(Object.keys(BUDGETS))('a lock in %s stays within its budget', async (name) => {
  const { url, ...budget } = BUDGETS[name]!;
  const store = await locksOf(await url());
  const locks = new DistributedLock(store, { ttlMs: 10_000, application: 'budget' });
  try {
    const held = await heldBy(store);
    const { lock, holder, token, era } = held;
    await locks.using('alone', { waitMs: 60_000 }, () => undefined);
    const using = await costsOf(() => locks.using('alone', () => undefined));
    const extend = await costsOf(() => store.extend({ lock, holder, token, era, ttlMs: 10_000 }));
    const asked = { using: asMuch(using, budget.using), extend: asMuch(extend, budget.extend) };
    expect(asked).toEqual(budget);
  } finally {
    await locks.close();
  }
});

/**
 * Cron jobs of applications. One in three replicas of the built shop, on each store that it may
 * keep its locks in: every time that it is due it is done once, also where the replica that does it
 * is killed.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { recordIn } from '../../lib/cron/cron-record.js';
import { locksOf } from '../../lib/stores/schemes.js';
import type { LockRecord, LockStore } from '../../lib/lock/lock-store.js';
import { type OwnDatabase, ownDatabase } from '../own-database.js';
import { until } from '../until.js';
import { BuiltShop, type ShopProcess } from './shop-process.js';

const SLOW_MS = 600_000;
const EVERY_S = 5;
/** A run that was begun so recently has not ended yet. */
const YOUNG_MS = 1000;
const TWICE = 'duplicate key';

interface Report {
  /** As Unix time in ms. */
  readonly at: number;
  readonly madeBy: string;
}

describe.each([
  { store: 'its database', locks: () => '' },
  { store: 'Redis', locks: () => `${process.env['REDIS_URL']}?namespace=${randomUUID()}` },
])('a cron job with its locks in $store', ({ locks }) => {
  let database: OwnDatabase;
  let client: pg.Client;
  let replicas: ShopProcess[];
  let held: LockStore;

  beforeAll(async () => {
    const built = await BuiltShop.build();
    database = await ownDatabase(process.env['DATABASE_URL']!);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const url = locks();
    const env = {
      SNOWFLAKE_SUPPORT: `${process.env['REDIS_URL']}?namespace=${randomUUID()}`,
      SNOWFLAKE_LOCKS: url,
      DATABASE_URL: database.url,
      REPORT_EVERY_S: String(EVERY_S),
    };
    replicas = await Promise.all([1, 2, 3].map(() => built.start(env)));
    held = await locksOf(url || `${database.url}?namespace=shop&replicated=false`);
  }, SLOW_MS);
  afterAll(async () => {
    await held.close?.();
    await Promise.all(replicas.map((replica) => replica.stop()));
    await client.end();
    await database.drop();
  }, SLOW_MS);

  const reports = async (): Promise<Report[]> => {
    const at = `(extract(epoch FROM at) * 1000)::float8 AS at`;
    const sql = `SELECT ${at}, "madeBy" FROM sales_report ORDER BY at`;
    return (await client.query<Report>(sql)).rows;
  };
  const made = (count: number) => until(async () => (await reports()).length >= count);

  /** The tick of the run that is under way; undefined if the record says none. */
  const tickOf = async ({ lock }: LockRecord): Promise<number | undefined> => {
    const noted = (await held.notes!()).find((one) => one.lock === lock);
    const [run] = recordIn(noted?.note)?.runs ?? [];
    return run?.outcome === 'running' ? run.tickMs : undefined;
  };

  /** In the midst of it; the others look again when its lock is free. */
  const killWhoDoesIt = async (): Promise<{ killed: ShopProcess; at: number }> => {
    for (;;) {
      const stop = await stopped(database.url);
      let running: LockRecord[] = [];
      const begun = async () => {
        running = (await held.locks!()).filter(({ isKept }) => !isKept);
        return running.length > 0;
      };
      await until(begun);
      const [record] = running;
      const at = await tickOf(record!);
      const isFit = at !== undefined && Date.now() < at + YOUNG_MS;
      const killed = replicas.find(({ pid }) => record!.label.includes(` ${pid} `))!;
      if (isFit) await killed.kill();
      await stop.end();
      if (isFit) return { killed, at };
      await until(async () => !(await begun()));
    }
  };

  it(
    'is done once each time',
    async () => {
      await made(2);
      expect(gapsIn(await reports())).toEqual([]);
      // The database would refuse a second report.
      expect(replicas.map(({ output }) => output.includes(TWICE))).not.toContain(true);
    },
    SLOW_MS,
  );

  it(
    'is done by another replica where the one that does it is killed, and goes on',
    async () => {
      const { killed, at } = await killWhoDoesIt();
      const done = async () => (await reports()).find((report) => report.at === at);
      await until(async () => (await done()) !== undefined);
      expect((await done())!.madeBy).not.toMatch(new RegExp(` ${killed.pid}$`));
      // Those that were held up meanwhile are done in any order.
      await until(async () => {
        const all = await reports();
        return all.at(-1)!.at >= at + 2 * EVERY_S * 1000 && gapsIn(all).length === 0;
      });
      expect(replicas.map(({ output }) => output.includes(TWICE))).not.toContain(true);
    },
    SLOW_MS,
  );
});

/** The times at which it was due, and not done. */
function gapsIn(reports: readonly Report[]): number[] {
  const times = reports.map(({ at }) => at);
  const everyMs = EVERY_S * 1000;
  return times.slice(1).filter((at, n) => at !== times[n]! + everyMs);
}

/** Whoever counts orders waits, so that the job goes on until this has ended. */
async function stopped(connectionString: string) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query('BEGIN');
  await client.query('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE');
  return { end: () => client.end() };
}

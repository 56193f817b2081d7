/**
 * What an orchestrator and Prometheus see of the shop: while all is well, while its Redis is away,
 * without its database, and when it is stopped in the midst of that. And what an operator sees on
 * its page, in a real Chromium, while another process comes and goes.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { Visit, startBrowser } from '../dashboard/browser.js';
import { type OwnDatabase, ownDatabase } from '../own-database.js';
import { BuiltShop, query, type ShopProcess } from './shop-process.js';
import { until } from '../until.js';
import { command } from '../cli/run-command.js';

const SLOW_MS = 600_000;

const workerIdOf = ({ output }: ShopProcess) => /Worker id (\d+) until/.exec(output)?.[1];

interface Readiness {
  readonly status: string;
  readonly details: Record<'ids' | 'database', Record<string, unknown>>;
}

describe('the shop in operation', () => {
  let built: BuiltShop;
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let database: OwnDatabase;
  let shop: ShopProcess;

  beforeAll(async () => {
    built = await BuiltShop.build();
    redis = await startRedis();
    database = await ownDatabase(process.env['DATABASE_URL']!);
    const support = `${redis.url}?namespace=shop`;
    const env = { SNOWFLAKE_SUPPORT: support, DATABASE_URL: database.url };
    shop = await built.start({ ...env, OPERATOR_PASSWORD: 'sesame' });
  }, SLOW_MS);
  afterAll(async () => {
    await shop.stop();
    await Promise.all([redis.stop(), database.drop()]);
  }, SLOW_MS);

  async function readiness(): Promise<{ code: number; body: Readiness }> {
    const { status, body } = await shop.get('/health/ready');
    return { code: status, body: body as Readiness };
  }

  /** The samples of a scrape, by name and labels. */
  async function scrape(): Promise<Map<string, number>> {
    const response = await fetch(`${shop.url}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const lines = (await response.text()).split('\n').filter((line) => /^\w/.test(line));
    return new Map(
      lines.map((line) => {
        const [name, value] = [line.replace(/ \S+$/, ''), line.replace(/.* /, '')];
        return [name, Number(value)];
      }),
    );
  }

  it('is alive and ready, and says with which worker id', async () => {
    expect(await shop.get('/health')).toEqual({ status: 200, body: { status: 'ok' } });
    const { code, body } = await readiness();
    expect(code).toBe(200);
    expect(body.status).toBe('ok');
    expect(body.details).toMatchObject({
      ids: {
        status: 'up',
        state: 'active',
        workerId: expect.any(Number),
        leaseRemainingMs: expect.any(Number),
      },
      'invoice ids': { status: 'up', state: 'active', buffered: expect.any(Number) },
      database: { status: 'up' },
    });
  });

  it('has a first page on which every address answers', async () => {
    const text = await (await fetch(shop.url)).text();
    const all = Array.from(
      text.matchAll(/"(?<url>http:[^"<]+)"/g),
      ({ groups }) => groups!['url']!,
    );
    const paths = all.map((url) => new URL(url).pathname.replace(/\d+/, '<id>'));
    expect(paths.toSorted()).toEqual([
      '/docs',
      '/health',
      '/health/ready',
      '/ids/<id>',
      '/metrics',
      '/orders',
      '/sales-reports',
      '/snowflake',
    ]);
    const headers = { authorization: `Basic ${btoa('operator:sesame')}` };
    const answers = await Promise.all(all.map((url) => fetch(url, { headers })));
    expect(answers.map(({ status }) => status)).toEqual(all.map(() => 200));
  });

  it('counts the ids it makes, beside the memory of the process', async () => {
    const own = 'generator="default",space="shop"';
    const issued = `snowflake_ids_issued_total{${own}}`;
    const before = await scrape();
    await shop.post('/customers', { name: 'Ada' });
    const after = await scrape();
    expect(after.get(issued)).toBe(before.get(issued)! + 1);
    const { workerId } = (await readiness()).body.details.ids;
    expect(after.get(`snowflake_worker_id{${own}}`)).toBe(workerId);
    expect(after.get(`snowflake_lease_state{${own},state="active"}`)).toBe(1);
    expect(after.get('process_resident_memory_bytes')).toBeGreaterThan(0);
  });

  it('counts the worker ids of its namespace', async () => {
    const own = 'generator="default",space="shop",layout="t41-w10-s12/1ms@1704067200000"';
    const inUse = `snowflake_workers_in_use{${own}}`;
    const samples = await eventually(scrape, (found) => found.has(inUse));
    expect(samples.get(inUse)).toBe(1);
    expect(samples.get(`snowflake_workers_free{${own}}`)).toBe(1023);
  });

  it(
    'is degraded, ready and still makes ids while its Redis is away',
    async () => {
      await redis.stop();
      const { code, body } = await eventually(readiness, (found) => found.body.status !== 'ok');
      expect({ code, status: body.status }).toEqual({ code: 200, status: 'degraded' });
      expect(body.details.ids['message']).toContain('could not be renewed');
      expect((await shop.post('/customers', { name: 'Ada' })).status).toBe(201);
    },
    SLOW_MS,
  );

  it(
    'is not ready without its database, and alive all the same',
    async () => {
      const name = new URL(database.url).pathname.slice(1);
      // The sessions that end are those of the shop.
      await query(process.env['DATABASE_URL']!, `DROP DATABASE ${name} WITH (FORCE)`);
      const { code, body } = await readiness();
      expect({ code, status: body.status }).toEqual({ code: 503, status: 'error' });
      expect(body.details.database['status']).toBe('down');
      expect((await shop.get('/health')).status).toBe(200);
    },
    SLOW_MS,
  );

  it(
    'ends by itself when it is stopped while both are away',
    async () => {
      expect((await shop.stop()).code).toBe(0);
    },
    SLOW_MS,
  );
});

/** Reads until it is as wanted, and answers that. */
async function eventually<T>(read: () => Promise<T>, isWanted: (value: T) => boolean): Promise<T> {
  let value: T;
  await until(async () => isWanted((value = await read())));
  return value!;
}

// The built shop by `npm run start:replicas`, on every store by one variable: three processes have
// three worker ids, make orders over HTTP, and leave nobody in the registry when they are stopped.
describe('replicas by npm run start:replicas', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-stores-'));
  const own = `namespace=${randomUUID()}`;
  const ownTable = `${own}&replicated=false&table=shop_registry`;

  /** As an operator sets SNOWFLAKE_SUPPORT; a Redis that is there has its own spec. */
  const STORES = [
    { store: 'servers of their own', support: '', count: 3 },
    { store: 'postgres', support: `${process.env['DATABASE_URL']}?${ownTable}`, count: 2 },
    { store: 'mariadb', support: `${process.env['MYSQL_URL']}?${ownTable}`, count: 2 },
    { store: 'etcd', support: `${process.env['ETCD_URL']}?${own}`, count: 2 },
    { store: 'file', support: `file:${folder}?${own}`, count: 2 },
    { store: 'static', support: 'static:7', count: 2 },
  ];

  /** Each has a database of its own: other stores are other id spaces. */
  const answers = new Map<string, PromiseSettledResult<string>>();
  const databases: OwnDatabase[] = [];

  beforeAll(async () => {
    const built = await BuiltShop.build();
    const rest = [...STORES];
    const lane = async (): Promise<void> => {
      for (let one = rest.shift(); one !== undefined; one = rest.shift()) {
        const { store, support, count } = one;
        const env = { SNOWFLAKE_SUPPORT: support, DATABASE_URL: support && (await databaseUrl()) };
        const [answer] = await Promise.allSettled([built.replicas(count, env)]);
        answers.set(store, answer);
      }
    };
    // Two, since most of it is the work of starting.
    await Promise.all([lane(), lane()]);
  });
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.drop()));
    rmSync(folder, { recursive: true });
  });

  async function databaseUrl(): Promise<string> {
    const database = await ownDatabase(process.env['DATABASE_URL']!);
    databases.push(database);
    return database.url;
  }

  describe.each(STORES)('replicas on $store', ({ store, support, count }) => {
    it('have a worker id each, make orders and end well', () => {
      expect(answers.get(store)).toEqual({ status: 'fulfilled', value: expect.any(String) });
      const { value } = answers.get(store) as PromiseFulfilledResult<string>;
      const rows = value.matchAll(/^http\S+ +(?<workerId>\d+) +\d{17,19}$/gm);
      const workerIds = Array.from(rows, ({ groups }) => groups!['workerId']);
      expect(workerIds).toHaveLength(count);
      expect(new Set(workerIds).size).toBe(count);
    });

    if (support === '' || store === 'static') return;
    it('have given their worker ids back', async () => {
      const { lines } = await command(['workers', '--json', '--all', '--support', support]);
      const [counts, ...records] = lines.map((line) => JSON.parse(line) as object).toReversed();
      expect(counts).toMatchObject({ held: 0 });
      expect(records.length).toBeGreaterThanOrEqual(count);
    });
  });
});

describe('/snowflake, of two processes on one Redis', () => {
  let built: BuiltShop;
  let database: OwnDatabase;
  let browser: Browser;
  let shop: ShopProcess;
  let env: Record<string, string>;

  beforeAll(async () => {
    built = await BuiltShop.build();
    browser = await startBrowser();
    database = await ownDatabase(process.env['DATABASE_URL']!);
    const support = `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
    env = { SNOWFLAKE_SUPPORT: support, DATABASE_URL: database.url, OPERATOR_PASSWORD: 'sesame' };
    shop = await built.start(env);
  }, SLOW_MS);
  afterAll(async () => {
    await browser.close();
    await shop.stop();
    await database.drop();
  }, SLOW_MS);

  it('asks who is there', async () => {
    expect((await shop.get('/snowflake/state')).status).toBe(401);
  });

  it(
    'reads an id of an order, and shows another process join and leave',
    async () => {
      const { body } = await shop.post('/customers', { name: 'Ada' });
      const { id } = body as { id: string };
      const httpCredentials = { username: 'operator', password: 'sesame' };
      const visit = await Visit.open(browser, `${shop.url}/snowflake#${id}`, { httpCredentials });
      const own = workerIdOf(shop);
      await visit.says('#id-reading', `worker bits 21 to 12\n${own} is the worker id`);
      await visit.says('#legend', '1 held');

      const other = await built.start(env);
      const its = workerIdOf(other);
      await visit.comesToSay('#changes', `Worker id ${its} joined: shop on ${hostname()}, pid`);
      const held = (await visit.rows()).map((row) => row.slice(0, 4));
      expect(new Set(held)).toEqual(
        new Set([
          [own, 'held, this process', 'shop', hostname()],
          [its, 'held', 'shop', hostname()],
        ]),
      );
      await other.stop();
      await visit.comesToSay('#changes', `Worker id ${its} left: shop on ${hostname()}, pid`);
      // The first ids in a new registry are ahead of the clock, so its last range is not over.
      const rows = (await visit.rows()).map((row) => row.slice(0, 3));
      expect(rows).toContainEqual([its, 'resting', '']);
      await visit.close();
    },
    SLOW_MS,
  );
});

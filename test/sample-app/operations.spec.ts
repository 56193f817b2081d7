/**
 * What an orchestrator and Prometheus see of the shop: while all is well, while its Redis is away,
 * without its database, and when it is stopped in the midst of that.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { type OwnDatabase, ownDatabase } from '../own-database.js';
import { BuiltShop, query, type ShopProcess } from './shop-process.js';
import { until } from '../until.js';

const SLOW_MS = 600_000;

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
      ids: { status: 'up', state: 'active', workerId: 0, leaseRemainingMs: expect.any(Number) },
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
    const issued = 'snowflake_ids_issued_total{generator="default"}';
    const before = await scrape();
    await shop.post('/customers', { name: 'Ada' });
    const after = await scrape();
    expect(after.get(issued)).toBe(before.get(issued)! + 1);
    expect(after.get('snowflake_worker_id{generator="default"}')).toBe(0);
    expect(after.get('snowflake_lease_state{generator="default",state="active"}')).toBe(1);
    expect(after.get('process_resident_memory_bytes')).toBeGreaterThan(0);
  });

  it('counts the worker ids of its namespace', async () => {
    const inUse = 'snowflake_workers_in_use{generator="default"}';
    const samples = await eventually(scrape, (found) => found.has(inUse));
    expect(samples.get(inUse)).toBe(1);
    expect(samples.get('snowflake_workers_free{generator="default"}')).toBe(1023);
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

/**
 * The sample app as its users run it: one process on embedded defaults, and three on one Redis and
 * one PostgreSQL.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redisSupport } from '../../lib/stores/redis/index.js';
import { layouts } from '../../lib/core/layout/presets.js';
import { readConfig } from '../../sample-app/src/config.js';
import { type OwnDatabase, ownDatabase } from '../own-database.js';
import {
  BuiltShop,
  type ShopProcess,
  gapsIn,
  invoicesOf,
  orderBy,
  type ShownInvoice,
  query,
} from './shop-process.js';

const LINES = [
  { product: 'tea', quantity: 2, priceCents: 450 },
  { product: 'cup', quantity: 1, priceCents: 1200 },
];
const SLOW_MS = 600_000;

let built: BuiltShop;

beforeAll(async () => {
  built = await BuiltShop.build();
}, SLOW_MS);

describe('the shop on embedded defaults', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-shop-'));
  const data = { DATA_DIR: join(folder, 'data') };
  /** A copy, which is there in a moment; to begin a database takes eight seconds of work. */
  const other = { DATA_DIR: join(folder, 'other') };
  let shop: ShopProcess;
  let customerId: string;

  beforeAll(async () => {
    shop = await built.startAsBuilt(data);
    const { body } = await shop.post('/customers', { name: 'Ada' });
    customerId = (body as { id: string }).id;
  }, SLOW_MS);
  afterAll(async () => {
    await shop.stop();
    rmSync(folder, { recursive: true });
  }, SLOW_MS);

  it('listens on this host alone, and says how operators get in', async () => {
    const { port } = new URL(shop.url);
    await expect(fetch(`http://127.0.0.2:${port}/health`)).rejects.toThrow('fetch failed');
    const [, url, password] = /How it runs: (\S+) \(any user, password (\w+),/.exec(shop.output)!;
    expect(url).toBe(`http://127.0.0.1:${port}/snowflake`);
    const headers = { authorization: `Basic ${btoa(`ada:${password}`)}` };
    expect((await fetch(url!)).status).toBe(401);
    expect((await fetch(url!, { headers })).status).toBe(200);
  });

  it('creates an order with its lines, all ids text and in order', async () => {
    const { status, body } = await shop.post('/orders', { customerId, lines: LINES });
    const order = body as { id: string; lines: { id: string }[] };
    expect(status).toBe(201);
    const ids = [customerId, order.id, ...order.lines.map((line) => line.id)];
    expect(ids).toEqual(ids.map(String).toSorted());
    expect((await shop.get(`/orders/${order.id}`)).body).toEqual({
      id: order.id,
      customerId,
      publicId: expect.stringMatching(/^ord_\w{11}$/),
      lines: expect.arrayContaining(order.lines),
    });
  });

  it('shows an order to its customer under its public id, and no other id', async () => {
    const order = await orderBy(shop, customerId);
    const { status, body } = await shop.get(`/tracking/${order.publicId}`);
    expect(status).toBe(200);
    expect(body).toEqual({ publicId: order.publicId, lines: [expect.any(Object)] });
    expect(JSON.stringify(body)).not.toMatch(/\d{17}/);
    const next = await orderBy(shop, customerId);
    expect(BigInt(next.id) > BigInt(order.id)).toBe(true);
    const absent = await shop.get('/tracking/ord_66ubKQqVNjK');
    expect(absent).toMatchObject({ status: 404, body: { message: 'There is no such order.' } });
  });

  it(
    'numbers invoices without a gap, also while half of them are rolled back',
    async () => {
      const orders = await Promise.all(Array.from({ length: 20 }, () => orderBy(shop, customerId)));
      const sent = [...orders, ...orders].map(({ publicId }) => ({ orderId: publicId }));
      const answers = await Promise.all(sent.map((one) => shop.post('/invoices', one)));
      const made = invoicesOf(answers);
      expect(made).toHaveLength(20);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(20);
      expect(made.map(({ orderId }) => orderId).toSorted()).toEqual(
        orders.map(({ publicId }) => publicId).toSorted(),
      );
      expect(gapsIn(made)).toEqual([]);
      // What is rolled back leaves a gap among the ids, of 100 taken at a time.
      const ids = new Set(made.map(({ id }) => Number(id)));
      expect(ids.size).toBe(20);
      expect(Math.max(...ids)).toBeLessThanOrEqual(100);
    },
    SLOW_MS,
  );

  it('pages by id without gap or overlap, and by time', async () => {
    const made = (await shop.post('/orders/bulk', { customerId, count: 25 })).body as string[];
    const before = String(BigInt(made[0]!) - 1n);
    const pages: string[][] = [];
    for (let after = before; pages.at(-1)?.length !== 0; after = pages.at(-1)!.at(-1) ?? after) {
      const { body } = await shop.get(`/orders?after=${after}&limit=10`);
      pages.push((body as { id: string }[]).map(({ id }) => id));
    }
    expect(pages.map((page) => page.length)).toEqual([10, 10, 5, 0]);
    expect(pages.flat()).toEqual(made);
    const from = layouts.snowflake().parse(made[0]!).date.toISOString();
    const inSpan = (await shop.get(`/orders?from=${from}&limit=1000`)).body as { id: string }[];
    expect(inSpan.map(({ id }) => id)).toEqual(expect.arrayContaining(made));
    expect((await shop.get('/orders?from=2020-01-01&to=2021-01-01')).body).toEqual([]);
  });

  it(
    'answers each of many requests at once with its own rows',
    async () => {
      const names = Array.from({ length: 100 }, (_, n) => `customer ${n}`);
      const made = await Promise.all(names.map((name) => shop.post('/customers', { name })));
      const ids = made.map(({ body }) => (body as { id: string }).id);
      const bulk = shop.post('/orders/bulk', { customerId, count: 5000 });
      const found = await Promise.all(ids.map((id) => shop.get(`/customers/${id}`)));
      expect(found.map(({ body }) => body)).toEqual(ids.map((id, n) => ({ id, name: names[n] })));
      expect((await bulk).status).toBe(201);
    },
    SLOW_MS,
  );

  it('reads what an id says', async () => {
    const { body } = await shop.get(`/ids/${customerId}`);
    expect(body).toMatchObject({
      id: customerId,
      workerId: Number(workerIdIn(shop.output)),
    });
    const { sameMillisecond } = body as { sameMillisecond: { first: string; last: string } };
    const { date } = layouts.snowflake().parse(customerId);
    const { first, last } = layouts.snowflake().idRange(date, date);
    expect(sameMillisecond).toEqual({ first: String(first), last: String(last) });
  });

  it.each([
    { path: '/ids/abc' },
    { path: '/ids/-1' },
    { path: '/ids/99999999999999999999' },
    { path: '/orders/1e3' },
    { path: '/tracking/382366441078288384' },
    { path: '/tracking/cus_YfMcyhsjPuK' },
    { path: '/invoices', sent: { orderId: '382366441078288384' } },
    { path: '/customers/%20' },
    { path: '/customers/007' },
    { path: '/customers/9223372036854775807' },
    { path: '/orders?after=x' },
    { path: '/orders?limit=0' },
    { path: '/orders?from=yesterday' },
    { path: '/orders?from=5' },
    { path: '/orders?form=2026-01-01' },
    { path: '/customers', sent: { name: '' } },
    { path: '/customers', sent: { name: 'A\ta' } },
    { path: '/customers', sent: { name: 'Ada', id: '7' } },
    { path: '/orders', sent: { customerId: 7, lines: LINES } },
    { path: '/orders', sent: { customerId: '7', lines: LINES } },
    { path: '/orders', sent: { customerId: '99999999999999999999', lines: LINES } },
    { path: '/orders', sent: { customerId: '7', lines: [] } },
    { path: '/orders', sent: { customerId: '7', lines: [LINES] } },
    { path: '/orders', sent: { customerId: '7', lines: [{ ...LINES[0], quantity: 2 ** 31 }] } },
    { path: '/orders/bulk', sent: { customerId: '7', count: 10_001 } },
  ])('$path with $sent answers 400 with a reason', async ({ path, sent }) => {
    const { status, body } = await (sent === undefined ? shop.get(path) : shop.post(path, sent));
    expect(status).toBe(400);
    expect(String((body as { message: unknown }).message)).not.toBe('');
  });

  it(
    'keeps its data and ends well when it is stopped',
    async () => {
      const { code, output } = await shop.stop();
      expect(code).toBe(0);
      expect(output).toContain('active -> released');
      expect(output).not.toContain('ERROR');
      cpSync(data.DATA_DIR, other.DATA_DIR, { recursive: true });
      shop = await built.start(data);
      expect((await shop.get(`/customers/${customerId}`)).body).toEqual({
        id: customerId,
        name: 'Ada',
      });
    },
    SLOW_MS,
  );

  it(
    'shares its database with no other process, and takes it over from one that was killed',
    async () => {
      const second = built.start(data);
      await expect(second).rejects.toThrow('is in use, perhaps by another `npm start`');
      await shop.kill();
      shop = await built.start(data);
      expect((await shop.get(`/customers/${customerId}`)).status).toBe(200);
    },
    SLOW_MS,
  );

  it('goes on with its invoices after that, with the next number and a higher id', async () => {
    const before = (await shop.get('/invoices')).body as ShownInvoice[];
    const { publicId } = await orderBy(shop, customerId);
    const { body } = await shop.post('/invoices', { orderId: publicId });
    const all = [...before, body as ShownInvoice];
    expect(gapsIn(all)).toEqual([]);
    const ids = all.map(({ id }) => Number(id));
    expect(Math.max(...ids)).toBe(ids.at(-1));
    expect(new Set(ids).size).toBe(21);
  });

  it(
    'says so when its port is taken',
    async () => {
      const { port } = new URL(shop.url);
      const starting = built.start(other, Number(port));
      await expect(starting).rejects.toThrow(`Port ${port} is taken`);
    },
    SLOW_MS,
  );

  it(
    'leases another worker id than a second one, from the folder beside their databases',
    async () => {
      const second = await built.start(other);
      const workerIds = [shop, second].map(({ output }) => workerIdIn(output));
      await second.stop();
      expect(new Set(workerIds).size).toBe(2);
      expect(workerIds).not.toContain(undefined);
    },
    SLOW_MS,
  );
});

const workerIdIn = (output: string) => /Worker id (\d+) until/.exec(output)?.[1];

describe('the shop without SNOWFLAKE_SUPPORT', () => {
  const refusal = 'Set SNOWFLAKE_SUPPORT, for example redis://';

  it(
    'does not start in production, and says what to set',
    async () => {
      const env = { DATA_DIR: join(tmpdir(), randomUUID()), NODE_ENV: 'production' };
      await expect(built.start(env)).rejects.toThrow(refusal);
    },
    SLOW_MS,
  );

  it.each([
    ['on a database that others may share', { DATABASE_URL: 'postgres://127.0.0.1:1/shop' }],
    ['where it is empty', { NODE_ENV: 'production', SNOWFLAKE_SUPPORT: '' }],
  ])('has no configuration %s, and says what to set', (_where, env) => {
    expect(() => readConfig(env)).toThrow(refusal);
  });
});

describe('the shop without PUBLIC_ID_KEY', () => {
  it(
    'does not start in production, and says what to set',
    async () => {
      const starting = built.start({ NODE_ENV: 'production', SNOWFLAKE_SUPPORT: 'static:1' });
      await expect(starting).rejects.toThrow('Set PUBLIC_ID_KEY, to what `openssl rand -hex 16`');
    },
    SLOW_MS,
  );
});

describe('three replicas on one Redis and one PostgreSQL', () => {
  const ORDER_COUNT = 100_000;
  const BATCH_COUNT = 1000;
  const namespace = randomUUID();
  const registry = redisSupport({ redis: process.env['REDIS_URL']!, namespace });
  let database: OwnDatabase;
  let replicas: ShopProcess[];

  beforeAll(async () => {
    database = await ownDatabase(process.env['DATABASE_URL']!);
    const env = {
      SNOWFLAKE_SUPPORT: `${process.env['REDIS_URL']}?namespace=${namespace}`,
      DATABASE_URL: database.url,
    };
    replicas = await Promise.all([1, 2, 3].map(() => built.start(env)));
  }, SLOW_MS);
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await database.drop();
    await registry.close();
  }, SLOW_MS);

  it(
    'insert 100,000 orders at once, and no two ids are equal',
    async () => {
      const { body } = await replicas[0]!.post('/customers', { name: 'Ada' });
      const customerId = (body as { id: string }).id;
      const orders = { customerId, count: BATCH_COUNT };
      const batches = Array.from({ length: ORDER_COUNT / BATCH_COUNT }, (_, n) => n);
      const answers = await Promise.all(
        batches.map((n) => replicas[n % 3]!.post('/orders/bulk', orders)),
      );
      const ids = answers.flatMap((answer) => answer.body as string[]);
      expect(ids).toHaveLength(ORDER_COUNT);
      expect(new Set(ids).size).toBe(ORDER_COUNT);
      const layout = layouts.snowflake();
      const workers = new Set(ids.map((id) => layout.parse(id).workerId));
      expect(workers.size).toBe(3);
      const sql = 'SELECT count(*)::int AS all, count(DISTINCT id)::int AS distinct FROM orders';
      expect(await query(database.url, sql)).toEqual([{ all: ORDER_COUNT, distinct: ORDER_COUNT }]);
    },
    SLOW_MS,
  );

  it(
    'number invoices of one series without a gap, under ids of one counter',
    async () => {
      const { body } = await replicas[0]!.post('/customers', { name: 'Ada' });
      const customerId = (body as { id: string }).id;
      const one = async (shop: ShopProcess) => {
        const { publicId } = await orderBy(shop, customerId);
        return shop.post('/invoices', { orderId: publicId });
      };
      const shops = Array.from({ length: 60 }, (_, n) => replicas[n % 3]!);
      const made = invoicesOf(await Promise.all(shops.map(one)));
      expect(gapsIn(made)).toEqual([]);
      expect(new Set(made.map(({ id }) => id)).size).toBe(60);
      // Each has taken a hundred.
      const hundreds = new Set(made.map(({ id }) => Math.ceil(Number(id) / 100)));
      expect(hundreds).toEqual(new Set([1, 2, 3]));
    },
    SLOW_MS,
  );

  it(
    'give their worker ids back when they are stopped',
    async () => {
      const holders = (await registry.workers()).filter(({ holder }) => holder !== undefined);
      expect(holders.map(({ holder }) => holder!.application)).toEqual(['shop', 'shop', 'shop']);
      const ends = await Promise.all(replicas.map((replica) => replica.stop()));
      expect(ends.map(({ output }) => output.includes('active -> released'))).toEqual([
        true,
        true,
        true,
      ]);
      expect((await registry.workers()).filter(({ holder }) => holder !== undefined)).toEqual([]);
    },
    SLOW_MS,
  );
});

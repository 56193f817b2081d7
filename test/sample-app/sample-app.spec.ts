/**
 * The sample app as users run it: one process on embedded defaults, three processes on one Redis
 * and one PostgreSQL that fail, and `npm run start:replicas` on each store.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redisSupport } from '../../lib/stores/redis/index.js';
import { layouts } from '../../lib/core/layout/presets.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { command } from '../cli/run-command.js';
import { onPostgres, type OwnDatabase, ownDatabase } from '../own-database.js';
import { ROOT } from '../support/made-once.mjs';
import { until } from '../until.js';
import { BuiltShop, type ShopProcess } from './shop-process.js';

const SLOW_MS = 600_000;
const TEA = { product: 'tea', quantity: 2 };

interface Order {
  readonly id: string;
  readonly number: string;
}

interface Report {
  readonly at: string;
  readonly madeBy: string;
}

let built: BuiltShop;

beforeAll(async () => {
  built = await BuiltShop.build();
}, SLOW_MS);

/** This many requests at once, from each shop in turn. */
async function order(count: number, ...shops: readonly ShopProcess[]): Promise<Order[]> {
  const posts = Array.from({ length: count }, (_, n) => shops[n % shops.length]!);
  const answers = await Promise.all(posts.map((shop) => shop.post<Order>('/orders', TEA)));
  expect(answers.filter(({ status }) => status !== 201)).toEqual([]);
  return answers.map(({ body }) => body);
}

/** Missing and surplus numbers compared with 1, 2, 3, and so on. */
function gapsIn(orders: readonly Order[]): number[] {
  const counts = orders.map(({ number }) => Number(/^ORD-\d{4}-(\d{6})$/.exec(number)![1]));
  return counts.toSorted((one, other) => one - other).filter((count, n) => count !== n + 1);
}

async function reports(shop: ShopProcess): Promise<Report[]> {
  return (await shop.get<Report[]>('/sales-reports')).body;
}

describe('the sample app on embedded defaults', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-shop-'));
  let shop: ShopProcess;

  beforeAll(async () => {
    shop = await built.startAsBuilt(folder);
  }, SLOW_MS);
  afterAll(async () => {
    await shop.stop();
    rmSync(folder, { recursive: true });
  }, SLOW_MS);

  it('serves the addresses in the README, and accepts operators with the logged password', async () => {
    const readme = readFileSync(`${ROOT}/README.md`, 'utf8');
    const named = Array.from(readme.matchAll(/localhost:3000([\w/-]+)/g), ([, path]) => path!);
    expect(named).toContain('/orders/id');
    const paths = [...named, '/sales-reports', '/health', '/health/ready', '/metrics'];
    const answers = await Promise.all(paths.map((path) => fetch(shop.url + path)));
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
    const password = /user operator, password (\w+)/.exec(shop.output)?.[1];
    const headers = { authorization: `Basic ${btoa(`operator:${password}`)}` };
    expect((await fetch(`${shop.url}/snowflake`)).status).toBe(401);
    expect((await fetch(`${shop.url}/snowflake`, { headers })).status).toBe(200);
  });

  it('accepts orders at once, with gapless numbers and pages in ID order', async () => {
    const made = await order(25, shop);
    expect(gapsIn(made)).toEqual([]);
    const first = (await shop.get<Order[]>('/orders')).body;
    const second = (await shop.get<Order[]>(`/orders?after=${first.at(-1)!.id}`)).body;
    expect([first.length, second.length]).toEqual([20, 5]);
    const byId = made.toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
    expect([...first, ...second]).toEqual(byId);
    expect((await shop.get(`/orders/${byId[0]!.id}`)).body).toEqual(byId[0]);
    const issued = /^snowflake_ids_issued_total\{.*\} (\d+)$/m;
    const metrics = await (await fetch(`${shop.url}/metrics`)).text();
    expect(Number(issued.exec(metrics)?.[1])).toBeGreaterThan(25);
  });

  it.each([
    { path: '/orders/abc' },
    { path: '/orders/007' },
    { path: '/orders/9223372036854775807' },
    { path: '/orders?after=-1' },
    { path: '/orders', sent: { ...TEA, quantity: '2' } },
    { path: '/orders', sent: { ...TEA, id: '7' } },
  ])('rejects $path with $sent by 400 and a reason', async ({ path, sent }) => {
    const { status, body } = await (sent ? shop.post(path, sent) : shop.get(path));
    expect({ status, body }).toMatchObject({ status: 400, body: { message: expect.anything() } });
  });

  it(
    'locks its database, and takes it over from a killed process',
    async () => {
      await expect(built.start({}, folder)).rejects.toThrow('Another process uses .data/postgres');
      const [before] = await order(1, shop);
      await shop.kill();
      shop = await built.start({}, folder);
      const [after] = await order(1, shop);
      expect(Number(after!.number.slice(-6))).toBe(Number(before!.number.slice(-6)) + 1);
      expect(after!.id).not.toBe(before!.id);
      expect((await shop.get(`/orders/${before!.id}`)).body).toEqual(before);
    },
    SLOW_MS,
  );

  it(
    'releases its worker ID and exits when stopped',
    async () => {
      expect(await shop.stop()).toBe('SIGTERM');
      expect(shop.output).toContain('active -> released');
      expect(shop.output).not.toContain('ERROR');
    },
    SLOW_MS,
  );

  it('starts on an existing database only with a registry for all processes', async () => {
    const starting = built.start({ DATABASE_URL: 'postgres://127.0.0.1:1/shop' });
    await expect(starting).rejects.toThrow('Set SNOWFLAKE_SUPPORT as well');
  });
});

describe('three replicas on one Redis and one PostgreSQL', () => {
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let database: OwnDatabase;
  let replicas: ShopProcess[];

  beforeAll(async () => {
    redis = await startRedis();
    database = await ownDatabase(process.env['DATABASE_URL']!);
    const support = `${redis.url}?namespace=shop`;
    const env = { SNOWFLAKE_SUPPORT: support, DATABASE_URL: database.url };
    // The first process creates the tables.
    const first = await built.start(env);
    replicas = [first, ...(await Promise.all([built.start(env), built.start(env)]))];
  }, SLOW_MS);
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await Promise.all([redis.stop(), database.drop()]);
  }, SLOW_MS);

  it('generate no duplicate ID, and no gap in the numbers', async () => {
    const made = await order(300, ...replicas);
    expect(new Set(made.map(({ id }) => id)).size).toBe(300);
    expect(gapsIn(made)).toEqual([]);
    const workerIds = new Set(made.map(({ id }) => layouts.snowflake().parse(id).workerId));
    expect(workerIds).toEqual(new Set(replicas.map(({ workerId }) => workerId)));
  });

  it(
    'create each report once, even if the last reporter is killed',
    async () => {
      const count = async () => (await reports(replicas[0]!)).length;
      await until(async () => (await count()) >= 1);
      const [{ madeBy }] = (await reports(replicas[0]!)) as [Report];
      const killed = replicas.find(({ pid }) => madeBy.endsWith(` ${pid}`))!;
      replicas = replicas.filter((replica) => replica !== killed);
      const before = await count();
      await killed.kill();
      await until(async () => (await count()) >= before + 2);
      const made = await reports(replicas[0]!);
      expect(made[0]!.madeBy).not.toBe(madeBy);
      const times = made.map(({ at }) => Date.parse(at)).toReversed();
      expect(times).toEqual(times.map((_, n) => times[0]! + n * 10_000));
      // The database would reject a duplicate.
      expect(replicas.map(({ output }) => output.includes('duplicate key'))).not.toContain(true);
    },
    SLOW_MS,
  );

  it('ship an order once, whichever replicas receive the request', async () => {
    const made = await order(10, ...replicas);
    const shops = [...replicas, ...replicas, ...replicas];
    const asked = made.flatMap(({ id }) => shops.map((shop) => shop.post(`/orders/${id}/ship`)));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(10);
    expect(statuses.filter((status) => status === 409)).toHaveLength(asked.length - 10);
  });

  it(
    'release worker IDs, generate IDs without Redis, and are not ready without the database',
    async () => {
      const [one, other] = replicas as [ShopProcess, ShopProcess];
      await other.stop();
      const registry = redisSupport({ redis: redis.url, namespace: 'shop' });
      const given = (await registry.workers()).find(({ workerId }) => workerId === other.workerId);
      expect(given?.holder).toBeUndefined();
      await registry.close();

      const readiness = () => one.get<{ status: string }>('/health/ready');
      await redis.stop();
      await until(async () => (await readiness()).body.status === 'degraded');
      expect((await readiness()).status).toBe(200);
      await order(1, one);

      const name = new URL(database.url).pathname.slice(1);
      // Ends only the sessions of the shop.
      await onPostgres(process.env['DATABASE_URL']!, `DROP DATABASE ${name} WITH (FORCE)`);
      expect((await readiness()).status).toBe(503);
      expect((await one.get('/health')).status).toBe(200);
      expect(await one.stop()).toBe('SIGTERM');
    },
    SLOW_MS,
  );
});

describe('npm run start:replicas', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-stores-'));
  const own = `namespace=${randomUUID()}`;
  const ownTable = `${own}&replicated=false&table=shop_registry`;

  /** An operator's value for SNOWFLAKE_SUPPORT. */
  const STORES = [
    { store: 'servers of their own', support: '', count: 3 },
    { store: 'postgres', support: `${process.env['DATABASE_URL']}?${ownTable}`, count: 2 },
    { store: 'mariadb', support: `${process.env['MYSQL_URL']}?${ownTable}`, count: 2 },
    { store: 'etcd', support: `${process.env['ETCD_URL']}?${own}`, count: 2 },
    { store: 'file', support: `file:${folder}?${own}`, count: 2 },
    { store: 'static', support: 'static:7', count: 2 },
  ];

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(STORES)(
    'starts replicas on $store, each with a worker ID that it releases',
    async ({ store, support, count }) => {
      const database = support === '' ? undefined : await ownDatabase(process.env['DATABASE_URL']!);
      const env = { SNOWFLAKE_SUPPORT: support, DATABASE_URL: database?.url ?? '' };
      const said = await built.replicas(count, env);
      const rows = said.matchAll(/^http\S+ +(?<workerId>\d+) +\d{17,19}$/gm);
      const workerIds = Array.from(rows, ({ groups }) => groups!['workerId']);
      expect(new Set(workerIds).size).toBe(count);
      await database?.drop();
      if (support === '' || store === 'static') return;
      const { lines } = await command(['workers', '--json', '--all', '--support', support]);
      const [counts, ...records] = lines.map((line) => JSON.parse(line) as object).toReversed();
      expect(counts).toMatchObject({ held: 0 });
      expect(records.length).toBeGreaterThanOrEqual(count);
    },
    SLOW_MS,
  );
});

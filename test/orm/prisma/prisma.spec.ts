/**
 * What the extension must do with every major of Prisma on every database.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { BitLayout, startSnowflake, type RunningSnowflake } from 'nestjs-snowflake';
import { snowflakeIds } from 'nestjs-snowflake/prisma';
import { FILLED_PATHS, newCustomer } from './support/filled-paths.js';
import {
  openClient,
  type Major,
  FILLED,
  openDatabase,
  type OpenDatabase,
  type Provider,
  type Shop,
  type Table,
} from './support/shop.js';

const WORKER_ID = 7;
/** The worker is last, so that every id is odd: a number would keep one of two even ids. */
const layout = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['sequence', 12],
    ['worker', 10],
  ],
});
/** Beyond 2^53, odd, and not ours. */
const PRESET = 911704225635921921n;
const INSTALLING_MS = 600_000;

describe.each<[Major, Provider]>([
  [6, 'postgresql'],
  [6, 'mysql'],
  [7, 'postgresql'],
  [7, 'mysql'],
])('Prisma %d on %s', (major, provider) => {
  let snowflake: RunningSnowflake;
  let database: OpenDatabase;
  let plain: Shop;
  let shop: Shop;

  beforeAll(async () => {
    snowflake = await startSnowflake({ workerId: WORKER_ID, layout });
    database = await openDatabase(provider);
    plain = await openClient(major, database);
    shop = plain.$extends(snowflakeIds());
  }, INSTALLING_MS);
  afterEach(() => database.clear());
  afterAll(async () => {
    await plain?.$disconnect();
    await database?.drop();
    await snowflake?.close();
  });

  /** All ids that the extension should have made, as they are stored. */
  const storedIds = async (): Promise<Partial<Record<Table, string[]>>> => {
    const found: Partial<Record<Table, string[]>> = {};
    for (const [table, columns] of Object.entries(FILLED) as [Table, readonly string[]][]) {
      for (const column of columns) {
        const ids = await database.idsIn(table, column);
        if (ids.length > 0) found[table] = [...(found[table] ?? []), ...ids];
      }
    }
    return found;
  };

  const isOurs = (id: string): boolean =>
    BigInt(id) % 2n === 1n && layout.parse(id).workerId === WORKER_ID;

  const paths = FILLED_PATHS.filter(
    ({ onlyPostgres }) => provider === 'postgresql' || onlyPostgres !== true,
  );

  describe('filled by', () => {
    it.each(paths)('$title', async ({ write, rows }) => {
      await write(shop);
      const stored = await storedIds();
      const counts = Object.entries(stored).map(([table, ids]) => {
        const columns = FILLED[table as Table].length;
        return [table, ids.length / columns];
      });
      expect(Object.fromEntries(counts)).toEqual(rows);
      const ids = Object.values(stored).flat();
      expect(ids.filter((id) => !isOurs(id))).toEqual([]);
      expect(new Set(ids).size).toBe(ids.length);
    });

    it('the ids that are returned, a bigint or text as the field is declared', async () => {
      const data = { profile: { create: { badges: { create: { title: 'a' } } } } };
      const include = { profile: { include: { badges: true } } };
      const made = await shop.customer.create({ data: { ...newCustomer(), ...data }, include });
      const profile = made['profile'] as { id: bigint; badges: { id: string }[] };
      const stored = await storedIds();
      expect([made.id, profile.id].map((id) => [id])).toEqual([
        stored.customer?.map(BigInt),
        stored.profile?.map(BigInt),
      ]);
      expect(profile.badges.map(({ id }) => id)).toEqual(stored.badge);
    });

    it('ids in the order of the rows', async () => {
      const emails = Array.from({ length: 1000 }, newCustomer);
      await shop.customer.createMany({ data: emails });
      const read = await shop.customer.findMany({ orderBy: { id: 'asc' } });
      expect(read.map(({ email }) => ({ email }))).toEqual(emails);
    });

    it('nothing else: what has a value or another default keeps it', async () => {
      const { id } = await shop.order.create({ data: { id: PRESET, ticket: 'mine' } });
      expect(id).toBe(PRESET);
      expect(await storedIds()).toEqual({ shop_order: [String(PRESET), 'mine'] });
      const foreign = await shop.foreign.create({ data: {} });
      expect(foreign).toMatchObject({ made: 'by the database' });
      expect(foreign['uuid']).toMatch(/^[\da-f]{8}-/);
      expect(foreign.id).toBeLessThan(100);
    });

    it('another generator, by its name', async () => {
      await using tickets = await startSnowflake({ workerId: 9, layout, name: 'tickets' });
      const { id } = await plain
        .$extends(snowflakeIds({ generator: 'tickets' }))
        .order.create({ data: {} });
      expect(tickets.ids.layout.parse(id).workerId).toBe(9);
    });
  });

  describe('beside that', () => {
    it('an upsert that finds its row leaves the key', async () => {
      const { id, email } = await shop.customer.create({ data: newCustomer() });
      const upsert = { where: { email }, create: { email }, update: { name: 'again' } };
      expect(await shop.customer.upsert(upsert)).toMatchObject({ id, name: 'again' });
      expect(await storedIds()).toEqual({ customer: [String(id)] });
    });

    it('arguments are not changed', async () => {
      const freeze = <T>(value: T): T => {
        if (typeof value === 'object' && value !== null) Object.values(value).forEach(freeze);
        return Object.freeze(value);
      };
      const lines = { create: [{ product: 'a', parts: { create: { material: 'b' } } }] };
      await shop.customer.create({
        data: freeze({ ...newCustomer(), orders: { create: { lines } } }),
      });
      await shop.customer.createMany({ data: freeze([newCustomer()]) });
      expect((await storedIds()).customer).toHaveLength(2);
    });

    it('an extension before it may add rows', async () => {
      const adding = {
        query: {
          customer: {
            create: ({ args, query }: { args: { data: object }; query: (a: object) => unknown }) =>
              query({ data: { ...args.data, orders: { create: {} } } }),
          },
        },
      };
      const both = plain.$extends(adding).$extends(snowflakeIds());
      await both.customer.create({ data: newCustomer() });
      expect((await storedIds()).shop_order).toHaveLength(2);
    });

    it('a Json field named data is left as it is', async () => {
      const data = { create: 'x', badges: { create: { title: 'no row' } } };
      const profile = { create: { data } };
      const { id } = await shop.customer.create({ data: { ...newCustomer(), profile } });
      await shop.customer.update({
        where: { id },
        data: { profile: { update: { data: { anything: data } } } },
      });
      expect(await shop.profile.findMany()).toMatchObject([{ data: { anything: data } }]);
      expect(await storedIds()).not.toHaveProperty('badge');
    });

    it.each([
      ['a number that lost digits', Number(PRESET)],
      ['a fraction', 1.5],
    ])('%s is refused before it is sent', async (_what, id) => {
      const create = shop.order.create({ data: { id } });
      await expect(create).rejects.toMatchObject({ code: 'ID_INVALID', details: { value: id } });
      expect(await storedIds()).toEqual({});
    });

    it.each<[string, (on: Shop) => Promise<unknown>]>([
      ['a query', (on) => on.order.create({ data: {} })],
      ['a batch', (on) => on.$transaction([on.order.create({ data: {} })])],
      ['a transaction', (on) => on.$transaction((within) => within.order.create({ data: {} }))],
    ])('%s without a running generator is refused, and works after that', async (_what, write) => {
      const absent = plain.$extends(snowflakeIds({ generator: 'absent' }));
      await expect(write(absent)).rejects.toMatchObject({ code: 'NOT_READY' });
      expect(await storedIds()).toEqual({});
      await write(shop);
      expect((await storedIds()).shop_order).toHaveLength(2);
    });

    describe('refused by the database', () => {
      const refused = /null value|null constraint|default value|Null constraint/i;

      it.each<[string, (on: Shop) => Promise<unknown>]>([
        ['create', (on) => on.order.create({ data: {} })],
        ['createMany', (on) => on.order.createMany({ data: [{}] })],
        [
          'nested create',
          (on) =>
            on.order.create({ data: { id: 1n, ticket: '1', tags: { create: { label: 'a' } } } }),
        ],
      ])('%s of a client without the extension', async (_what, write) => {
        await expect(write(plain)).rejects.toThrow(refused);
        expect(await storedIds()).toEqual({});
      });

      it('raw SQL', async () => {
        const insert = shop.$executeRawUnsafe(`INSERT INTO tag (label) VALUES ('raw')`);
        await expect(insert).rejects.toThrow(refused);
        expect(await storedIds()).toEqual({});
      });
    });
  });
});

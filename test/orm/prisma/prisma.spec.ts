/**
 * The extension with every major of Prisma on every database, and then the guide itself. Both use
 * the same generated clients, so they share a file.
 */
import { readFile, writeFile } from 'node:fs/promises';
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
  type Row,
  type Shop,
  type Table,
  faultsOf,
  noDownloads,
  adapterFor,
  generatedClients,
  prismaClient,
} from './support/shop.js';
import { Injectable } from '@nestjs/common';
import { ROOT } from '../../tidy/tree.js';
import { runWith } from '../../package/command.js';
import { startApplication } from '../typeorm/support/databases.js';

const WORKER_ID = 7;
/** The worker is the last field, so every ID is odd. A number would keep every other even ID. */
const layout = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['sequence', 12],
    ['worker', 10],
  ],
});
/** Above 2^53, odd, and from another system. */
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

  /** All stored IDs that the extension should have generated. */
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

  describe('fills rows by', () => {
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

    it('create, and returns IDs as a bigint or string, as the field is declared', async () => {
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

    it('createMany, in the order of the rows', async () => {
      const emails = Array.from({ length: 1000 }, newCustomer);
      await shop.customer.createMany({ data: emails });
      const read = await shop.customer.findMany({ orderBy: { id: 'asc' } });
      expect(read.map(({ email }) => ({ email }))).toEqual(emails);
    });

    it('nested create, with the ID of the parent below those of its children', async () => {
      const lines = { create: { product: 'a', parts: { create: { material: 'b' } } } };
      await shop.customer.create({ data: { ...newCustomer(), orders: { create: { lines } } } });
      const { customer, shop_order: orders, line, part } = await storedIds();
      const ids = [customer, orders, line, part].map((one) => BigInt(one![0]!));
      expect(ids).toEqual(ids.toSorted((one, other) => Number(one - other)));
    });

    it('create, and leaves given values and other defaults unchanged', async () => {
      const { id } = await shop.order.create({ data: { id: PRESET, ticket: 'mine' } });
      expect(id).toBe(PRESET);
      expect(await storedIds()).toEqual({ shop_order: [String(PRESET), 'mine'] });
      const foreign = await shop.foreign.create({ data: {} });
      expect(foreign).toMatchObject({ made: 'by the database' });
      expect(foreign['uuid']).toMatch(/^[\da-f]{8}-/);
      expect(foreign.id).toBeLessThan(100);
    });

    it('create with another generator, selected by name', async () => {
      await using tickets = await startSnowflake({ workerId: 9, layout, name: 'tickets' });
      const { id } = await plain
        .$extends(snowflakeIds({ generator: 'tickets' }))
        .order.create({ data: {} });
      expect(tickets.ids.layout.parse(id).workerId).toBe(9);
    });
  });

  describe('the extended client', () => {
    it('does not change the key if an upsert finds its row', async () => {
      const { id, email } = await shop.customer.create({ data: newCustomer() });
      const upsert = { where: { email }, create: { email }, update: { name: 'again' } };
      expect(await shop.customer.upsert(upsert)).toMatchObject({ id, name: 'again' });
      expect(await storedIds()).toEqual({ customer: [String(id)] });
    });

    it('does not change its arguments', async () => {
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

    it('fills rows that an earlier extension adds', async () => {
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

    it('leaves a Json field named data unchanged', async () => {
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
    ])('refuses %s before it is sent', async (_what, id) => {
      const create = shop.order.create({ data: { id } });
      await expect(create).rejects.toMatchObject({ code: 'ID_INVALID', details: { value: id } });
      expect(await storedIds()).toEqual({});
    });

    const lost = Number(PRESET);
    it.each<[string, (on: Shop) => Promise<unknown>]>([
      ['findUnique', (on) => on.order.findUnique({ where: { id: lost } })],
      ['findMany', (on) => on.order.findMany({ where: { OR: [{ NOT: { id: { in: [lost] } } }] } })],
      ['a foreign key', (on) => on.order.findMany({ where: { customerId: { equals: lost } } })],
      ['a relation', (on) => on.order.findMany({ where: { customer: { id: lost } } })],
      ['a list', (on) => on.customer.findMany({ where: { orders: { some: { id: lost } } } })],
      ['a cursor', (on) => on.order.findMany({ cursor: { id: lost } })],
      ['include', (on) => on.customer.findMany({ include: { orders: { where: { id: lost } } } })],
      ['groupBy', (on) => on.order.groupBy({ by: ['id'], having: { id: { gt: lost } } })],
      ['delete', (on) => on.order.delete({ where: { id: lost } })],
      ['updateMany', (on) => on.order.updateMany({ where: { id: lost }, data: {} })],
      ['connect', (on) => on.order.create({ data: { customer: { connect: { id: lost } } } })],
      [
        'connectOrCreate',
        (on) =>
          on.order.create({
            data: { customer: { connectOrCreate: { where: { id: lost }, create: newCustomer() } } },
          }),
      ],
      ['a foreign key in data', (on) => on.order.create({ data: { customerId: lost } })],
      ['createMany', (on) => on.order.createMany({ data: [{ customerId: lost }] })],
      ['raw SQL', (on) => on.$queryRaw`SELECT id FROM shop_order WHERE id = ${lost}`],
      ['a list in raw SQL', (on) => on.$executeRawUnsafe('DELETE FROM tag WHERE id = $1', [lost])],
      ['a batch', (on) => on.$transaction([on.$executeRawUnsafe('SELECT ?', lost)])],
    ])('refuses a number that lost digits in %s', async (_what, ask) => {
      await expect(ask(shop)).rejects.toMatchObject({
        code: 'ID_INVALID',
        details: { value: lost },
      });
      expect(await storedIds()).toEqual({});
    });

    it('sends other numbers of raw SQL unchanged', async () => {
      const one = provider === 'mysql' ? '?' : '$1::float8';
      for (const number of [1.5, -7, Number.MAX_SAFE_INTEGER]) {
        const [row] = await shop.$queryRawUnsafe(`SELECT ${one} = ${number} AS same`, number);
        expect(Number(row!['same'])).toBe(1);
      }
    });

    // MariaDB has no lateral joins, and Prisma 6 rounds IDs in them.
    const joining = major === 7 && provider === 'postgresql' ? ['join'] : [];
    it.each([...joining, 'query'])(
      'keeps the digits of nested IDs read by a %s',
      async (relationLoadStrategy) => {
        const data = { ...newCustomer(), orders: { create: [{}, {}] } };
        const { id } = await shop.customer.create({ data });
        const read = await shop.customer.findUnique({
          where: { id },
          include: { orders: { orderBy: { id: 'asc' } } },
          ...(major === 7 && { relationLoadStrategy }),
        });
        const ids = (read['orders'] as Row[]).map((order) => String(order.id));
        expect(ids).toEqual(await database.idsIn('shop_order', 'id'));
      },
    );

    it('refuses Number(id) of each of 200 rows from a bulk insert', async () => {
      await shop.order.createMany({ data: Array.from({ length: 200 }, () => ({})) });
      const rows = await shop.order.findMany();
      const found = rows.map(async ({ id }) => {
        const asked = shop.order.findUnique({ where: { id: Number(id) } });
        return asked.catch((error: { code?: string }) => error.code);
      });
      expect(new Set(await Promise.all(found))).toEqual(new Set(['ID_INVALID']));
    });

    it.each<[string, (on: Shop) => Promise<unknown>]>([
      ['a query', (on) => on.order.create({ data: {} })],
      ['a batch', (on) => on.$transaction([on.order.create({ data: {} })])],
      ['a transaction', (on) => on.$transaction((within) => within.order.create({ data: {} }))],
    ])('refuses %s without a running generator, and works after that', async (_what, write) => {
      const absent = plain.$extends(snowflakeIds({ generator: 'absent' }));
      await expect(write(absent)).rejects.toMatchObject({ code: 'NOT_READY' });
      expect(await storedIds()).toEqual({});
      await write(shop);
      expect((await storedIds()).shop_order).toHaveLength(2);
    });

    describe('the database refuses', () => {
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

/*
 * The guide itself: its service compiles and runs in a Nest application, and its schema creates
 * tables without defaults.
 */
const MAJORS = [6, 7] as const;
const SLOW = 600_000;

const TYPES = `
import { snowflakeIds } from 'nestjs-snowflake/prisma';
import { PrismaClient } from './generated/prisma/client.js';

declare const options: ConstructorParameters<typeof PrismaClient>[0];
const prisma = new PrismaClient(options).$extends(snowflakeIds());

export async function types(): Promise<unknown> {
  const order = await prisma.order.create({ data: {}, include: { lines: true } });
  const id: bigint = order.id;
  const ticket: string = order.ticket;
  const numbers: bigint[] = order.lines.map((line) => line.number);
  // @ts-expect-error An ID is not a number.
  const number: number = order.id;
  // @ts-expect-error A text ID is no number either. (The extended create of Prisma 7 accepts it.)
  await prisma.order.update({ where: { id }, data: { ticket: 7 } });
  // @ts-expect-error This field does not exist.
  await prisma.order.create({ data: { absent: 7 } });
  // @ts-expect-error The client is not of type any.
  prisma.absent;
  await prisma.$transaction(async (within) => within.order.create({ data: {} }));
  return [id, ticket, numbers, number];
}
`;

/** Version 6.19 contains this engine, which uses an adapter. */
const CONFIG = `
import { PrismaPg } from '@prisma/adapter-pg';

const connectionString = process.env['DATABASE_URL'];
export default {
  engine: 'js',
  experimental: { adapter: true },
  adapter: async () => new PrismaPg({ connectionString }),
};
`;

const blocksOf = (text: string): string[] =>
  [...text.matchAll(/^```\n(.*?)^```$/gms)].map(([, block = '']) => block);

let databases: OpenDatabase[] = [];

beforeAll(async () => {
  databases = await Promise.all(MAJORS.map(() => openDatabase('postgresql')));
});
afterAll(() => Promise.all(databases.map((database) => database.drop())));

describe.each(MAJORS)('with Prisma %d', (major) => {
  beforeAll(() => generatedClients(major), SLOW);

  it('the service of the guide compiles, with IDs as bigint or string', async () => {
    const guide = await readFile(`${ROOT}/docs/guides/prisma.md`, 'utf8');
    const service = blocksOf(guide).find((block) => block.includes('PrismaService'))!;
    const wrong = `${service}\nlet a: number = '';`;
    expect(await faultsOf(major, { guide: service, types: TYPES, wrong })).toEqual({
      guide: [],
      types: [],
      wrong: [expect.stringMatching(/^TS2322 /)],
    });
  });

  it('a service that extends its client fills IDs, and keeps its methods', async () => {
    const database = databases[MAJORS.indexOf(major)]!;
    const PrismaClient = await prismaClient(major, 'postgresql');
    const adapter = await adapterFor(major, database);
    @Injectable()
    class PrismaService extends PrismaClient {
      readonly events: string[] = [];

      constructor() {
        super({ adapter });
        return this.$extends(snowflakeIds()) as unknown as this;
      }

      orderOnce() {
        return this.order.create({ data: { tags: { create: { label: 'a' } } } });
      }

      async onModuleDestroy() {
        this.events.push('destroyed');
        await this.$disconnect();
      }
    }
    const application = await startApplication({ providers: [PrismaService] });
    const service = application.get(PrismaService);
    const { id } = await service.orderOnce();
    const [tag] = await service.tag.findMany();
    expect([await database.idsIn('shop_order', 'id'), await database.idsIn('tag', 'id')]).toEqual([
      [String(id)],
      [String(tag!.id)],
    ]);
    await application.close();
    expect(service.events).toEqual(['destroyed']);
  });
});

it(
  'prisma migrate makes marked columns without a default (its engine for 7 is a download)',
  async () => {
    const folder = await generatedClients(6);
    const diff = ['migrate', 'diff', '--from-empty', '--to-schema-datamodel', 'postgresql/schema'];
    const env = { ...noDownloads(folder), DATABASE_URL: databases[0]!.url.href };
    const program = `${folder}/node_modules/prisma/build/index.js`;
    await writeFile(`${folder}/migrate.config.ts`, CONFIG);
    const config = ['--config', 'migrate.config.ts', '--script'];
    const sql = await runWith(env, folder, process.execPath, program, ...diff, ...config);
    expect(sql).toMatch(/CREATE TABLE "customer" \(\s+"id" BIGINT NOT NULL,/);
    expect(sql).toContain('"ticket_text" VARCHAR(20) NOT NULL,');
    expect(sql).toContain(`"made" VARCHAR(40) NOT NULL DEFAULT concat('by the ', 'database'),`);
  },
  SLOW,
);

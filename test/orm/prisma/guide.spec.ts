/**
 * The guide, followed: its service compiles and runs in a Nest application, and its schema becomes
 * tables without defaults.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { snowflakeIds } from 'nestjs-snowflake/prisma';
import { ROOT } from '../../tidy/tree.js';
import { runWith } from '../../package/command.js';
import { startApplication } from '../typeorm/support/databases.js';
import {
  faultsOf,
  noDownloads,
  adapterFor,
  generatedClients,
  prismaClient,
  openDatabase,
  type OpenDatabase,
} from './support/shop.js';

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
  // @ts-expect-error An id is no number.
  const number: number = order.id;
  // @ts-expect-error Nor is one that is text. (Prisma 7 lets it pass in create, once extended.)
  await prisma.order.update({ where: { id }, data: { ticket: 7 } });
  // @ts-expect-error A field has a name.
  await prisma.order.create({ data: { absent: 7 } });
  // @ts-expect-error The client is not any.
  prisma.absent;
  await prisma.$transaction(async (within) => within.order.create({ data: {} }));
  return [id, ticket, numbers, number];
}
`;

/** The engine that is in the package of 6.19, which asks by an adapter. */
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

  it('the service of the guide compiles, and ids are bigint or text', async () => {
    const guide = await readFile(`${ROOT}/docs/guides/prisma.md`, 'utf8');
    const service = blocksOf(guide).find((block) => block.includes('PrismaService'))!;
    const wrong = `${service}\nlet a: number = '';`;
    expect(await faultsOf(major, { guide: service, types: TYPES, wrong })).toEqual({
      guide: [],
      types: [],
      wrong: [expect.stringMatching(/^TS2322 /)],
    });
  });

  it('a service that extends its client is filled, and keeps its methods', async () => {
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

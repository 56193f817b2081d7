/**
 * An application by the Nest CLI 12 with Prisma 7, cuid keys and rows takes over ids of this
 * library by what start.md, sql.md, moving.md, ids-in-json.md and prisma.md show.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { edited, shown, TakenOver, type OrderRow } from './taken-over.js';

const PACKAGES = [
  ...['prisma', '@prisma/client', '@prisma/adapter-pg', '@prisma/driver-adapter-utils'].map(
    (name) => `${name}@7.10.0`,
  ),
  '@prisma/schema-engine-wasm@8.1.0-2.59be4fda12412a79eeb9c2ae727b6aa723593323',
];

/** The models of the guide with fields of the application's own, and as they were before. */
const after = edited(shown('guides/prisma.md', '', 'model Customer'), {
  '  orders Order[]': '  orders Order[]\n  name String @unique',
  '  customerId BigInt': '  customerId BigInt\n  note String',
});
const before = edited(after, {
  'BigInt  @id @default(dbgenerated())': 'String @id @default(cuid())',
  'BigInt   @id @default(dbgenerated())': 'String @id @default(cuid())',
  '@unique @default(dbgenerated())': '@unique @default(nanoid(20))',
  'customerId BigInt': 'customerId String',
});

const extended = shown('guides/prisma.md', '', 'export class PrismaService');
const plain = edited(extended, {
  "import { snowflakeIds } from 'nestjs-snowflake/prisma';\n": '',
  '    return this.$extends(snowflakeIds()) as unknown as this;\n': '',
});

const moving = readFileSync('docs/guides/moving.md', 'utf8');
const [, createOnly = ''] = /`(prisma migrate dev --\S+)`/.exec(moving)!;
const [, listed = ''] = /`('public\.customers_old_ids', \S+)`/.exec(moving)!;
const kept = edited(listed, { customers: 'Customer', orders: 'Order' });

let folder: string;
let shop: TakenOver;
let head: string;
let old: readonly OrderRow[];
beforeAll(async () => {
  folder = await realpath(await mkdtemp(`${tmpdir()}/nestjs-snowflake-prisma-`));
  shop = await TakenOver.create(12, 'prisma', PACKAGES, folder);
  head = await shop.app.read('prisma/head.prisma');
});
afterAll(async () => {
  await shop?.drop();
  await rm(folder, { recursive: true, force: true });
});

/** At a terminal, where everything is confirmed. */
function prisma(command: string): Promise<string> {
  const confirmed = '(while sleep 1; do echo y; done) 2>&- |';
  return shop.sh(`${confirmed} script -qec 'npx ${command}' /dev/null`, {
    CHECKPOINT_DISABLE: '1',
    CI: '',
    PRISMA_SCHEMA_ENGINE_BINARY: `${shop.app.folder}/schema-engine.mjs`,
  });
}

const schema = (models: string) => shop.app.write('prisma/schema.prisma', `${head}\n${models}`);

describe('an application of Nest 12 with Prisma 7 and cuid keys', () => {
  it('has rows', async () => {
    await schema(before);
    await shop.app.write('src/prisma.service.ts', plain);
    await prisma('prisma migrate dev --name init');
    await prisma('prisma generate');
    const { paths, rows } = await shop.run('old');
    expect(paths.length).toBeGreaterThan(5);
    expect(rows.map(({ note }) => note).sort()).toEqual(paths.map((path) => `old ${path}`).sort());
    for (const { id } of rows) expect(id).toMatch(/^c\w{24}$/);
    old = rows;
  });

  it('gets the library by nest add of a packed file', async () => {
    await shop.addLibrary();
    await expect(prisma(`${createOnly} --name drift`)).rejects.toThrow('reset the "public" schema');
    const external = shown('guides/prisma.md', '', 'externalTables');
    const config = await shop.app.read('prisma.config.ts');
    const place = '  datasource:';
    await shop.app.write('prisma.config.ts', edited(config, { [place]: `${external}${place}` }));
    expect(await shop.app.read('src/app.module.ts')).toContain('SnowflakeModule.forRootAsync');
  });

  it('gets wide keys in a migration, and would lose them by that of Prisma', async () => {
    const [widen] = await shop.widening('Customer', 'Order');
    await schema(after);
    await prisma(`${createOnly} --name widen`);
    const isMigration = (path: string) => path.endsWith('_widen/migration.sql');
    const [path = ''] = Object.keys(await shop.app.state()).filter(isMigration);
    expect(await shop.app.read(path)).toContain('DROP COLUMN "id"');
    await shop.app.write(path, widen);
    await prisma('prisma migrate deploy');
    const config = await shop.app.read('prisma.config.ts');
    const registry = "'public.snowflake_registry'";
    await shop.app.write(
      'prisma.config.ts',
      edited(config, { [registry]: `${registry}, ${kept}` }),
    );
    expect(await prisma('prisma migrate dev')).toContain('Already in sync');
    await prisma('prisma generate');
  });

  it('inserts on every path, loses and repeats nothing', async () => {
    await shop.app.write('src/prisma.service.ts', extended);
    const json = shown('guides/ids-in-json.md', 'ts', 'providers: [{ provide: APP_INTERCEPTOR');
    const exported = { 'class AppModule': 'export class JsonModule' };
    await shop.app.write('src/json.module.ts', edited(json, exported));
    const shopModule = await shop.app.read('src/shop.module.ts');
    const byNumber = {
      'where: { id } });\n  }\n\n  @Post': 'where: { id: BigInt(id) } });\n  }\n\n  @Post',
    };
    await shop.app.write('src/shop.module.ts', edited(shopModule, byNumber));
    for (const mark of ['new', 'newer']) {
      const { paths, rows, one, warnings } = await shop.run(mark);
      const notes = rows.map(({ note }) => note);
      expect(new Set(notes.slice(0, old.length))).toEqual(new Set(old.map(({ note }) => note)));
      // The ids of a first minute may be ahead of those of a second start.
      const made = notes.filter((note) => note.startsWith(`${mark} `));
      expect(made).toEqual(paths.map((path) => `${mark} ${path}`));
      for (const { id, note, customerId, customer } of rows) {
        expect([id, customer]).toEqual([
          expect.stringMatching(/^\d+$/),
          { id: customerId, name: note },
        ]);
      }
      expect(one.map(({ note }) => note)).toEqual(notes);
      const ids = rows
        .flatMap(({ id, customerId }) => [id, customerId])
        .filter((id) => +id > 2 ** 50);
      expect(ids.length).toBeGreaterThanOrEqual(2 * paths.length);
      expect(new Set(ids).size).toBe(ids.length);
      expect(warnings).toEqual([]);
      expect(await shop.held()).toMatch(/\b0 held\b/);
    }
  });
});

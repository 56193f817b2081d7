/**
 * An application by the Nest CLI 11 with TypeORM, integer keys and rows takes over ids of this
 * library by what start.md, sql.md, moving.md, scripts.md and typeorm.md show, and goes back.
 */
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { onPostgres } from '../own-database.js';
import { edited, linesOf, shown, TakenOver, type OrderRow } from './taken-over.js';

const PACKAGES = ['@nestjs/typeorm@11.0.3', 'typeorm@0.3.31', 'pg@8.23.1'];

/** The entities of the guide with columns of the application's own, and as they were before. */
const after = edited(shown('guides/typeorm.md', 'ts', 'export class Customer'), {
  'class Customer {': 'class Customer {\n  @Column({ unique: true })\n  name!: string;\n',
  'class Order {': 'class Order {\n  @Column()\n  note!: string;\n',
  '@ManyToOne(() => Customer)': '@ManyToOne(() => Customer, { cascade: true })',
});
const before = edited(after, {
  "import { SnowflakeId, idText } from 'nestjs-snowflake/typeorm';\n": '',
  'import { Column': 'import { Column, PrimaryGeneratedColumn',
  '@SnowflakeId()\n  id!: string': '@PrimaryGeneratedColumn()\n  id!: number',
  "@Column({ type: 'bigint', transformer: idText })\n  customerId!: string":
    '@Column()\n  customerId!: number',
});

const [migrate = ''] = linesOf(shown('guides/scripts.md', 'sh', 'migration:run'));
const [widen = '', narrow = ''] = linesOf(shown('guides/moving.md', 'sh', '--transaction each'));
const generate = edited(migrate, { 'migration:run': 'migration:generate' });

let folder: string;
let shop: TakenOver;
let old: readonly OrderRow[];
beforeAll(async () => {
  folder = await realpath(await mkdtemp(`${tmpdir()}/nestjs-snowflake-typeorm-`));
  shop = await TakenOver.create(11, 'typeorm', PACKAGES, folder);
});
afterAll(async () => {
  await shop?.drop();
  await rm(folder, { recursive: true, force: true });
});

const build = (): Promise<string> => shop.sh('npm run build');

/** As the rows were, whatever the driver calls a number. */
const asText = (rows: readonly OrderRow[]) =>
  rows.map(({ id, note, customerId }) => ({ id: `${id}`, note, customerId: `${customerId}` }));

describe('an application of Nest 11 with TypeORM and integer keys', () => {
  it('has rows', async () => {
    await shop.app.write('src/entities.ts', before);
    await build();
    await shop.sh(`${generate} src/migrations/Init -t 1700000000000`);
    await build();
    await shop.sh(migrate);
    const { paths, rows } = await shop.run('old');
    expect(paths.length).toBeGreaterThan(5);
    expect(rows.map(({ note }) => note)).toEqual(paths.map((path) => `old ${path}`));
    expect(rows.every(({ id }) => typeof id === 'number')).toBe(true);
    old = rows;
  });

  it('gets the library by nest add of a packed file', async () => {
    await shop.addLibrary();
    expect(await shop.app.read('src/app.module.ts')).toContain('SnowflakeModule.forRootAsync');
  });

  it('gets wide keys by the migration of the guide, and would lose them by that of TypeORM', async () => {
    const printed = await shop.widening('customer', 'orders');
    await mkdir(`${shop.app.folder}/migrations`);
    await shop.app.write('migrations/widen.sql', printed[0]);
    await shop.app.write('migrations/narrow.sql', printed[1]);
    const text = shown('guides/moving.md', 'ts', 'class WidenKeys');
    await shop.app.write('src/migrations/1764000000000-WidenKeys.ts', text);
    await shop.app.write('src/entities.ts', after);
    await build();
    expect(await shop.sh(`${generate} lost --dryrun`)).toContain('DROP COLUMN "id"');
    expect(await shop.sh(widen)).toContain('WidenKeys1764000000000 has been executed');
    expect(await shop.sh(`${generate} nothing --check`)).toContain('No changes in database schema');
  });

  it.each(['new', 'newer'])(
    'inserts on every path, loses and repeats nothing: %s',
    async (mark) => {
      const { paths, rows, one, warnings } = await shop.run(mark);
      expect(asText(rows.slice(0, old.length))).toEqual(asText(old));
      const made = rows.filter(({ note }) => note.startsWith(`${mark} `));
      expect(made.map(({ note }) => note)).toEqual(paths.map((path) => `${mark} ${path}`));
      for (const { id, note, customerId, customer } of rows) {
        expect([typeof id, customer]).toEqual(['string', { id: customerId, name: note }]);
      }
      expect(one.map(({ note }) => note)).toEqual(rows.map(({ note }) => note));
      const ids = rows
        .flatMap(({ id, customerId }) => [id, customerId])
        .filter((id) => +id > 2 ** 50);
      expect(new Set(ids).size).toBe(ids.length);
      expect(warnings).toEqual([]);
      expect(await shop.held()).toMatch(/\b0 held\b/);
    },
  );

  it('goes back when the new rows are deleted', async () => {
    const { DATABASE_URL: url } = shop.env as { DATABASE_URL: string };
    await onPostgres(
      url,
      'DELETE FROM orders WHERE id > 1000; DELETE FROM customer WHERE id > 1000',
    );
    await shop.sh(narrow);
    await shop.app.write('src/entities.ts', before);
    await build();
    expect(await shop.sh(`${generate} nothing --check`)).toContain('No changes in database schema');
  });
});

/**
 * drizzle-kit makes the tables on PostgreSQL, and finds nothing to change in them. What it answers
 * for MySQL leaves changes out, so it would prove nothing.
 *
 * It is installed once, by this test, since it brings packages that npm warns about.
 */
import { cp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { run } from '../../package/command.js';
import { madeOnce } from '../../support/made-once.mjs';
import { ROOT } from '../../tidy/tree.js';
import { ownDatabase } from '../../own-database.js';
import { customers, orders } from './support/postgres-shop.js';

const KIT = 'test/orm/drizzle/kit';
const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

interface Push {
  readonly statementsToExecute: string[];
}

interface Kit {
  pushSchema(tables: object, database: object): Promise<Push>;
}

let kit: Kit;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const folder = await madeOnce('drizzle-kit', [KIT], async (made) => {
    await cp(`${ROOT}/${KIT}`, made, { recursive: true });
    await run(made, 'npm', ...INSTALL);
  });
  kit = createRequire(`${folder}/package.json`)('drizzle-kit/api') as Kit;
}, 600_000);
afterAll(async () => {
  for (const close of closing) await close();
});

describe('drizzle-kit', () => {
  it('on PostgreSQL: tables as declared, and no change after that', async () => {
    const { url, drop } = await ownDatabase(process.env['DATABASE_URL']!);
    const pool = new pg.Pool({ connectionString: url });
    closing.push(() => pool.end(), drop);
    const db = drizzle(pool);
    const { statementsToExecute } = await kit.pushSchema({ customers, orders }, db);
    expect(statementsToExecute.join()).toContain('"order_id" bigint PRIMARY KEY NOT NULL');
    expect(statementsToExecute.join()).toContain('"ticket" varchar(20) NOT NULL');
    for (const statement of statementsToExecute) await db.execute(sql.raw(statement));
    const again = await kit.pushSchema({ customers, orders }, db);
    expect(again.statementsToExecute).toEqual([]);
    await db.execute(sql`ALTER TABLE orders ALTER ticket TYPE text`);
    const changed = await kit.pushSchema({ customers, orders }, db);
    expect(changed.statementsToExecute.join()).toContain('varchar(20)');
  });
});

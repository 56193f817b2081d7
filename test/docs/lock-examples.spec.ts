/**
 * The statements and examples in the guides to locks and to cron jobs work as described. Each is
 * extracted from its page and run on PostgreSQL and on MariaDB.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { MemoryLocks } from 'nestjs-snowflake';
import { DistributedLock } from 'nestjs-snowflake/lock';
import pg from 'pg';
import { codeOf } from '../lock/held-locks.js';
import { type OwnDatabase, ownDatabase } from '../own-database.js';
import { ROOT } from '../tidy/tree.js';
import { snippetsIn } from './snippets.js';

const pageOf = (name: string) => readFileSync(join(ROOT, 'docs/guides', `${name}.md`), 'utf8');

/** The statements of the block that contains a text. */
function statementsOf(name: string, text: string): string[] {
  const blocks = pageOf(name).split('```sql\n').slice(1);
  const block = blocks.map((part) => part.split('```')[0]!).find((part) => part.includes(text))!;
  return block.split(';').filter((statement) => statement.trim() !== '');
}

type Write = (sql: string, values?: readonly unknown[]) => Promise<number>;

async function onPostgres(url: string) {
  const client = new pg.Client(url);
  await client.connect();
  const write: Write = async (sql, values = []) => (await client.query(sql, [...values])).rowCount!;
  return { write, close: () => client.end() };
}

async function onMariadb(url: string) {
  const connection = await createConnection({ uri: url, connectTimeout: 120_000 });
  const write: Write = async (sql, values = []) => {
    const [{ affectedRows }] = (await connection.query(sql, [...values])) as [
      { affectedRows: number },
      unknown,
    ];
    return affectedRows;
  };
  return { write, close: () => connection.end() };
}

const folder = join(ROOT, '.data');
mkdirSync(folder, { recursive: true });
const own = mkdtempSync(join(folder, 'lock-guide-'));
afterAll(() => rmSync(own, { recursive: true, force: true }));

/** The block of the guide to locks that contains a text, as a module. */
async function example(text: string): Promise<Record<string, unknown>> {
  const snippet = snippetsIn({ path: 'docs/guides/locks.md', text: pageOf('locks') }).find(
    ({ code }) => code.includes(text),
  )!;
  const path = join(own, `line-${snippet.line}.ts`);
  writeFileSync(path, snippet.code);
  return (await import(path)) as Record<string, unknown>;
}

describe.each([
  { name: 'PostgreSQL', server: process.env['DATABASE_URL']!, open: onPostgres, sign: '$' },
  { name: 'MariaDB', server: process.env['MYSQL_URL']!, open: onMariadb, sign: '?' },
])('on $name', ({ server, open, sign }) => {
  let database: OwnDatabase;
  let client: Awaited<ReturnType<typeof onPostgres>>;

  beforeAll(async () => {
    database = await ownDatabase(server);
    client = await open(database.url);
  });
  afterAll(async () => {
    await client.close();
    await database.drop();
  });

  it('a table accepts each tick of a cron job once, and rejects a late run', async () => {
    const [create, ...others] = statementsOf('one-cron-job', `VALUES (${sign}`);
    await client.write(create!);
    const last = others.pop()!;
    const run = async (token: bigint, tick: number): Promise<number> => {
      for (const statement of others) await client.write(statement, ['report']);
      const values = sign === '$' ? ['report', token, tick] : [token, tick, 'report', token, tick];
      return client.write(last, values);
    };
    expect(await run(7n, 1000)).toBe(1);
    // The same run, the same tick by another process, and a process that woke too late.
    expect([await run(7n, 1000), await run(9n, 1000), await run(5n, 2000)]).toEqual([0, 0, 0]);
    expect(await run(2n ** 63n - 1n, 2000)).toBe(1);
    expect(await run(2n ** 63n - 2n, 3000)).toBe(0);
  });

  it('a section can write a row repeatedly, but not after a later holder', async () => {
    const [update] = statementsOf('locks', `fence = ${sign}`);
    await client.write('CREATE TABLE orders (id char(2) PRIMARY KEY, state char(4), fence bigint)');
    await client.write(`INSERT INTO orders VALUES ('o1', 'new', 0)`);
    const pay = (id: string, fence: string) =>
      client.write(update!, sign === '$' ? [fence, id] : [fence, id, fence]);
    const { Checkout } = (await example('class Checkout')) as {
      Checkout: new (locks: DistributedLock) => { pay: (id: string) => Promise<void> };
    };
    const store = new MemoryLocks();
    const checkoutOf = () =>
      Object.assign(new Checkout(new DistributedLock(store)), { orders: { pay } });
    const [one, other] = [checkoutOf(), checkoutOf()];
    await one.pay('o1');
    await other.pay('o1');
    await expect(one.pay('o2')).rejects.toThrow('Order o2 is unknown');
    const highest = String(2n ** 63n - 1n);
    expect([await pay('o1', highest), await pay('o1', highest)]).toEqual([1, 1]);
    await expect(other.pay('o1')).rejects.toThrow('a later holder wrote it');
  });
});

it('a worker started outside a section does not belong to the section', async () => {
  const { startUnderLock } = (await example('AsyncLocalStorage')) as {
    startUnderLock: (locks: DistributedLock, start: () => void) => Promise<void>;
  };
  const locks = new DistributedLock(new MemoryLocks());
  let own: Promise<unknown> = Promise.resolve();
  const worker = () => {
    own = codeOf(locks.using('start', { waitMs: 0 }, () => 1));
  };
  await startUnderLock(locks, worker);
  expect(await own).toBe('LOCK_HELD');
  await locks.using('start', worker);
  expect(await own).toBe('LOCK_REENTERED');
});

/**
 * The built shop by `npm run start:replicas`, on every store by one variable: three processes have
 * three worker ids, make orders over HTTP, and leave nobody in the registry when they are stopped.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command } from '../cli/run-command.js';
import { type OwnDatabase, ownDatabase } from '../own-database.js';
import { BuiltShop } from './shop-process.js';

const folder = mkdtempSync(join(tmpdir(), 'snowflake-stores-'));
const own = `namespace=${randomUUID()}`;
const ownTable = `${own}&replicated=false&table=shop_registry`;

/** As an operator sets SNOWFLAKE_SUPPORT; a Redis that is there has its own spec. */
const STORES = [
  { store: 'servers of their own', support: '', count: 3 },
  { store: 'postgres', support: `${process.env['DATABASE_URL']}?${ownTable}`, count: 2 },
  { store: 'mariadb', support: `${process.env['MYSQL_URL']}?${ownTable}`, count: 2 },
  { store: 'etcd', support: `${process.env['ETCD_URL']}?${own}`, count: 2 },
  { store: 'file', support: `file:${folder}?${own}`, count: 2 },
  { store: 'static', support: 'static:7', count: 2 },
];

/** Each has a database of its own: other stores are other id spaces. */
const answers = new Map<string, PromiseSettledResult<string>>();
const databases: OwnDatabase[] = [];

beforeAll(async () => {
  const built = await BuiltShop.build();
  const rest = [...STORES];
  const lane = async (): Promise<void> => {
    for (let one = rest.shift(); one !== undefined; one = rest.shift()) {
      const { store, support, count } = one;
      const env = { SNOWFLAKE_SUPPORT: support, DATABASE_URL: support && (await databaseUrl()) };
      const [answer] = await Promise.allSettled([built.replicas(count, env)]);
      answers.set(store, answer);
    }
  };
  // Two, since most of it is the work of starting.
  await Promise.all([lane(), lane()]);
});
afterAll(async () => {
  await Promise.all(databases.map((database) => database.drop()));
  rmSync(folder, { recursive: true });
});

async function databaseUrl(): Promise<string> {
  const database = await ownDatabase(process.env['DATABASE_URL']!);
  databases.push(database);
  return database.url;
}

describe.each(STORES)('replicas on $store', ({ store, support, count }) => {
  it('have a worker id each, make orders and end well', () => {
    expect(answers.get(store)).toEqual({ status: 'fulfilled', value: expect.any(String) });
    const { value } = answers.get(store) as PromiseFulfilledResult<string>;
    const rows = value.matchAll(/^http\S+ +(?<workerId>\d+) +\d{17,19}$/gm);
    const workerIds = Array.from(rows, ({ groups }) => groups!['workerId']);
    expect(workerIds).toHaveLength(count);
    expect(new Set(workerIds).size).toBe(count);
  });

  if (support === '' || store === 'static') return;
  it('have given their worker ids back', async () => {
    const { lines } = await command(['workers', '--json', '--all', '--support', support]);
    const [counts, ...records] = lines.map((line) => JSON.parse(line) as object).toReversed();
    expect(counts).toMatchObject({ held: 0 });
    expect(records.length).toBeGreaterThanOrEqual(count);
  });
});

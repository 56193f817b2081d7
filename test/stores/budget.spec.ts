/**
 * What one call costs in each store: its promises, timers and AbortControllers, its statements or
 * requests, and their bytes. These counts are equal on every machine, so each change is intended.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ownDatabase } from '../own-database.js';
import { compileLibrary } from '../support/builds.mjs';
import { quickFolder } from '../support/made-once.mjs';

const PATH = 'test/stores/budget.txt';
const HEAD = ['store', 'call', 'promises', 'timers', 'controllers', 'requests', 'bytes'];
const WIDTHS = [12, 9, 8, 8, 13, 10, 7];

const ends: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

/** The URLs of own databases and folders, by store. */
async function stores(): Promise<Record<string, string>> {
  const [postgres, mariadb] = await Promise.all(
    ['DATABASE_URL', 'MYSQL_URL'].map((name) => ownDatabase(process.env[name]!)),
  );
  const folder = quickFolder('budget');
  ends.push(postgres!.drop, mariadb!.drop, () => rmSync(folder, { recursive: true }));
  const namespace = `namespace=${randomUUID()}`;
  return {
    Redis: `${process.env['REDIS_URL']}?${namespace}`,
    PostgreSQL: `${postgres!.url}?${namespace}&replicated=false`,
    MariaDB: `${mariadb!.url}?${namespace}&failoverWindowMs=1&clockDifferenceMs=0`,
    etcd: `etcd://${new URL(process.env['ETCD_URL']!).host}?${namespace}`,
    SQLite: join(folder, 'sqlite'),
    folder: `file:${folder}/ids`,
    memory: '',
  };
}

const line = (cells: readonly (string | number)[]): string =>
  cells
    .map((cell, at) =>
      at < 2 ? String(cell).padEnd(WIDTHS[at]!) : String(cell).padStart(WIDTHS[at]!),
    )
    .join('');

async function measured(): Promise<string[]> {
  const script = join(await compileLibrary('stores/budget.mjs'), 'budget.mjs');
  const env = { ...process.env, STORES: JSON.stringify(await stores()) };
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env });
  const rows = stdout.trim().split('\n');
  return rows.map((row) => line(JSON.parse(row) as string[]));
}

// After an intended change: UPDATE_BUDGET=1 npm test -- test/stores/budget
describe('the cost of a call', () => {
  let found: string[];
  beforeAll(async () => {
    found = await measured();
    if (process.env['UPDATE_BUDGET']) writeFileSync(PATH, [line(HEAD), ...found, ''].join('\n'));
  });

  it('is exactly that of test/stores/budget.txt, with each store', () => {
    const [head, ...budget] = readFileSync(PATH, 'utf8').trimEnd().split('\n');
    expect(head).toBe(line(HEAD));
    expect(found).toEqual(budget);
  });
});

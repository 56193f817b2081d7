/**
 * The examples in the guide to supports satisfy the contract tests that the guide recommends. Each
 * block is extracted from the guide and run against a real service and a real PostgreSQL.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { IDistributedSupport } from 'nestjs-snowflake';
import { HEADER_KEY, type CounterStore, type LockStore } from 'nestjs-snowflake/store';
import {
  SettableTime,
  describeCounterStore,
  describeDistributedSupport,
  describeLockStore,
} from 'nestjs-snowflake/testing';
import pg from 'pg';
import { LOSS_WINDOW_MS } from '../stores/timed-redis.js';
import { ROOT } from '../tidy/tree.js';
import { snippetsIn } from './snippets.js';

const GUIDE = 'docs/guides/writing-a-support.md';

mkdirSync(join(ROOT, '.data'), { recursive: true });
const folder = mkdtempSync(join(ROOT, '.data', 'guide-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The block of the guide that contains a text, as a module. */
async function example(text: string): Promise<Record<string, unknown>> {
  const file = { path: GUIDE, text: readFileSync(join(ROOT, GUIDE), 'utf8') };
  const snippet = snippetsIn(file).find(({ code }) => code.includes(text))!;
  const path = join(folder, `line-${snippet.line}.ts`);
  writeFileSync(path, snippet.code);
  return (await import(path)) as Record<string, unknown>;
}

type NumberService = new (url: string) => IDistributedSupport;
interface Found {
  readonly text: string;
  readonly timeMs: number;
  readonly server: string;
}
type InDocuments<T> = (documents: unknown, namespace: string, lossWindowMs?: number) => T;

const { NumberServiceSupport } = (await example('class NumberServiceSupport')) as {
  NumberServiceSupport: NumberService;
};
const { documentSupport, documentCounters, documentLocks } = (await example(
  'class DocumentStore',
)) as {
  documentSupport: InDocuments<IDistributedSupport>;
  documentCounters: InDocuments<CounterStore>;
  documentLocks: InDocuments<LockStore>;
};

describe('numbers without end', () => {
  const given = new Map<string, Map<string, number>>();
  let server: Server;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
      const numbers = given.get(pathname) ?? new Map<string, number>();
      given.set(pathname, numbers);
      const [min, max] = [Number(searchParams.get('min')), Number(searchParams.get('max'))];
      const taken = new Set(numbers.values());
      let number = numbers.get(searchParams.get('token')!) ?? min;
      if (!numbers.has(searchParams.get('token')!)) while (taken.has(number)) number++;
      response.statusCode = number > max ? 409 : 200;
      if (number <= max) numbers.set(searchParams.get('token')!, number);
      response.end(String(number));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  describeDistributedSupport({
    test: it,
    expect,
    createSupport(name) {
      const { port } = server.address() as AddressInfo;
      return new NumberServiceSupport(`http://127.0.0.1:${port}/${name}`);
    },
    leaveOut: ['end'],
  });
});

describe('a document store', () => {
  const clock = new SettableTime();
  const table = `documents_${randomUUID().replaceAll('-', '_')}`;
  const copies = new Map<string, string>();
  let pool: pg.Pool;
  let serverStart = 1;

  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: process.env['DATABASE_URL']! });
    await pool.query(`CREATE TABLE ${table} (key text PRIMARY KEY, text text NOT NULL)`);
  });
  afterAll(async () => {
    await pool.query(`DROP TABLE ${table}`);
    await pool.end();
  });

  const textOf = async (key: string): Promise<string> => {
    const sql = `SELECT text FROM ${table} WHERE key = $1`;
    const { rows } = await pool.query<{ text: string }>(sql, [key]);
    return rows[0]?.text ?? '';
  };
  const put = (key: string, text: string) =>
    pool.query(
      `INSERT INTO ${table} VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET text = EXCLUDED.text`,
      [key, text],
    );

  const documents = {
    async read(key: string): Promise<Found> {
      const text = await textOf(key);
      return { text, timeMs: clock.now(), server: `server ${serverStart}` };
    },
    async swap(key: string, text: string, found: Found): Promise<boolean> {
      if (found.server !== `server ${serverStart}`) return false;
      const sql =
        found.text === ''
          ? `INSERT INTO ${table} SELECT $1, $2 WHERE $3 = '' ON CONFLICT DO NOTHING`
          : `UPDATE ${table} SET text = $2 WHERE key = $1 AND text = $3`;
      return (await pool.query(sql, [key, text, found.text])).rowCount === 1;
    },
  };

  const keyOf = (name: string) => `ids/${name}`;
  const setVersion = async (name: string, version: string) => {
    const rows = JSON.parse(await textOf(keyOf(name))) as { key: string; text: string }[];
    const header = rows.find(({ key }) => key === HEADER_KEY)!;
    header.text = JSON.stringify({ ...(JSON.parse(header.text) as object), version });
    await put(keyOf(name), JSON.stringify(rows));
  };

  const clockControl = {
    now: () => clock.now(),
    advance: (ms: number) => void (clock.wallMs += ms),
  };
  const lossesOf = (keyIn: (name: string) => string) => ({
    wipe: async (name: string) => void (await put(keyIn(name), '[]')),
    restart: () => void serverStart++,
    remember: async (name: string) => void copies.set(name, await textOf(keyIn(name))),
    async restore(name: string) {
      await put(keyIn(name), copies.get(name)! || '[]');
      serverStart++;
    },
  });

  describe('leases worker IDs', () => {
    describeDistributedSupport({
      test: it,
      expect,
      createSupport: (name) => documentSupport(documents, name),
      clockControl,
      versionControl: {
        raise: (name) => setVersion(name, '3'),
        lower: (name) => setVersion(name, '2'),
      },
      lossControl: lossesOf(keyOf),
    });
  });

  describe('keeps counters', () => {
    describeCounterStore({
      test: it,
      expect,
      createStore: (name) => documentCounters(documents, name, LOSS_WINDOW_MS),
      clockControl,
      lossControl: lossesOf((name) => `counters/${name}`),
    });
  });

  describe('keeps locks', () => {
    describeLockStore({
      test: it,
      expect,
      leaveOut: ['untilReleased'],
      createStore: (name) => documentLocks(documents, name, LOSS_WINDOW_MS),
      clockControl,
      lossControl: lossesOf((name) => `locks/${name}`),
    });
  });
});

// The block calls describe() and it() itself, like a reader's file.
await example("describe('my support'");

describe('an endless support with a defect', () => {
  const cases = new Map<string, () => Promise<void>>();
  const failing = async (createSupport: () => IDistributedSupport): Promise<string[]> => {
    const test = (name: string, run: () => Promise<void>) => void cases.set(name, run);
    describeDistributedSupport({ test, expect, createSupport, leaveOut: ['end'] });
    const outcomes = [...cases].map(async ([name, run]) =>
      run().then(
        () => [],
        () => [name],
      ),
    );
    return (await Promise.all(outcomes)).flat();
  };
  const grant = (workerId: number) =>
    ({ status: 'ok', workerId, floorMs: -Infinity, ceilingMs: Infinity }) as const;

  it('is detected: one number for all calls, or a new number for each call', async () => {
    const same = (): IDistributedSupport => ({
      getNextWorkId: async () => grant(0),
      refreshAlive: async ({ workerId }) => grant(workerId),
    });
    expect((await failing(same)).length).toBeGreaterThanOrEqual(3);
    let count = 0;
    const counting = (): IDistributedSupport => ({
      getNextWorkId: async ({ workerIdMin }) => grant(workerIdMin + count++),
      refreshAlive: async ({ workerId }) => grant(workerId),
    });
    expect((await failing(counting)).length).toBeGreaterThanOrEqual(3);
  });
});

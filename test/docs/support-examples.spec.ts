/**
 * The examples of the guide to supports keep the contract that the guide tells its readers to try:
 * each block is taken out of the guide and run, against a real service and a real PostgreSQL.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { IDistributedSupport } from 'nestjs-snowflake';
import { SettableTime, describeDistributedSupport } from 'nestjs-snowflake/testing';
import pg from 'pg';
import { ROOT } from '../tidy/tree.js';
import { snippetsIn } from './snippets.js';

const GUIDE = 'docs/guides/writing-a-support.md';

mkdirSync(join(ROOT, '.data'), { recursive: true });
const folder = mkdtempSync(join(ROOT, '.data', 'guide-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The block of the guide in which a text stands, as a module. */
async function example(text: string): Promise<Record<string, unknown>> {
  const file = { path: GUIDE, text: readFileSync(join(ROOT, GUIDE), 'utf8') };
  const snippet = snippetsIn(file).find(({ code }) => code.includes(text))!;
  const path = join(folder, `line-${snippet.line}.ts`);
  writeFileSync(path, snippet.code);
  return (await import(path)) as Record<string, unknown>;
}

type NumberService = new (url: string) => IDistributedSupport;
type Postgres = new (pool: unknown, namespace: string) => IDistributedSupport;

const { NumberServiceSupport } = (await example('class NumberServiceSupport')) as {
  NumberServiceSupport: NumberService;
};
const { PostgresSupport } = (await example('class PostgresSupport')) as {
  PostgresSupport: Postgres;
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

describe('a registry in PostgreSQL', () => {
  const clock = new SettableTime();
  const schema = `guide_${randomUUID().replaceAll('-', '_')}`;
  const copies = new Map<string, unknown>();
  let pool: pg.Pool;
  let serverStart = 1;

  /** The store's clock and the start of its server, in the hands of the test. */
  const settable = (sql: string) =>
    sql
      .replaceAll('clock_timestamp()', `to_timestamp(${clock.now()} / 1000.0)`)
      .replaceAll('pg_postmaster_start_time()', `to_timestamp(${serverStart})`);

  const settablePool = {
    async connect() {
      const client = await pool.connect();
      return {
        query: (sql: string, values?: unknown[]) => client.query(settable(sql), values),
        release: () => client.release(),
      };
    },
  };

  beforeAll(async () => {
    const connectionString = process.env['DATABASE_URL']!;
    pool = new pg.Pool({ connectionString, options: `-c search_path=${schema}` });
    await pool.query(`CREATE SCHEMA ${schema}`);
    const [, table] = /(CREATE TABLE [^*]*) \*\//.exec(readFileSync(join(ROOT, GUIDE), 'utf8'))!;
    await pool.query(table!);
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });

  const set = (name: string, state: unknown) =>
    pool.query('UPDATE snowflake_registry SET state = $2 WHERE namespace = $1', [name, state]);

  const setVersion = async (name: string, version: string) => {
    const found = await pool.query<{ state: Buffer }>(
      'SELECT state FROM snowflake_registry WHERE namespace = $1',
      [name],
    );
    const state = deserialize(found.rows[0]!.state) as Record<string, unknown>;
    await set(name, serialize({ ...state, version }));
  };

  describeDistributedSupport({
    test: it,
    expect,
    createSupport: (name) => new PostgresSupport(settablePool, name),
    clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
    versionControl: {
      raise: (name) => setVersion(name, '2'),
      lower: (name) => setVersion(name, '1'),
    },
    lossControl: {
      wipe: async (name) => void (await set(name, null)),
      restart: () => void serverStart++,
      async remember(name) {
        const found = await pool.query<{ state: unknown }>(
          'SELECT state FROM snowflake_registry WHERE namespace = $1',
          [name],
        );
        copies.set(name, found.rows[0]?.state ?? null);
      },
      async restore(name) {
        await set(name, copies.get(name));
        serverStart++;
      },
    },
  });
});

// Its tests are its own: it calls describe() and it() as a reader's file would.
await example("describe('my support'");

describe('a support without end that is wrong', () => {
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

  it('is found: one number for everybody, or another at each call', async () => {
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

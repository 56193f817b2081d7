/**
 * The guide from auto-increment, run on PostgreSQL while an old application and later a new one
 * write. No row is lost, duplicated, or without its customer.
 */
import { createContext, runInContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type BitLayout,
  layouts,
  type RunningSnowflake,
  startSnowflake,
  textForms,
} from 'nestjs-snowflake';
import type { PoolClient } from 'pg';
import ts from 'typescript';
import { command, printed } from '../../cli/run-command.js';
import { blocksOf, codeOf, MovingShop, shopWork, type Work, Writers } from './guide.js';

describe('auto increment', () => {
  const shop = new MovingShop();
  const [tables, widen, finish, ...others] = blocksOf('From auto-increment');
  let snowflake: RunningSnowflake;

  beforeAll(async () => {
    await shop.open();
    snowflake = await startSnowflake({ support: 'static:7' });
  });

  afterAll(async () => {
    await Promise.all([old.stop(), young.stop()]);
    await snowflake.close();
    await shop.close();
  });

  const idOf = async (client: PoolClient, sql: string, values: readonly unknown[]) =>
    String((await client.query<{ id: unknown }>(`${sql} RETURNING id`, [...values])).rows[0]!.id);

  /** Leaves the ID to the database. */
  const oldWork = () =>
    shopWork(
      (client, name) => idOf(client, 'INSERT INTO customers (name) VALUES ($1)', [name]),
      (client, customer, note) =>
        idOf(client, 'INSERT INTO orders (customer_id, note) VALUES ($1, $2)', [customer, note]),
    );

  const newWork = () => {
    const id = () => snowflake.ids.nextIdString();
    return shopWork(
      (client, name) =>
        idOf(client, 'INSERT INTO customers (id, name) VALUES ($1, $2)', [id(), name]),
      (client, customer, note) =>
        idOf(client, 'INSERT INTO orders (id, customer_id, note) VALUES ($1, $2, $3)', [
          id(),
          customer,
          note,
        ]),
    );
  };

  const old = new Writers(shop.pool, 'old', [oldWork(), oldWork(), oldWork()]);
  const young = new Writers(shop.pool, 'new', [newWork(), newWork()]);

  describe('from auto-increment', () => {
    it('the guide loses, duplicates, and orphans no row', async () => {
      expect(others).toEqual([]);
      await shop.run(tables!);
      await shop.run(`
      INSERT INTO customers (name) SELECT 'seed-' || n FROM generate_series(1, 3000) AS n;
      INSERT INTO orders (customer_id, note)
        SELECT 1 + n % 3000, 'seed-' || 1 + n % 3000 || '/' || n
        FROM generate_series(1, 9000) AS n`);
      old.start();
      await old.more(300);
      await shop.run(widen!);
      await old.more(300);
      young.start();
      await Promise.all([old.more(300), young.more(300)]);
      await old.stop();
      await shop.run(finish!);
      await young.more(300);
      await young.stop();
      expect([old.errors, young.errors]).toEqual([[], []]);

      const { rows } = await shop.pool.query<{ text: string }>(
        `SELECT name AS text FROM customers UNION ALL SELECT note FROM orders`,
      );
      const stored = rows.map(({ text }) => text).filter((text) => !text.startsWith('seed'));
      const acknowledged = [...old.acknowledged, ...young.acknowledged];
      expect(stored.toSorted()).toEqual(acknowledged.toSorted());
      expect(rows.length - stored.length).toBe(12_000);
      expect(await shop.number(DANGLING)).toBe(0);
      expect(await shop.number(OLD_AMONG_NEW)).toBe(0);
      await expect(shop.run(`INSERT INTO customers (name) VALUES ('none')`)).rejects.toThrow(
        /null/,
      );
    });
  });

  /** Orders with a different customer than their note. */
  const DANGLING = `SELECT count(*) FROM orders LEFT JOIN customers ON customers.id = customer_id
  WHERE note NOT LIKE name || '/%' OR name IS NULL`;

  const OLD_AMONG_NEW = `SELECT count(*) FROM customers
  WHERE name NOT LIKE 'new%' AND id >= (SELECT min(id) FROM customers WHERE name LIKE 'new%')`;
});

/*
 * The guide from numbers to text in JSON, with its own code and rows of PostgreSQL. Also the day on
 * which text columns stop sorting by time.
 */
describe('numbers to text', () => {
  interface Step {
    readonly withBoth: (row: { id: string; note: string }) => object;
    readonly idOf: (sent: unknown) => string;
  }

  /** The TypeScript block of the guide, unchanged. */
  function step(): Step {
    const { outputText } = ts.transpileModule(codeOf('From numbers to text in JSON'), {
      compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
    });
    const exports = {} as Step;
    runInContext(outputText, createContext({ exports }));
    return exports;
  }

  const shop = new MovingShop();
  /** Odd, so a number cannot hold it by chance. */
  const NEW_ID = '382366441078288385';

  beforeAll(async () => {
    await shop.open();
    await shop.run(`
    CREATE TABLE orders (id bigint PRIMARY KEY, note text NOT NULL);
    INSERT INTO orders SELECT n, 'old-' || n FROM generate_series(1, 1000) AS n;
    INSERT INTO orders VALUES (${NEW_ID}, 'new')`);
  });
  afterAll(() => shop.close());

  /** Reads each row as JSON, sends it back, and gets a note for it. */
  async function notesFor(read: (row: { id: unknown; id_str: string }) => unknown) {
    const { withBoth, idOf } = step();
    const { rows } = await shop.pool.query<{ id: string; note: string }>(
      'SELECT id, note FROM orders ORDER BY id',
    );
    const answers = rows.map(async (row) => {
      const sent = read(
        JSON.parse(JSON.stringify(withBoth(row))) as { id: unknown; id_str: string },
      );
      const sql = 'SELECT note FROM orders WHERE id = $1';
      const found = await shop.pool.query<{ note: string }>(sql, [idOf(sent)]);
      return { asked: row.note, got: found.rows[0]?.note };
    });
    return Promise.all(answers);
  }

  describe('from numbers to text', () => {
    it('a moved client finds every old and new row', async () => {
      const answers = await notesFor(({ id_str }) => id_str);
      expect(answers.filter(({ asked, got }) => asked !== got)).toEqual([]);
      expect(answers).toHaveLength(1001);
    });

    it('a client that uses numbers finds old rows, and gets an error for a new row', async () => {
      const { idOf } = step();
      const read = ({ id }: { id: unknown }) => (Number.isSafeInteger(id) ? id : '0');
      const answers = await notesFor(read);
      expect(answers.filter(({ asked, got }) => asked !== got).map(({ asked }) => asked)).toEqual([
        'new',
      ]);
      expect(() => idOf(JSON.parse(NEW_ID))).toThrow('id_str');
    });
  });

  describe('2031-07-22', () => {
    it('is the day when default IDs pass 18 digits, and text stops sorting by time', async () => {
      const layout = layouts.snowflake();
      const first = 10n ** 18n;
      expect(layout.parse(first).date.toISOString().slice(0, 10)).toBe('2031-07-22');
      const ids = [first - 1n, first];
      const order = async (by: string, texts: readonly string[]) => {
        const sql = `SELECT t FROM unnest($1::text[]) AS t ORDER BY ${by}`;
        return (await shop.pool.query<{ t: string }>(sql, [texts])).rows.map(({ t }) => t);
      };
      const texts = ids.map(String);
      expect(await order('t COLLATE "C"', texts)).toEqual(texts.toReversed());
      expect(await order('t::bigint', texts)).toEqual(texts);
      const padded = ids.map((id) => textForms.sortableDecimal.encode(id));
      expect(await order('t COLLATE "C"', padded)).toEqual(padded);
    });
  });
});

/*
 * The guide from another layout, on PostgreSQL. A move that the command calls safe generates no
 * duplicate, and a move that it calls unsafe could repeat an old ID.
 */
describe('other layout', () => {
  const shop = new MovingShop();
  beforeAll(() => shop.open());
  afterAll(async () => {
    await Promise.all([old.stop(), young.stop()]);
    await shop.close();
  });

  /** IDs that a generator of this layout generates now, one after the other. */
  function workOf(layoutNow: () => BitLayout): Work {
    let sequence = 0;
    return async ({ client, text, acknowledge }) => {
      const layout = layoutNow();
      const parts = { timestampMs: Date.now(), workerId: 7, sequence: sequence++ % 4096 };
      const name = text();
      await client.query('INSERT INTO orders (id, note) VALUES ($1, $2)', [
        String(layout.compose(parts)),
        name,
      ]);
      acknowledge(name);
    };
  }

  let next = layouts.snowflake();
  const old = new Writers(shop.pool, 'old', [workOf(() => layouts.discord())]);
  const young = new Writers(shop.pool, 'new', [workOf(() => next)]);

  describe('from another layout', () => {
    it('the suggested epoch starts above every old ID', async () => {
      await shop.run('CREATE TABLE orders (id bigint PRIMARY KEY, note text NOT NULL)');
      old.start();
      await old.more(300);
      await old.stop();
      const { rows } = await shop.pool.query<{ max: string }>('SELECT max(id) FROM orders');
      const after = ['layout', '--json', '--after', rows[0]!.max];
      const judged = await command(after);
      const { isSafe, safeFrom, epochMax } = JSON.parse(judged.lines[0]!) as Judgement;
      expect([judged.code, isSafe]).toEqual([1, false]);
      expect((await command([...after, '--epoch', epochMax])).code).toBe(0);

      next = layouts.snowflake({ epoch: epochMax });
      young.start();
      await young.more(300);
      await young.stop();
      expect([old.errors, young.errors]).toEqual([[], []]);
      expect(await shop.number('SELECT count(*) FROM orders')).toBe(
        old.acknowledged.length + young.acknowledged.length,
      );
      expect(
        await shop.number(
          `SELECT count(*) FROM orders WHERE note LIKE 'new%' AND id <= ${rows[0]!.max}`,
        ),
      ).toBe(0);

      // With the default epoch the largest old ID repeats just before the suggested time.
      const { timestampMs, workerId, sequence } = layouts.snowflake().parse(rows[0]!.max);
      expect(timestampMs).toBe(Date.parse(safeFrom) - 1);
      const again = layouts.snowflake().compose({ timestampMs, workerId, sequence });
      const sql = `INSERT INTO orders (id, note) VALUES (${again}, 'twice')`;
      await expect(shop.run(sql)).rejects.toThrow(/duplicate key/);
    });
  });

  interface Judgement {
    readonly isSafe: boolean;
    readonly safeFrom: string;
    readonly epochMax: string;
  }
});

/*
 * The guide from UUID, run on PostgreSQL while an application writes. The application has both keys
 * and detects the switch in the database. No row is lost, duplicated, without its customer, or out
 * of order.
 */
describe('uuid', () => {
  const shop = new MovingShop();
  const [
    tables,
    expand,
    number,
    customers,
    orders,
    links,
    close,
    build,
    refer,
    change,
    tidy,
    ...others
  ] = blocksOf('From UUID');
  let snowflake: RunningSnowflake;

  beforeAll(async () => {
    await shop.open();
    snowflake = await startSnowflake({ support: 'static:7' });
  });

  afterAll(async () => {
    await application.stop();
    await snowflake.close();
    await shop.close();
  });

  /** The errors that an application gets during the switch, according to the guide. */
  const SWITCHED: readonly unknown[] = ['23502', '22P02', '42804'];

  const uuidWork = (): Work =>
    shopWork(
      async (client, name) => {
        const sql = 'INSERT INTO customers (name) VALUES ($1) RETURNING id::text';
        return (await client.query<{ id: string }>(sql, [name])).rows[0]!.id;
      },
      (client, customer, note) =>
        client.query('INSERT INTO orders (customer_id, note) VALUES ($1, $2)', [customer, note]),
    );

  const idWork = (): Work => {
    const id = () => snowflake.ids.nextIdString();
    return shopWork(
      async (client: PoolClient, name) => {
        const own = id();
        await client.query('INSERT INTO customers (id, name) VALUES ($1, $2)', [own, name]);
        return own;
      },
      (client, customer, note) =>
        client.query('INSERT INTO orders (id, customer_id, note) VALUES ($1, $2, $3)', [
          id(),
          customer,
          note,
        ]),
    );
  };

  /** Uses generated IDs from the first statement that fails because of the switch. */
  function workOfBoth(): Work {
    let work = uuidWork();
    return async (writing) => {
      try {
        return await work(writing);
      } catch (error) {
        if (!SWITCHED.includes((error as { code?: unknown }).code)) throw error;
        await writing.client.query('ROLLBACK');
        work = idWork();
        return work(writing);
      }
    };
  }

  const SEEDED = `
  INSERT INTO customers (created_at, name)
    SELECT timestamptz '2023-11-01' + (n / 3) * interval '5 hours', 'seed-' || n
    FROM generate_series(1, 3000) AS n;
  INSERT INTO orders (created_at, customer_id, note)
    SELECT created_at + interval '1 ms', id, name || '/' || n
    FROM customers, generate_series(1, 3) AS n;
  INSERT INTO orders (created_at, customer_id, note)
    SELECT timestamptz '2026-01-01', id, name || '/crowd-' || n
    FROM (SELECT * FROM customers LIMIT 50) AS few, generate_series(1, 100) AS n`;

  const application = new Writers(shop.pool, 'app', Array.from({ length: 4 }, workOfBoth));

  describe('from UUID', () => {
    it('the guide loses, duplicates, and orphans no row', async () => {
      expect(others).toEqual([]);
      await shop.run(tables!);
      await shop.run(SEEDED);
      application.start();
      await application.more(300);
      await shop.pool.query(await printed(['--worker', '1023']));
      await shop.run(expand!);
      await application.more(300);
      await shop.run(number!);
      for (const step of [customers, orders, links]) {
        await shop.runUntilNoRow(step!);
        await application.more(100);
      }
      await shop.run(close!);
      await application.more(300);
      await shop.run(build!);
      await shop.run(refer!);
      await application.more(300);
      const before = await shop.number('SELECT count(*) FROM customers');
      await shop.run(change!);
      await application.more(1000);
      await application.stop();
      expect(application.errors).toEqual([]);
      expect(await shop.number('SELECT count(*) FROM customers')).toBeGreaterThan(before);

      const { rows } = await shop.pool.query<{ text: string }>(
        `SELECT name AS text FROM customers UNION ALL SELECT note FROM orders`,
      );
      const stored = rows.map(({ text }) => text).filter((text) => !text.startsWith('seed'));
      expect(stored.toSorted()).toEqual(application.acknowledged.toSorted());
      expect(rows.length - stored.length).toBe(3000 + 9000 + 5000);
      expect(await shop.number(DANGLING)).toBe(0);
      expect(await shop.number(SHARED)).toBe(0);
      expect(await shop.number(OUT_OF_ORDER)).toBe(0);
      await isByItsTime();
      await shop.run(tidy!);
      expect(
        await shop.number(
          'SELECT count(*) FROM orders JOIN customers ON customers.id = customer_id',
        ),
      ).toBe(await shop.number('SELECT count(*) FROM orders'));
    });
  });

  /** The ID of an old row has the row's time if that is after the epoch. */
  async function isByItsTime(): Promise<void> {
    const { rows } = await shop.pool.query<{ id: string; created_at: Date }>(
      `SELECT id, created_at FROM customers
     WHERE name LIKE 'seed%' AND created_at > '2024-01-02' LIMIT 100`,
    );
    const layout = layouts.snowflake();
    expect(rows).toHaveLength(100);
    expect(rows.map(({ id }) => layout.parse(id).workerId)).toEqual(rows.map(() => 1022));
    expect(rows.map(({ id }) => layout.parse(id).date)).toEqual(rows.map((row) => row.created_at));
  }

  /** Orders with a different customer than their note. */
  const DANGLING = `SELECT count(*) FROM orders LEFT JOIN customers ON customers.id = customer_id
  WHERE note NOT LIKE name || '/%' OR name IS NULL`;

  /** IDs that a customer and an order share. */
  const SHARED = `SELECT count(*) FROM orders JOIN customers ON customers.id = orders.id`;

  /** Old rows whose ID order differs from their age: pairs of neighbors by ID. */
  const OUT_OF_ORDER = `SELECT count(*) FROM (
    SELECT created_at, lag(created_at) OVER (ORDER BY id) AS earlier
    FROM (
      SELECT id, created_at, note FROM orders
      UNION ALL
      SELECT id, created_at, name FROM customers
    ) AS everything
    WHERE note LIKE 'seed%'
  ) AS pairs
  WHERE created_at < earlier`;
});

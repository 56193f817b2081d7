/**
 * `snowflake partitions` day after day, by clocks that the test sets, on a real PostgreSQL: what is
 * kept, what is dropped, and what becomes of rows that lie in the default partition.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readOptions } from '../../lib/cli/command.js';
import { partitions } from '../../lib/cli/commands/partitions.js';
import { layoutFrom } from '../../lib/cli/layout-option.js';
import { systemClock } from '../../lib/core/clock.js';
import { until } from '../until.js';
import { dateOf, DAY_MS, idAt, PartitionLab, statementsIn } from './partition-lab.js';

describe('partitions by the clock of a test, on PostgreSQL', () => {
  const lab = new PartitionLab('postgres');
  const START_MS = Date.parse('2026-01-30T10:00:00Z');

  beforeAll(async () => {
    await lab.open();
    await lab.run(`CREATE SCHEMA fake; CREATE TABLE fake.clock (at timestamptz);
      CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE sql
        AS 'SELECT at FROM fake.clock'`);
    const name = new URL(lab.url).pathname.slice(1);
    await lab.run(`ALTER DATABASE ${name} SET search_path = fake, pg_catalog, public`);
  });
  afterAll(() => lab.close());
  afterEach(() => void jest.restoreAllMocks());

  async function setClocks(databaseMs: number, ownMs = databaseMs): Promise<void> {
    await lab.run(`DELETE FROM fake.clock`);
    await lab.run(`INSERT INTO fake.clock VALUES ('${new Date(databaseMs).toISOString()}')`);
    jest.spyOn(systemClock, 'now').mockReturnValue(ownMs);
  }

  async function run(table: string, ...args: readonly string[]): Promise<string[]> {
    const { code, lines, err } = await lab.command(table, '--yes', ...args);
    expect([code, err]).toEqual([0, '']);
    return lines;
  }

  it.each([
    { by: 'day', days: 40, slack: 1, given: '--layout snowflake' },
    { by: 'week', days: 60, slack: 7, given: '--layout sonyflake' },
    { by: 'month', days: 200, slack: 31, given: '--layout javascriptSafe' },
    {
      by: 'day',
      days: 10,
      slack: 1,
      given: '--unit 10ms --fields timestamp:39,worker:10,sequence:7',
    },
  ])(
    'a run each day keeps what is younger and no more: $by, $given',
    async ({ by, days, slack, given }) => {
      const args = given.split(' ');
      const table = await lab.table();
      const layout = layoutFrom(readOptions(partitions, args));
      const all: [ms: number, id: bigint][] = [];
      for (let day = 0; day < days; day += by === 'day' ? 1 : 5) {
        const nowMs = START_MS + day * DAY_MS;
        await setClocks(nowMs);
        await run(table, '--by', by, '--keep', '21d', '--ahead', '2', ...args);
        const id = layout.compose({ timestampMs: nowMs, workerId: 1, sequence: 0 });
        await lab.insert(table, [id]);
        all.push([nowMs, id]);
        expect(await lab.count(lab.restOf(table))).toBe(0);
        const found = await lab.ids(table);
        const young = all.filter(([ms]) => ms > nowMs - 21 * DAY_MS).map(([, one]) => one);
        const border = all.filter(([ms]) => ms > nowMs - (21 + slack + 1) * DAY_MS);
        expect(found.slice(-young.length)).toEqual(young);
        expect(found.length).toBeLessThanOrEqual(border.length);
      }
      expect(all.length).toBeGreaterThan((await lab.ids(table)).length - 1);
    },
  );

  it('nothing is dropped before both clocks say that it is old', async () => {
    const table = await lab.table();
    const midnightMs = Date.parse('2026-03-01T00:00:00Z');
    await setClocks(midnightMs - 11 * DAY_MS);
    await run(table, '--keep', '10d');
    const oldest = dateOf(midnightMs - 11 * DAY_MS);
    const [before, after] = [midnightMs - 60_000, midnightMs + 60_000];
    for (const [databaseMs, ownMs, isDropped] of [
      [before, after, false],
      [after, before, false],
      [after, after, true],
    ] as const) {
      await setClocks(databaseMs, ownMs);
      await run(table, '--keep', '10d');
      expect([databaseMs, ownMs, !(await lab.dates(table)).includes(oldest)]).toEqual([
        databaseMs,
        ownMs,
        isDropped,
      ]);
    }
  });

  it('after weeks without a run, each day gets its partition, and only what is kept', async () => {
    const table = await lab.table();
    await setClocks(START_MS);
    await run(table, '--keep', '10d');
    const days = Array.from({ length: 60 }, (_, day) => START_MS + day * DAY_MS);
    await lab.insert(
      table,
      days.map((ms) => idAt(ms)),
    );
    await setClocks(days.at(-1)!);
    const lines = await run(table, '--keep', '10d');
    expect(lines.filter((line) => line.startsWith('dropped'))).toHaveLength(8);
    expect(await lab.dates(table)).toHaveLength(11 + 7);
    // What was too old for a partition was never in one, and is not deleted.
    expect(await lab.count(lab.restOf(table))).toBe(60 - 8 - 11);
  });

  it('from days to months and back, no day has two partitions and none has none', async () => {
    const table = await lab.table();
    await setClocks(START_MS);
    await run(table, '--keep', '90d', '--ahead', '3');
    await run(table, '--keep', '90d', '--by', 'month', '--ahead', '2');
    expect(await lab.dates(table)).toEqual([
      '20260101',
      '20260130',
      '20260131',
      '20260201',
      '20260202',
      '20260203',
      '20260301',
    ]);
    await run(table, '--keep', '90d', '--by', 'week', '--ahead', '10');
    expect((await lab.dates(table)).at(-1)).toBe('20260406');
  });

  it.each([
    { says: 'waits and finds the new one', isLocked: true },
    { says: 'would fail without the lock of the table', isLocked: false },
  ])('a row on its way to the default partition $says', async ({ isLocked }) => {
    const table = await lab.table();
    await setClocks(START_MS);
    const { lines } = await lab.command(table, '--keep', '5d', '--ahead', '1', '--sql');
    const statements = statementsIn(lines).slice(0, 4);
    expect(statements.at(-1)).toMatch(/ATTACH PARTITION .*_p20260130/);
    const session = await lab.session();
    try {
      await session.run('BEGIN');
      for (const sql of statements.slice(0, -1)) {
        if (isLocked || !sql.includes('LOCK TABLE')) await session.run(sql);
      }
      if (!isLocked) await session.run(`LOCK TABLE ${table}_default IN ACCESS EXCLUSIVE MODE`);
      const insert = lab.insert(table, [idAt(START_MS)]).then(
        () => 'inserted',
        (error: unknown) => (error as Error).message,
      );
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
        AND datname = current_database()`;
      await until(async () => (await lab.run(waiting)).length > 0);
      await session.run(statements.at(-1)!);
      await session.run('COMMIT');
      const failed = expect.stringMatching(/violates partition constraint/);
      expect(await insert).toEqual(isLocked ? 'inserted' : failed);
    } finally {
      await session.end();
    }
  });

  it('a table that was converted keeps its rules, and goes with its first partition', async () => {
    await setClocks(START_MS);
    const table = lab.newName();
    await lab.run(`CREATE TABLE ${table} (id bigint PRIMARY KEY, cents int CHECK (cents > 0),
      euros int GENERATED ALWAYS AS (cents / 100) STORED)`);
    const add = (ms: number, cents: number) =>
      lab.run(`INSERT INTO ${table} (id, cents) VALUES (${idAt(ms)}, ${cents})`);
    await add(START_MS - 400 * DAY_MS, 100);
    const { lines } = await lab.command(table, '--keep', '10d', '--ahead', '2', '--sql');
    for (const sql of statementsIn(lines)) await lab.run(sql);
    await add(START_MS + 5 * DAY_MS, 700);
    await setClocks(START_MS + 6 * DAY_MS);
    expect(await run(table, '--keep', '10d')).toHaveLength(9);
    const made = await lab.run(`SELECT cents, euros FROM ${table}_p20260204`);
    expect(made).toEqual([{ cents: 700, euros: 7 }]);
    await expect(add(START_MS + 6 * DAY_MS, -1)).rejects.toThrow(/check constraint/);
    await setClocks(START_MS + 12 * DAY_MS);
    expect(await run(table, '--keep', '10d')).not.toContain(`dropped  ${table}_p20260201`);
    await setClocks(START_MS + 13 * DAY_MS);
    expect(await run(table, '--keep', '10d')).toContain(`dropped  ${table}_p20260201`);
    expect(await lab.count(table)).toBe(1);
  });

  it('a partition is kept while others refer to its rows', async () => {
    const table = await lab.table();
    await setClocks(START_MS);
    await run(table, '--keep', '10d');
    await lab.run(`CREATE TABLE ${table}_lines (order_id bigint REFERENCES ${table})`);
    await lab.insert(table, [idAt(START_MS)]);
    await lab.run(`INSERT INTO ${table}_lines VALUES (${idAt(START_MS)})`);
    await setClocks(START_MS + 20 * DAY_MS);
    const { code, err } = await lab.command(table, '--keep', '10d', '--yes');
    expect([code, err]).toEqual([1, expect.stringMatching(/violates foreign key constraint/)]);
    expect(await lab.count(table)).toBe(1);
    await lab.run(`DROP TABLE ${table}_lines`);
    expect(await run(table, '--keep', '10d')).toContain(`dropped  ${table}_p20260130`);
  });

  it('rows whose deletion would delete others are not moved', async () => {
    const table = await lab.table();
    await lab.run(`CREATE TABLE lines (order_id bigint REFERENCES ${table} ON DELETE CASCADE)`);
    await setClocks(START_MS);
    const id = idAt(START_MS);
    await lab.insert(table, [id]);
    await lab.run(`INSERT INTO lines VALUES (${id})`);
    const { code, err } = await lab.command(table, '--keep', '10d');
    expect([code, err]).toEqual([2, expect.stringMatching(/would take a move for a deletion/)]);
    expect([await lab.count('lines'), await lab.count(table)]).toEqual([1, 1]);
    await lab.run(`DELETE FROM ${table}`);
    expect(await lab.count('lines')).toBe(0);
    expect(await run(table, '--keep', '10d')).toHaveLength(8);
  });

  it('a move that takes too long is given up after three times, and said to be slow', async () => {
    const table = await lab.table();
    await setClocks(START_MS);
    await lab.insert(table, [idAt(START_MS)]);
    await lab.run(`CREATE FUNCTION slow(bigint) RETURNS boolean VOLATILE LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(9); RETURN true; END'`);
    await lab.run(`ALTER TABLE ${table} ADD CONSTRAINT slow CHECK (slow(id)) NOT VALID`);
    const { code, err } = await lab.command(table, '--keep', '10d', '--wait', '600000');
    expect([code, err]).toEqual([1, expect.stringMatching(/more rows wait in the catch-all/)]);
    expect(await lab.count(lab.restOf(table))).toBe(1);
    await lab.run(`ALTER TABLE ${table} DROP CONSTRAINT slow`);
    expect(await run(table, '--keep', '10d')).toHaveLength(8);
  });

  it('rows that subscribers would take for deleted are not moved', async () => {
    const table = await lab.table();
    await lab.run(`CREATE PUBLICATION of_${table} FOR TABLE ${table}`);
    await setClocks(START_MS);
    await lab.insert(table, [idAt(START_MS)]);
    const { code, err } = await lab.command(table, '--keep', '10d');
    expect([code, err]).toEqual([2, expect.stringMatching(/subscribers would take a move/)]);
    expect(await lab.count(lab.restOf(table))).toBe(1);
    await lab.run(`DROP PUBLICATION of_${table}`);
    expect(await run(table, '--keep', '10d')).toHaveLength(8);
    expect(await lab.count(lab.restOf(table))).toBe(0);
  });
});

/**
 * `snowflake partitions` on a real PostgreSQL and a real MariaDB. Each day is one partition, old
 * partitions are dropped, no insert fails, and rows in the wrong partition are moved.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { BitLayout, layouts } from 'nestjs-snowflake/core';
import { systemClock } from '../../lib/core/clock.js';
import { until } from '../until.js';
import { command } from './run-command.js';
import { dateOf, DAY_MS, idAt, PartitionLab, statementsIn, type Dialect } from './partition-lab.js';

const DIALECTS: readonly Dialect[] = ['postgres', 'mariadb'];
const DAYS = 90;
const PER_DAY = 10;

describe.each(DIALECTS)('partitions on %s', (dialect) => {
  const lab = new PartitionLab(dialect);
  const ends: (() => Promise<void>)[] = [];
  beforeAll(() => lab.open());
  afterAll(async () => {
    for (const end of ends) await end();
    await lab.close();
  });

  /** A table with rows for this many days up to now, all in the catch-all partition. */
  async function filled(days: number): Promise<{ table: string; ids: bigint[] }> {
    const table = await lab.table();
    const nowMs = Date.now();
    const ids = Array.from({ length: days * PER_DAY }, (_, n) =>
      idAt(nowMs - Math.floor(n / PER_DAY) * DAY_MS, n % PER_DAY),
    );
    await lab.insert(table, ids);
    return { table, ids: ids.toSorted((a, b) => (a < b ? -1 : 1)) };
  }

  async function done(table: string, ...args: readonly string[]): Promise<string[]> {
    const { code, lines, err } = await lab.command(table, ...args);
    expect([code, err]).toEqual([0, '']);
    return lines;
  }

  describe('ninety days of rows', () => {
    let table: string;
    let ids: bigint[];
    beforeAll(async () => {
      ({ table, ids } = await filled(DAYS));
      await done(table, '--keep', '90d');
    });

    it('get a partition each, with the rows of the default one, and a week ahead', async () => {
      const dates = await lab.dates(table);
      expect(dates.length).toBeGreaterThanOrEqual(DAYS + 7);
      expect(await lab.count(lab.restOf(table))).toBe(0);
      expect(await lab.ids(table)).toEqual(ids);
      const day = dateOf(Date.now() - 50 * DAY_MS);
      expect(await lab.count(lab.partOf(table, day))).toBe(PER_DAY);
    });

    it('are read from at most two partitions by day, and from all by another column', async () => {
      const dayMs = Math.floor(Date.now() / DAY_MS - 50) * DAY_MS;
      const { first, last } = layouts
        .snowflake()
        .idRange(new Date(dayMs), new Date(dayMs + DAY_MS - 1));
      const day = `SELECT * FROM ${table} WHERE id BETWEEN ${first} AND ${last}`;
      const touched = await lab.touched(day);
      expect(touched.length).toBeGreaterThan(0);
      expect(touched.length).toBeLessThanOrEqual(2);
      expect((await lab.run(day)).length).toBe(PER_DAY);
      const all = await lab.touched(`SELECT * FROM ${table} WHERE note = 'n'`);
      expect(all.length).toBeGreaterThan(DAYS);
    });

    it('stay unchanged in a second run', async () => {
      expect(await done(table, '--keep', '90d')).toEqual(['Nothing to do.']);
    });

    it('are dropped if old, after confirmation and without a deletion of rows', async () => {
      if (dialect === 'postgres')
        await attachedLast(lab.partOf(table, dateOf(Date.now() - 50 * DAY_MS)));
      const before = await lab.dates(table);
      const asked = await lab.command(table, '--keep', '30d');
      expect([asked.code, await lab.dates(table)]).toEqual([2, before]);
      const dry = await done(table, '--keep', '30d', '--dry');
      // The command drops the oldest partition first, in whatever order the server lists them.
      expect(dry).toEqual(dry.toSorted());
      const deleted = await noDeletion();
      const keptFromMs = Date.now() - 30 * DAY_MS;
      const lines = await done(table, '--keep', '30d', '--yes');
      expect(lines.length).toBeGreaterThan(50);
      expect(lines.map((line) => line.replace('dropped', 'would drop'))).toEqual(dry);
      await expect(lab.run(`DELETE FROM ${table} WHERE id = ${ids.at(-1)}`)).rejects.toThrow(
        deleted,
      );
      const rest = await lab.ids(table);
      const kept = ids.filter((id) => id >= idAt(keptFromMs));
      // The day that contains the limit is kept completely.
      expect(ids.slice(-rest.length)).toEqual(rest);
      expect(rest.length - kept.length).toBeLessThanOrEqual(PER_DAY);
      expect((await lab.dates(table))[0]).toBe(dateOf(keptFromMs));
    });

    /** After this call, PostgreSQL usually lists this partition last. */
    async function attachedLast(part: string): Promise<void> {
      const [row] = await lab.run(
        `SELECT pg_get_expr(relpartbound, oid) AS bound FROM pg_class WHERE relname = '${part}'`,
      );
      await lab.run(`ALTER TABLE ${table} DETACH PARTITION ${part}`);
      await lab.run(`ALTER TABLE ${table} ATTACH PARTITION ${part} ${String(row?.['bound'])}`);
    }

    /** After this call each deletion fails, so a successful run proves that it deleted no row. */
    async function noDeletion(): Promise<RegExp> {
      await lab.run(
        dialect === 'mariadb'
          ? `CREATE TRIGGER ${table}_kept BEFORE DELETE ON ${table} FOR EACH ROW
              SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row was deleted'`
          : `CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS
              $$ BEGIN RAISE EXCEPTION 'a row was deleted'; END $$;
            CREATE TRIGGER kept BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION kept()`,
      );
      return /a row was deleted/;
    }
  });

  it('an insert finds a partition at any time, thanks to the catch-all partition', async () => {
    const table = await lab.table();
    await done(table, '--keep', '5d');
    const midnightMs = Math.ceil(Date.now() / DAY_MS) * DAY_MS;
    const offsets = [-2, -1, 0, 1, 2].flatMap((days) => [days * DAY_MS - 1, days * DAY_MS]);
    await lab.insert(
      table,
      offsets.map((ms) => idAt(midnightMs + ms)),
    );
    // Rows after this day are in the partitions made ahead.
    expect(await lab.count(lab.restOf(table))).toBe(dialect === 'postgres' ? 3 : 0);
    const far = idAt(midnightMs + 300 * DAY_MS);
    await lab.insert(table, [far]);
    expect(await lab.ids(lab.restOf(table))).toContain(far);
    expect((await done(table, '--keep', '5d')).length).toBe(dialect === 'postgres' ? 2 : 1);
    expect(await lab.ids(lab.restOf(table))).toEqual([far]);
    await lab.run(
      dialect === 'postgres'
        ? `ALTER TABLE ${table} DETACH PARTITION ${table}_default`
        : `ALTER TABLE ${table} DROP PARTITION pmax`,
    );
    await expect(lab.insert(table, [far + 1n])).rejects.toThrow(/partition/i);
  });

  it('stray rows get partitions for their periods, and other old periods do not', async () => {
    const nowMs = Date.now();
    for (const by of ['day', 'week']) {
      const table = await lab.table();
      const strays = [80, 79, 20, -300].map((days) => idAt(nowMs - days * DAY_MS));
      const ids = [...strays, idAt(nowMs - 20 * DAY_MS, 1), 5n].toSorted((a, b) =>
        a < b ? -1 : 1,
      );
      await lab.insert(table, ids);
      const dry = await done(table, '--keep', '90d', '--by', by, '--dry');
      const lines = await done(table, '--keep', '90d', '--by', by);
      const starts = new Set([80, 79, 20].map((days) => startOf(nowMs - days * DAY_MS, by)));
      for (let ahead = 0; ahead < 8; ahead++) {
        starts.add(startOf(nowMs + ahead * (by === 'day' ? 1 : 7) * DAY_MS, by));
      }
      expect(await lab.dates(table)).toEqual(Array.from(starts, dateOf));
      expect(dry.map((line) => line.replace('would make', 'made'))).toEqual(lines);
      expect(await lab.ids(table)).toEqual(ids);
      const kept = await lab.ids(lab.restOf(table));
      expect(kept).toEqual(dialect === 'postgres' ? [5n, strays[3]] : [strays[3]]);
      expect(await done(table, '--keep', '90d', '--by', by)).toEqual(['Nothing to do.']);
    }
  });

  it('a stray row whose tick begins before its day gets that day', async () => {
    const table = await lab.table();
    const layout = new BitLayout({
      unitMs: 7,
      fields: [
        ['timestamp', 41],
        ['worker', 10],
        ['sequence', 12],
      ],
    });
    const firsts = Array.from({ length: 20 }, (_, days) => {
      const date = new Date(Math.floor(Date.now() / DAY_MS - days) * DAY_MS);
      return layout.idRange(date, date).first;
    });
    const before = firsts.filter((id) => layout.timestampMsOf(id) % DAY_MS !== 0);
    const stray = before.at(-1)!;
    const dayMs = Math.ceil(layout.timestampMsOf(stray) / DAY_MS) * DAY_MS;
    await lab.insert(table, [stray]);
    const fields = 'timestamp:41,worker:10,sequence:12';
    await done(table, '--keep', '90d', '--fields', fields, '--unit', '7ms');
    expect((await lab.dates(table))[0]).toBe(dateOf(dayMs));
    expect(await lab.ids(lab.partOf(table, dateOf(dayMs)))).toEqual([stray]);
  });

  describe('concurrent activity', () => {
    it('three runs at once create each partition once', async () => {
      const { table, ids } = await filled(20);
      const runs = [1, 2, 3].map(() => lab.command(table, '--keep', '30d'));
      const answers = await Promise.all(runs);
      expect(answers.map(({ code, err }) => [code, err])).toEqual([1, 2, 3].map(() => [0, '']));
      const made = answers.flatMap(({ lines }) => lines.filter((line) => line.startsWith('made')));
      expect(made.length).toBe((await lab.dates(table)).length);
      expect(new Set(made).size).toBe(made.length);
      expect(await lab.ids(table)).toEqual(ids);
    });

    it('other runs fail with a message while one run holds the lock', async () => {
      const table = await lab.table();
      const session = await lab.session();
      ends.push(() => session.end());
      await session.run(
        dialect === 'postgres'
          ? `SELECT pg_advisory_lock(${0x50415254}, '${table}'::regclass::oid::int)`
          : `SELECT GET_LOCK(CONCAT('partitions of ', DATABASE(), '.${table}'), 0)`,
      );
      const [schema] = await lab.run(
        dialect === 'postgres' ? 'SELECT current_schema() AS name' : 'SELECT DATABASE() AS name',
      );
      for (const name of [table, `${schema!['name'] as string}.${table}`]) {
        const { code, err } = await lab.command(name, '--keep', '9d', '--wait', '1');
        expect([code, await lab.dates(table)]).toEqual([1, []]);
        expect(err).toMatch(/in use by others \(another run of this command is at work\)/);
      }
      await session.run(
        dialect === 'postgres'
          ? `SELECT pg_advisory_unlock_all()`
          : `SELECT RELEASE_LOCK(CONCAT('partitions of ', DATABASE(), '.${table}'))`,
      );
      await done(table, '--keep', '9d');
      expect((await lab.dates(table)).length).toBe(8);
    });

    it('writers see no error while partitions are created, filled and dropped', async () => {
      const { table, ids } = await filled(20);
      let isOver = false;
      const written: bigint[] = [];
      const writer = async (n: number): Promise<void> => {
        for (let count = 0; !isOver; count++) {
          const days = (count % 4) * 100;
          const id = idAt(Date.now() + days * DAY_MS, n * 900 + (count % 900));
          await lab.insert(table, [id]);
          written.push(id);
        }
      };
      const writers = [0, 1, 2, 3].map(writer);
      const made = await lab.command(table, '--keep', '30d');
      const dropped = await lab.command(table, '--keep', '5d', '--yes');
      const countThen = written.length;
      await Promise.race([Promise.all(writers), until(() => written.length > countThen + 20)]);
      isOver = true;
      await Promise.all(writers);
      expect([made.code, dropped.code]).toEqual([0, 0]);
      expect(dropped.lines.length).toBeGreaterThan(10);
      const kept = ids.filter((id) => id >= idAt(Date.now() - 5 * DAY_MS));
      const found = new Set(await lab.ids(table));
      expect([...kept, ...written].filter((id) => !found.has(id))).toEqual([]);
    });

    it('an earlier transaction can insert, and may have to repeat a read', async () => {
      const table = await lab.table();
      await lab.run(`CREATE TABLE ${table}_other (id INT)`);
      const session = await lab.session();
      ends.push(() => session.end());
      await session.run('BEGIN');
      await session.run(`SELECT * FROM ${table}_other`);
      await done(table, '--keep', '5d');
      await session.run(`INSERT INTO ${table} (id) VALUES (${idAt(Date.now())})`);
      const said = await session.run(`SELECT * FROM ${table}`).then(
        () => 'read',
        (error: unknown) => (error as { errno?: number }).errno,
      );
      expect(said).toBe(dialect === 'postgres' ? 'read' : 1412);
      await session.run('ROLLBACK');
    });

    it('a run waits for an open transaction, but writers do not wait for the run', async () => {
      const table = await lab.table();
      await done(table, '--keep', '5d');
      await lab.run(
        dialect === 'postgres'
          ? `CREATE TABLE ${table}_p20250101 PARTITION OF ${table} FOR VALUES
              FROM (${BOUNDS[0]}) TO (${BOUNDS[1]})`
          : `ALTER TABLE ${table} REORGANIZE PARTITION p${dateOf(Date.now())} INTO (
              PARTITION p20250101 VALUES LESS THAN (${BOUNDS[1]}),
              PARTITION p${dateOf(Date.now())} VALUES LESS THAN (${idAtMidnight(1)}))`,
      );
      const session = await lab.session();
      ends.push(() => session.end());
      await session.run('BEGIN');
      await session.run(`INSERT INTO ${table} (id) VALUES (${idAt(Date.now(), 1)})`);
      const run = lab.command(table, '--keep', '5d', '--yes', '--wait', '3000');
      let isOver = false;
      void run.then(() => (isOver = true));
      let count = 0;
      while (!isOver) await lab.insert(table, [idAt(Date.now(), 2 + (count++ % 4000))]);
      const { code, err } = await run;
      expect([code, err]).toEqual([1, expect.stringMatching(/in use by others/)]);
      expect(count).toBeGreaterThan(0);
      expect(await lab.dates(table)).toContain('20250101');
      await session.run('ROLLBACK');
      expect(await done(table, '--keep', '5d', '--yes')).toEqual([
        expect.stringMatching(/^dropped +(orders_\d+_)?p20250101$/),
      ]);
    });
  });

  describe('a run is rejected for', () => {
    const refusalOf = async (table: string, ...args: readonly string[]): Promise<string> => {
      const { code, err, out } = await lab.command(table, '--keep', '9d', ...args);
      expect([code === 0, out]).toEqual([false, '']);
      return err;
    };

    it('a missing table, a missing column, or a column that is not in order of time', async () => {
      expect(await refusalOf('nowhere')).toMatch(/There is no table nowhere/);
      const table = await lab.plainTable('VARCHAR(30)');
      expect(await refusalOf(table)).toMatch(/is a (varchar|character varying): only in a bigint/);
      expect(await refusalOf(table, '--column', 'x')).toMatch(/has no column x/);
      const fields = 'worker:10,timestamp:41,sequence:12';
      expect(await refusalOf(table, '--fields', fields)).toMatch(/first field is `worker`/);
    });

    it('another kind of store, and a wrong password, which no message repeats', async () => {
      const other = await command([
        'partitions',
        '--table',
        'a',
        '--keep',
        '9d',
        '--url=redis://h',
      ]);
      expect([other.code, other.err]).toEqual([2, expect.stringContaining('mariadb://')]);
      const url = new URL(lab.url);
      url.username = 'nobody';
      url.password = 'sesame';
      const args = ['partitions', '--table', 'a', '--keep', '9d'];
      const { code, err } = await command(args, { env: { SNOWFLAKE_URL: url.href } });
      expect([code, err.includes('sesame')]).toEqual([1, false]);
    });

    it('a layout that does not match the names of the partitions', async () => {
      const { table, ids } = await filled(3);
      await done(table, '--keep', '9d');
      const before = await lab.dates(table);
      const err = await refusalOf(table, '--yes', '--epoch', '2020-01-01T00:00:00Z');
      expect(err).toMatch(
        /is no end of a day, week or month from its date on. Nothing was changed/,
      );
      expect([await lab.dates(table), await lab.ids(table)]).toEqual([before, ids]);
    });

    it('a clock that differs far from the clock of the database', async () => {
      const table = await lab.table();
      jest.spyOn(systemClock, 'now').mockReturnValue(Date.now() + 2 * 3_600_000);
      const err = await refusalOf(table).finally(() => jest.restoreAllMocks());
      expect(err).toMatch(/By the clock of this host it is .*, 120 min apart/);
      expect(await lab.dates(table)).toEqual([]);
    });

    it('a table without partitions, and prints the statements that add some', async () => {
      const table = await lab.plainTable();
      const ids = [1n, ...[3, 2, 1, 0].map((days) => idAt(Date.now() - days * DAY_MS))];
      await lab.insert(table, ids);
      const err = await refusalOf(table);
      const { code, lines } = await lab.command(table, '--keep', '9d', '--sql');
      expect([code, lines.filter((line) => !err.includes(line))]).toEqual([0, []]);
      for (const sql of statementsIn(lines)) await lab.run(sql);
      expect(await lab.ids(table)).toEqual(ids);
      await lab.insert(table, [idAt(Date.now() + 300 * DAY_MS), idAt(Date.now(), 1)]);
      expect(await done(table, '--keep', '9d')).toEqual(['Nothing to do.']);
      expect(await done(table, '--keep', '9d', '--ahead', '9')).toHaveLength(2);
    });
  });
});

function startOf(ms: number, by: string): number {
  const [days, since] = by === 'day' ? [1, 0] : [7, 4];
  return (Math.floor((ms / DAY_MS - since) / days) * days + since) * DAY_MS;
}

/** The first ID of this day, or of the day this many days later. */
const idAtMidnight = (days: number): bigint =>
  idAt((Math.floor(Date.now() / DAY_MS) + days) * DAY_MS) - 7n * 4096n;

/** The bounds of the first day of 2025. */
const BOUNDS = ['2025-01-01', '2025-01-02'].map((day) => idAt(Date.parse(day)) - 7n * 4096n);

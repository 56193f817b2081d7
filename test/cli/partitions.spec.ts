/**
 * `snowflake partitions` on a real PostgreSQL and a real MariaDB: a day is one partition, old ones
 * are dropped, no insert fails, and what lay in the wrong one is moved.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { layouts } from 'nestjs-snowflake/core';
import { dateOf, DAY_MS, idAt, PartitionLab, type Dialect } from './partition-lab.js';

const DIALECTS: readonly Dialect[] = ['postgres', 'mariadb'];
const DAYS = 90;
const PER_DAY = 10;

describe.each(DIALECTS)('partitions on %s', (dialect) => {
  const lab = new PartitionLab(dialect);
  beforeAll(() => lab.open());
  afterAll(() => lab.close());

  /** Rows of as many days up to now, all of them in the catch-all partition. */
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

  describe('ninety days', () => {
    let table: string;
    let ids: bigint[];
    beforeAll(async () => {
      ({ table, ids } = await filled(DAYS));
      await done(table, '--keep', '90d');
    });

    it('have a partition each, with what lay in the default one, and a week ahead', async () => {
      const dates = await lab.dates(table);
      expect(dates.length).toBeGreaterThanOrEqual(DAYS + 7);
      expect(await lab.count(lab.restOf(table))).toBe(0);
      expect(await lab.ids(table)).toEqual(ids);
      const day = dateOf(Date.now() - 50 * DAY_MS);
      expect(await lab.count(lab.partOf(table, day))).toBe(PER_DAY);
    });

    it('are read by one day in at most two of them, and by another column in all', async () => {
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

    it('are left as they are by a second run', async () => {
      expect(await done(table, '--keep', '90d')).toEqual(['Nothing to do.']);
    });

    it('are dropped once they are old, after a question, and no row is deleted', async () => {
      const before = await lab.dates(table);
      const asked = await lab.command(table, '--keep', '30d');
      expect([asked.code, await lab.dates(table)]).toEqual([2, before]);
      const dry = await done(table, '--keep', '30d', '--dry');
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
      // The day in which the border lies is kept as a whole.
      expect(ids.slice(-rest.length)).toEqual(rest);
      expect(rest.length - kept.length).toBeLessThanOrEqual(PER_DAY);
      expect((await lab.dates(table))[0]).toBe(dateOf(keptFromMs));
    });

    /** From now on a deletion fails, which shows that none was made. */
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

  it('an insert finds a partition whatever its clock says; without a last one it fails', async () => {
    const table = await lab.table();
    await done(table, '--keep', '5d');
    const midnightMs = Math.ceil(Date.now() / DAY_MS) * DAY_MS;
    const offsets = [-2, -1, 0, 1, 2].flatMap((days) => [days * DAY_MS - 1, days * DAY_MS]);
    await lab.insert(
      table,
      offsets.map((ms) => idAt(midnightMs + ms)),
    );
    // What is not behind this day lies in the partitions that were made ahead.
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
});

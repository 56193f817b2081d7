/**
 * `snowflake sql` on a real PostgreSQL: no id twice, with six sessions, rollbacks, a clock that is
 * set back, and ticks too short for what is asked. The function that everybody copies fails here.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { layouts } from 'nestjs-snowflake/core';
import { layoutOfFingerprint } from '../../../lib/cli/layout-option.js';
import { SqlIdsLab, printed } from './sql-lab.js';

const lab = new SqlIdsLab();
beforeAll(() => lab.open());
afterAll(() => lab.close());

/** 16 ids a tick, so that a few sessions are too fast for it. */
const NARROW = ['--fields', 'timestamp:41,worker:10,sequence:4', '--worker', '7'];

const twice = (ids: readonly bigint[]) => ids.length - new Set(ids).size;

/** As in the answers and gists on the web: a sequence modulo the ids of a tick, under the clock. */
async function copiedFunction(sequenceBits: number): Promise<string> {
  const name = `${lab.schema}.copied_${sequenceBits}`;
  await lab.pool.query(`
    CREATE SEQUENCE ${name}_seq;
    CREATE FUNCTION ${name}() RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE seq bigint; now_ms bigint;
    BEGIN
      SELECT nextval('${name}_seq') % ${2 ** sequenceBits} INTO seq;
      SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO now_ms;
      RETURN ((now_ms - 1704067200000) << ${10 + sequenceBits}) | (7 << ${sequenceBits}) | seq;
    END $$;`);
  return name;
}

describe('six sessions at once', () => {
  it('get no id twice, in transactions that are rolled back too', async () => {
    const name = await lab.install('crowded', ['--worker', '1023']);
    const ids = await lab.crowd(name);
    expect([ids.length, twice(ids)]).toEqual([36_000, 0]);
  });

  it('get none twice where a tick has 16 ids; the copied function does', async () => {
    const ids = await lab.crowd(await lab.install('narrow', NARROW));
    expect([ids.length, twice(ids)]).toEqual([36_000, 0]);
    const copied = await lab.crowd(await copiedFunction(4));
    expect(twice(copied)).toBeGreaterThan(100);
  });
});

describe('an id made in SQL', () => {
  it.each([
    ['--worker', '1023'],
    ['--worker', '513', '--layout', 'twitter'],
    ['--worker', '65535', '--layout', 'sonyflake'],
    ['--worker', '4194303', '--layout', 'baidu'],
    ['--worker', '255', '--layout', 'javascriptSafe'],
    ['--worker', '0', '--layout', 'mastodon'],
    ['--worker', '3', '--fields', 'timestamp:39,room:2,business:4:call,sequence:7', '--unit=10ms'],
  ])('has the time, the worker id and the bits of its layout: %s %s %s %s', async (...args) => {
    const given = args.filter((arg) => arg !== undefined);
    const sql = await printed(given);
    const layout = layoutOfFingerprint(/-- Ids (\S+) of worker/.exec(sql)![1]!)!;
    const before = Date.now();
    const name = await lab.install(`shaped_${layout.fingerprint.replaceAll(/\W/g, '_')}`, given);
    const ids = await lab.ids(name, 20);
    for (const id of ids) {
      const { workerId, timestampMs } = layout.parse(id);
      expect(workerId).toBe(Number(given[1]));
      expect(timestampMs).toBeGreaterThan(before - 2000 - layout.unitMs);
      expect(timestampMs).toBeLessThan(Date.now() + 2000);
    }
    expect(ids.toSorted((a, b) => Number(a - b))).toEqual(ids);
    expect(twice(ids)).toBe(0);
  });

  it('counts through a tick and on into the next, as the layout has it', async () => {
    const name = await lab.installOnTestClock('counting', NARROW);
    await lab.setClock('2026-11-21T09:00:00.250Z');
    const layout = layoutOfFingerprint('t41-w10-s4/1ms@1704067200000')!;
    const parts = (await lab.ids(name, 40)).map((id) => layout.parse(id));
    expect(parts.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 40 }, (_, at) => at % 16),
    );
    expect(new Set(parts.map(({ date }) => date.toISOString().slice(20)))).toEqual(
      new Set(['250Z', '251Z', '252Z']),
    );
  });
});

describe('a clock', () => {
  it('that is set back makes no id twice and none smaller', async () => {
    const name = await lab.installOnTestClock('back', ['--worker', '7']);
    const ids: bigint[] = [];
    for (const at of ['12:00:00.000', '11:00:00.000', '11:59:59.999', '12:00:00.000', '12:00:01']) {
      await lab.setClock(`2026-11-21T${at}Z`);
      ids.push(...(await lab.ids(name, 3000)));
    }
    expect([ids.length, twice(ids)]).toEqual([15_000, 0]);
    expect(ids.toSorted((a, b) => Number(a - b))).toEqual(ids);
    const { last } = layouts.snowflake().idRange(new Date(0), new Date('2026-11-21T12:00:01Z'));
    expect(ids.at(-1)! <= last).toBe(true);
  });

  it('before the epoch, or past the end of the layout, makes no negative id', async () => {
    const name = await lab.installOnTestClock('ends', ['--worker', '7']);
    await lab.setClock('1999-01-01T00:00:00Z');
    expect((await lab.ids(name, 3)).every((id) => id > 0n)).toBe(true);
    await lab.setClock('2094-01-01T00:00:00Z');
    await expect(lab.ids(name, 1)).rejects.toThrow(/out of bounds/);
  });
});

describe('the lock', () => {
  it('is free again at once, not at the end of the transaction', async () => {
    const name = await lab.install('unlocked', ['--worker', '7']);
    const [one, other] = [await lab.pool.connect(), await lab.pool.connect()];
    try {
      await one.query('BEGIN');
      const [first] = await lab.ids(name, 1, one);
      await other.query(`SET lock_timeout = '2s'`);
      const [second] = await lab.ids(name, 1, other);
      expect(second).toBeGreaterThan(first!);
      await one.query('ROLLBACK');
      const [third] = await lab.ids(name, 1, one);
      expect(third).toBeGreaterThan(second!);
    } finally {
      await other.query('RESET lock_timeout');
      one.release();
      other.release();
    }
  });

  it('is not kept by a call that was cancelled while it waited', async () => {
    const name = await lab.install('cancelled', ['--worker', '7']);
    const [holder, waiter] = [await lab.pool.connect(), await lab.pool.connect()];
    try {
      await holder.query('BEGIN');
      const key = `1397641047, '${name}_last'::regclass::oid::int`;
      await holder.query(`SELECT pg_advisory_xact_lock(${key})`);
      await waiter.query(`SET statement_timeout = '50ms'`);
      await expect(lab.ids(name, 1, waiter)).rejects.toThrow(/statement timeout/);
      await holder.query('COMMIT');
      await waiter.query('RESET statement_timeout');
      expect(await lab.ids(name, 1, waiter)).toHaveLength(1);
      const { rows } = await lab.pool.query(
        `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 1397641047`,
      );
      expect(rows).toEqual([]);
    } finally {
      holder.release();
      waiter.release();
    }
  });
});

describe('rights', () => {
  it('to call it are enough to get ids, and give none to set them back', async () => {
    const name = await lab.install('shared', ['--worker', '7']);
    const client = await lab.pool.connect();
    const role = `${lab.schema}_role`;
    try {
      await client.query(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${lab.schema} TO ${role}`);
      await client.query(`SET ROLE ${role}`);
      expect(await lab.ids(name, 1, client)).toHaveLength(1);
      await expect(client.query(`SELECT setval('${name}_last', 1)`)).rejects.toThrow(/permission/);
    } finally {
      await client.query(`RESET ROLE; DROP OWNED BY ${role}; DROP ROLE ${role}`);
      client.release();
    }
  });

  it('a transaction that may only read gets an error, not an id', async () => {
    const name = await lab.install('reading', ['--worker', '7']);
    const client = await lab.pool.connect();
    await client.query('BEGIN READ ONLY');
    await expect(lab.ids(name, 1, client)).rejects.toThrow(/read-only/);
    await client.query('ROLLBACK');
    client.release();
  });
});

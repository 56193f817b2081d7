/**
 * A server whose own clock is set while processes use it, and its data lost then: the module as it
 * runs, a PostgreSQL, and a clock that libfaketime moves. (That of a Redis is moved by the chaos,
 * in its topology `clock`.)
 */
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { layouts } from '../../lib/core/layout/presets.js';
import { postgresSupport, registryTable } from '../../lib/stores/sql/index.js';
import { startSnowflake, type RunningSnowflake } from '../../lib/index.js';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { until } from '../until.js';
import { leased } from './sql-leases.js';

const BACK_S = 300;
const YEAR_S = 365 * 24 * 3600;
const TTL_MS = 20_000;
const TERMS = { ttlMs: TTL_MS, fingerprint: layouts.snowflake().fingerprint };

const endings: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of endings.toReversed()) await end();
});

/** A server, and what sets its clock: the file is read again each second. */
async function movableServer() {
  const folder = mkdtempSync(`${tmpdir()}/snowflake-clock-`);
  // The server is another user.
  chmodSync(folder, 0o755);
  const clockFile = `${folder}/offset`;
  const set = (seconds: number) =>
    writeFileSync(clockFile, seconds < 0 ? `${seconds}` : `+${seconds}`);
  set(0);
  const server = await startPostgres([], clockFile);
  endings.push(() => server.stop());
  const pool = new pg.Pool({ connectionString: server.url });
  endings.push(() => pool.end());
  await pool.query(registryTable('postgres'));
  const offsetS = async () => {
    const asked = 'SELECT extract(epoch FROM clock_timestamp())::float8 AS now';
    const { rows } = await pool.query<{ now: number }>(asked);
    return rows[0]!.now - Date.now() / 1000;
  };
  const move = async (seconds: number) => {
    set(seconds);
    await until(async () => Math.abs((await offsetS()) - seconds) < 2);
  };
  return { url: `${server.url}?replicated=false`, pool, move };
}

async function living(url: string): Promise<RunningSnowflake> {
  const options = { support: url, leaseTtlMs: TTL_MS, refreshAliveIntervalMs: 500 };
  const running = await startSnowflake(options);
  endings.push(() => running.close());
  return running;
}

const endOf = ({ ids }: RunningSnowflake): number => Number(ids.status.leaseEndsAt);

describe('a server whose clock is set', () => {
  it('back, and whose data is lost, is told by a survivor how far it had come', async () => {
    const { url, pool, move } = await movableServer();
    const survivor = await living(url);
    const { incarnation } = survivor.ids.status;
    await move(-BACK_S);
    // Its process ends without a word, and its range where the registry was.
    const { workerId, ceilingMs } = await leased(
      postgresSupport({ pool, replicated: false }),
      TERMS,
    );
    expect(ceilingMs).toBeGreaterThan(Date.now() - BACK_S * 500);
    await pool.query('DELETE FROM snowflake_registry');
    await until(() => ![undefined, incarnation].includes(survivor.ids.status.incarnation));
    const own = { workerIdMin: workerId, workerIdMax: workerId, token: 'next' };
    const next = await leased(postgresSupport({ pool, replicated: false }), { ...TERMS, ...own });
    expect(next.floorMs).toBeGreaterThanOrEqual(ceilingMs);
  });

  it('forward by a year is not followed, whoever asks', async () => {
    const { url, move } = await movableServer();
    const running = await living(url);
    await move(YEAR_S);
    const beforeMs = endOf(running);
    await until(() => endOf(running) > beforeMs);
    const all = [running, await living(url)];
    await move(0);
    all.push(await living(url));
    const latestMs = Date.now() + 3 * TTL_MS;
    for (const each of all) {
      expect(each.ids.parse(each.ids.nextId()).timestampMs).toBeLessThan(latestMs);
      expect(endOf(each)).toBeLessThan(latestMs);
    }
  });
});

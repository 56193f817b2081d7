/**
 * An old copy in the place of what it was made of, while its server runs. Nothing tells it from one
 * that nobody wrote to, which is beyond the promise: the next call of whoever was granted something
 * since is what tells it, and from then on nothing is granted twice.
 */
import Database from 'libsql';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, describe, expect, it } from '@jest/globals';
import { registryTable, sqliteSupport } from '../../lib/stores/sql/index.js';
import { RedisLab, held, request } from './redis-lab.js';
import { leased } from './sql-leases.js';

const lab = new RedisLab();
const folder = mkdtempSync(`${tmpdir()}/snowflake-copies-`);
const ONE = { workerIdMin: 0, workerIdMax: 0, token: 'forgotten' } as const;

afterAll(async () => {
  await lab.end();
  rmSync(folder, { recursive: true });
});

async function inRedis() {
  const { port } = await lab.server();
  const admin = lab.client(port);
  const support = lab.support({ redis: `redis://127.0.0.1:${port}` });
  return { admin, support, kept: () => admin.dumpBuffer(support.key) };
}

const COPIES = {
  async 'RESTORE over the key of Redis'() {
    const { admin, support, kept } = await inRedis();
    const keep = async () => {
      const copy = await kept();
      return () => admin.restore(support.key, 0, copy, 'REPLACE');
    };
    return { support, keep };
  },
  async 'SWAPDB of Redis'() {
    const { admin, support, kept } = await inRedis();
    const keep = async () => {
      const copy = await kept();
      await admin.select(1);
      await admin.restore(support.key, 0, copy);
      return () => admin.swapdb(0, 1);
    };
    return { support, keep };
  },
  async 'cp over a file of SQLite'() {
    const path = `${folder}/shop.db`;
    const database = new Database(path);
    database.exec(registryTable('sqlite'));
    const support = sqliteSupport({ database });
    const keep = async () => {
      const copy = readFileSync(path);
      return async () => writeFileSync(path, copy);
    };
    return { support, keep };
  },
};

describe.each(Object.entries(COPIES))('%s', (_name, open) => {
  it('is noticed by the next call of who was granted something since', async () => {
    const { support, keep } = await open();
    await leased(support, { workerIdMin: 1, workerIdMax: 1 });
    const putBack = await keep();
    const forgotten = await leased(support, ONE);
    await putBack();
    const lease = held(request(ONE), forgotten);
    expect(await support.refreshAlive(lease)).toMatchObject({ status: 'unknown' });
    const next = await leased(support, { ...ONE, token: 'next', takesOver: true });
    expect(next.workerId).toBe(forgotten.workerId);
    expect(next.floorMs).toBeGreaterThanOrEqual(forgotten.ceilingMs);
  });
});

/**
 * A database that carries out no write, and says nothing of it: whoever asks is told within one
 * call, not that the store did not answer.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import {
  counterTable,
  lockTable,
  postgresSupport,
  registryTable,
  sqlCounters,
  sqlLocks,
} from '../../lib/stores/sql/index.js';
import { namedLock } from '../lock/store-locks.js';
import { until } from '../until.js';
import { failureOf, request } from './redis-lab.js';
import { SqlLab } from './sql-lab.js';

const lab = new SqlLab();
const name = `swallowed_${randomUUID().replaceAll('-', '')}`;
let admin: Pool;
let reader: Pool;

beforeAll(async () => {
  admin = lab.pool();
  await admin.query(`CREATE ROLE ${name}`);
  reader = lab.pool({ options: `-c role=${name}` });
});
afterAll(async () => {
  await admin.query(`DROP TABLE IF EXISTS ${name}`);
  await admin.query(`DROP FUNCTION IF EXISTS ${name}() CASCADE`);
  await admin.query(`DROP ROLE ${name}`);
  await lab.end();
});

async function withTrigger(body = 'RETURN NULL;'): Promise<void> {
  await admin.query(
    `CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ ` +
      `BEGIN ${body} END $$`,
  );
  await admin.query(
    `CREATE TRIGGER swallow BEFORE INSERT OR UPDATE ON ${name} ` +
      `FOR EACH ROW EXECUTE FUNCTION ${name}()`,
  );
}

/** All rows may be read, and none is found by an UPDATE. */
async function withRowSecurity(): Promise<void> {
  await admin.query(`GRANT SELECT, INSERT, UPDATE ON ${name} TO ${name}`);
  await admin.query(`ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY`);
  await admin.query(`CREATE POLICY seen ON ${name} FOR SELECT USING (true)`);
}

const SAYS = 'carried out none of 5 writes';
const TAKE = { kind: 'dense', counter: 'c', count: 1n, have: 0n, skip: 2n, startAt: 1n } as const;
const own = { table: name, replicated: false } as const;

const USES: [string, string, (pool: Pool) => Promise<unknown>][] = [
  [
    'a counter',
    counterTable('postgres', name),
    (pool) => sqlCounters({ pool, dialect: 'postgres', ...own }).take(TAKE),
  ],
  [
    'a lock',
    lockTable('postgres', name),
    (pool) => {
      const asked = namedLock('a', { holder: 'h', ttlMs: 100, longestMs: 100 });
      return sqlLocks({ pool, dialect: 'postgres', ...own }).acquire(asked);
    },
  ],
  [
    'a lease',
    registryTable('postgres', name),
    (pool) => postgresSupport({ pool, ...own }).getNextWorkId(request()),
  ],
];

describe.each(USES)('a write that is not carried out, of %s', (_name, create, use) => {
  beforeEach(async () => {
    await admin.query(`DROP TABLE IF EXISTS ${name}`);
    await admin.query(create);
  });

  it('is named where a trigger swallows all', async () => {
    await withTrigger();
    expect((await failureOf(use(admin))).message).toContain(SAYS);
  });

  it.each([
    ['row-level security', withRowSecurity, () => reader],
    ['a trigger', () => withTrigger(), () => admin],
  ])('is named where %s came after the first', async (_what, change, pool) => {
    // A store that is new grants nothing for a while.
    await until(async () => {
      const answer = await use(admin);
      return (answer as { status?: string }).status !== 'wait';
    });
    await change();
    expect((await failureOf(use(pool()))).message).toContain(SAYS);
  });

  it('is not one that others were in the way of, as the database says', async () => {
    await admin.query(`CREATE SEQUENCE ${name}_tries`);
    try {
      await withTrigger(
        `IF nextval('${name}_tries') > 11 THEN RETURN NEW; END IF; ` +
          `RAISE EXCEPTION USING ERRCODE = 'serialization_failure';`,
      );
      await expect(use(admin)).resolves.toHaveProperty('status');
    } finally {
      await admin.query(`DROP SEQUENCE ${name}_tries`);
    }
  });
});

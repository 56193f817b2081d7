/**
 * Databases that refuse a login or a name, and drivers that repeat what they were given: whatever
 * is said of it holds no password.
 */
import { describe, expect, it } from '@jest/globals';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import {
  mysqlSupport,
  postgresSupport,
  sqlCounters,
  sqlLocks,
  sqlSupport,
} from '../../lib/stores/sql/index.js';
import { supportFromUrl } from '../../lib/stores/sql/sql.support.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { failureOf, request } from '../stores/redis-lab.js';
import { namedLock } from '../lock/store-locks.js';
import { SECRET, TRACE, shownByCommands, shownError, shownSupport } from './sinks.js';

const LOGIN = `shop:${encodeURIComponent(SECRET)}`;
const POSTGRES = new URL(process.env['DATABASE_URL']!);
const MYSQL = new URL(process.env['MYSQL_URL']!);

const URLS: Readonly<Record<string, string>> = {
  'a user that PostgreSQL does not know': `postgres://${LOGIN}@${POSTGRES.host}/postgres`,
  'a user that MariaDB does not know': `mysql://${LOGIN}@${MYSQL.host}/test`,
  'no such database': `postgres://postgres:${encodeURIComponent(SECRET)}@${POSTGRES.host}/nowhere`,
  'nobody who listens': `postgres://${LOGIN}@127.0.0.1:1/shop`,
  'nobody who listens to MySQL': `mariadb://${LOGIN}@127.0.0.1:1/shop`,
  'no such host': `mysql://${LOGIN}@nowhere.invalid/shop`,
  'a server without TLS': `postgres://${LOGIN}@${POSTGRES.host}/postgres?sslmode=require`,
  'a MariaDB without TLS': `mysql://${LOGIN}@localhost:${MYSQL.port}/test?sslmode=require`,
};

async function told(support: IDistributedSupport): Promise<string> {
  const texts = [shownSupport(support), support.location!];
  texts.push(await shownError(await failureOf(support.getNextWorkId(request()))));
  texts.push(await shownError(await failureOf(support.workers!())));
  texts.push(await shownError(await failureOf(support.advice!())), shownSupport(support));
  expect(texts[2]).toContain('STORE_UNAVAILABLE');
  return texts.join();
}

async function toldByLocks(store: LockStore): Promise<string> {
  const texts = [shownSupport(store), store.location!];
  texts.push(await shownError(await failureOf(store.acquire(namedLock('a')))));
  texts.push(await shownError(await failureOf(store.locks!())));
  texts.push(await shownError(await failureOf(store.advice!())), shownSupport(store));
  expect(texts[2]).toContain('STORE_UNAVAILABLE');
  return texts.join();
}

describe.each(Object.entries(URLS))('%s', (_what, url) => {
  it('is told of locks without the password', async () => {
    const store = sqlLocks({ url });
    expect(await toldByLocks(store)).not.toContain(TRACE);
    await store.close!();
  });

  it('is told without the password', async () => {
    const support = supportFromUrl(url);
    expect(await told(support)).not.toContain(TRACE);
    await support.close();
    expect(await shownByCommands(url)).not.toContain(TRACE);
  });
});

describe('a pool of the application', () => {
  it.each([
    ['with a password', { host: '127.0.0.1', port: 1, user: 'shop', password: SECRET }],
    ['with a URL', { connectionString: `postgres://${LOGIN}@127.0.0.1:1/shop` }],
  ])('%s is not shown', async (_what, options) => {
    const pool = new Pool(options);
    expect(await told(postgresSupport({ pool }))).not.toContain(TRACE);
    const store = sqlLocks({ pool, dialect: 'postgres' });
    expect(await toldByLocks(store)).not.toContain(TRACE);
    await pool.end();
  });

  it('of mysql2 is not shown', async () => {
    const pool = createPool({ host: '127.0.0.1', port: 1, user: 'shop', password: SECRET });
    expect(await told(mysqlSupport({ pool }))).not.toContain(TRACE);
    await pool.end();
  });

  it('is not shown where something else stands in its place', async () => {
    for (const given of [`postgres://${LOGIN}@host/shop`, { password: SECRET }, undefined]) {
      const make = async () => postgresSupport({ pool: given as never });
      expect(await shownError(await failureOf(make()))).not.toContain(TRACE);
    }
  });

  it('of a function that repeats a URL is not shown', async () => {
    const query = () => Promise.reject(new Error(`cannot reach postgres://${LOGIN}@host/shop`));
    expect(await told(sqlSupport({ query, dialect: 'postgres' }))).not.toContain(TRACE);
    expect(await toldByLocks(sqlLocks({ query, dialect: 'mysql' }))).not.toContain(TRACE);
    for (const given of [{ url: { password: SECRET } }, `postgres://${LOGIN}@host/shop`]) {
      for (const make of [sqlLocks, sqlCounters]) {
        const wrong = (async () => make(given as never))();
        expect(await shownError(await failureOf(wrong))).not.toContain(TRACE);
      }
    }
  });
});

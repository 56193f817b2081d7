// The contracts on a SQLite file, with the driver that SNOWFLAKE_DRIVER names, and a worker ID by
// the URL of the same file. `node --test` runs it.
import { deepStrictEqual, doesNotMatch, match, ok, rejects } from 'node:assert';
import { mkdtempSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { startSnowflake } from 'nestjs-snowflake';
import { registryTable, sqlCounters, sqliteSupport, sqlLocks } from 'nestjs-snowflake/sql';
import {
  describeCounterStore,
  describeDistributedSupport,
  describeLockStore,
} from 'nestjs-snowflake/testing';
import { OF_SERVERS, REFUSALS } from './refusals.mjs';

const { SNOWFLAKE_DRIVER: driver, SNOWFLAKE_FILE: path } = process.env;
const { default: Database, DatabaseSync = Database } = await import(driver);
const database = new DatabaseSync(path);
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
database.exec(registryTable('sqlite'));

const expect = (actual) => ({
  toEqual: (expected) => deepStrictEqual(actual, expected),
  toBeGreaterThanOrEqual: (least) => ok(actual >= least, `${actual} is less than ${least}`),
});
const leaveOut = ['clock', 'losses'];
const namespaceOf = (name) => name.replaceAll(/\W/g, '_').slice(0, 120);

// Most cases wait for the clock of the file.
describe('a file of SQLite', { concurrency: true }, () => {
  describeDistributedSupport({
    test,
    expect,
    createSupport: (name) => sqliteSupport({ database, namespace: namespaceOf(name) }),
    leaveOut: [...leaveOut, 'version'],
  });
  describeCounterStore({
    test,
    expect,
    createStore: (name) => sqlCounters({ database, namespace: namespaceOf(name) }),
    leaveOut,
  });
  describeLockStore({
    test,
    expect,
    createStore: (name) => sqlLocks({ database, namespace: namespaceOf(name) }),
    leaveOut: [...leaveOut, 'untilReleased'],
  });

  test('a worker ID by URL', async () => {
    const snowflake = await startSnowflake({ support: `sqlite:${path}?namespace=by-url` });
    ok(snowflake.ids.nextId() > 0n);
    await snowflake.close();
  });
});

describe('a refused file', () => {
  for (const [refusal, words, make] of REFUSALS) {
    test(`has its own message: ${refusal}`, async () => {
      const folder = mkdtempSync(join(dirname(path), 'refused-'));
      const open = (name) => new DatabaseSync(name, { timeout: 20 });
      const refusing = make({ folder, open, table: registryTable('sqlite') });
      const support = 'path' in refusing ? `sqlite:${refusing.path}` : sqliteSupport(refusing);
      await rejects(startSnowflake({ support, startTimeoutMs: 1000 }), ({ message, details }) => {
        match(message, words);
        doesNotMatch(message.replace(folder, ''), OF_SERVERS);
        deepStrictEqual(details.refusal, refusal);
        return true;
      });
    });
  }
});

/**
 * A registry in a file of SQLite under attack. The clock of the host is that of the store.
 */
import { copyFileSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { STORE_PACE } from '../pace.mjs';
import { forgetLease } from './forgotten-lease.mjs';
import { CREATE } from './postgres.mjs';
import { isRemoved, storeFault } from './store-fault.mjs';

export const SQLITE_FAULTS = [
  storeFault('sqlite file replaced', (topology, world) =>
    topology.forgetful(world, {
      keep: () => topology.copied(topology.file, topology.copy),
      forget: () => renameSync(topology.copy, topology.file),
    }),
  ),
  storeFault('sqlite rows deleted', (topology) =>
    isRemoved(async () => topology.sql('DELETE FROM snowflake_registry').changes),
  ),
];

export class Sqlite {
  name = 'sqlite';
  quarantineMs = 0;
  pace = STORE_PACE;
  hasOneClock = true;
  faults = SQLITE_FAULTS;
  forgetful = forgetLease;

  constructor(/** @type {string} */ folder) {
    mkdirSync(folder, { recursive: true });
    this.file = join(folder, 'registry.db');
    this.copy = `${this.file}.old`;
  }

  async start() {
    this.sql(CREATE);
    return `sqlite:${this.file}?namespace=chaos`;
  }

  /** One statement of the operator. */
  sql(/** @type {string} */ text) {
    const database = new Database(this.file, { timeout: 15_000 });
    try {
      return database.prepare(text).run();
    } finally {
      database.close();
    }
  }

  /** As `cp` does it, at a moment at which nobody writes. */
  copied(/** @type {string} */ from, /** @type {string} */ to) {
    const database = new Database(this.file, { timeout: 5000 });
    database.exec('BEGIN IMMEDIATE');
    copyFileSync(from, to);
    database.exec('ROLLBACK');
    database.close();
  }

  async stop() {
    rmSync(this.file, { force: true });
  }
}

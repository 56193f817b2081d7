/**
 * The stores besides Redis that can be attacked, by the name that `npm run chaos -- --store` takes.
 *
 * Each is a class as those of topologies.mjs are: `name`, `quarantineMs`, its own `faults` and
 * `pace`, `start()`, which answers the support URL of the processes, and `stop()`.
 */
import { Etcd, ETCD_FAULTS } from './etcd.mjs';
import { Folder, FOLDER_FAULTS } from './folder.mjs';
import { Mariadb, MARIADB_FAULTS } from './mariadb.mjs';
import { ofLedBack, PostgresStandby, STANDBY_FAULTS } from './postgres-standby.mjs';
import { FILE_COPIED_OVER, KEY_PUT_BACK, ofPutBack } from '../put-back.mjs';
import { Postgres, POSTGRES_FAULTS } from './postgres.mjs';
import { Sqlite, SQLITE_FAULTS } from './sqlite.mjs';

/** @type {Record<string, new (folder: string) => any>} */
export const STORES = {
  postgres: Postgres,
  'postgres-standby': PostgresStandby,
  'postgres-led-back': ofLedBack(PostgresStandby),
  mariadb: Mariadb,
  etcd: Etcd,
  file: Folder,
  sqlite: Sqlite,
  'sqlite-copied-over': ofPutBack(Sqlite, FILE_COPIED_OVER),
};

export const STORE_FAULTS = [
  ...POSTGRES_FAULTS,
  ...STANDBY_FAULTS,
  ...MARIADB_FAULTS,
  ...ETCD_FAULTS,
  ...FOLDER_FAULTS,
  ...SQLITE_FAULTS,
  FILE_COPIED_OVER,
  KEY_PUT_BACK,
];

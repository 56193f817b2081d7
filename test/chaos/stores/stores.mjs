/**
 * The stores besides Redis, named as in `npm run chaos -- --store`.
 *
 * Each is a class like those of topologies.mjs: `name`, `quarantineMs`, its own `faults` and
 * `pace`, `start()`, which returns the support URL of the processes, and `stop()`.
 */
import { storeFault, until } from '../fault.mjs';
import { CLOCKED_STORES } from './clocks.mjs';
import { Etcd, ofOneMember } from './etcd.mjs';
import { Folder, Sqlite } from './files.mjs';
import { Mariadb } from './mariadb.mjs';
import { ofLedBack, Postgres, PostgresStandby } from './postgres.mjs';

// An older copy replaces a file in use, without any sign for the first process to ask.
// docs/concepts/guarantees.md excludes this from the promise.

/** Waits until a process got a lease. */
const BEGUN_MS_MAX = 60_000;

export const KEY_PUT_BACK = storeFault('key of redis put back', (topology, world) => {
  const { node, key, forgetful } = topology;
  /** @type {Buffer | null} */
  let kept = null;
  return forgetful(world, {
    keep: () => until(async () => (kept = await node.admin.dumpBuffer(key)) !== null, BEGUN_MS_MAX),
    forget: () => node.admin.restore(key, 0, kept, 'REPLACE'),
  });
});

/** Copies like `cp`, at a moment without writes. */
export const FILE_COPIED_OVER = storeFault('sqlite file copied over', (topology, world) =>
  topology.forgetful(world, {
    keep: () => topology.copied(topology.file, topology.copy),
    hold: () => topology.hold(),
    forget: () => topology.copied(topology.copy, topology.file),
  }),
);

/** @param {new (folder: string) => any} Server @param {import('../fault.mjs').Fault} fault */
export const ofPutBack = (Server, fault) =>
  class extends Server {
    name = `put back: ${fault.name}`;
    faults = [fault];
    toleratesTwice = true;
  };

/** @type {Record<string, new (folder: string) => any>} */
export const STORES = {
  postgres: Postgres,
  'postgres-standby': PostgresStandby,
  'postgres-led-back': ofLedBack(PostgresStandby),
  mariadb: Mariadb,
  etcd: Etcd,
  'etcd-one': ofOneMember(Etcd),
  file: Folder,
  sqlite: Sqlite,
  'sqlite-copied-over': ofPutBack(Sqlite, FILE_COPIED_OVER),
  ...CLOCKED_STORES,
};

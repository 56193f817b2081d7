// @ts-check
/**
 * Stores of rows whose clock is set back while all processes run, and which then lose their data.
 * Only the leaseholders can restore the granted times. One process more than worker IDs waits, and
 * only receives refusals.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WallClock } from '../../../scripts/servers/wall-clock.mjs';
import { STORE_PACE, storeFault } from '../fault.mjs';
import { Etcd, ETCD_FAULTS, setClocks } from './etcd.mjs';
import { Mariadb, MARIADB_FAULTS } from './mariadb.mjs';
import { Postgres, POSTGRES_FAULTS } from './postgres.mjs';

/** Far longer than a lease of 10 s. */
const FAR_MS = 300_000;
const RENEW_MS = 1000;
/** The margin added to the time between two renewals. */
const HEARD_MS = 2000;

/** @param {string} name of the fault that loses all data @param {any[]} faults */
const losing = (name, faults) => faults.find((fault) => fault.name === name);

/** @param {{ apply: (world: any) => unknown }} loss */
const setBackThenLost = (loss) => async (/** @type {any} */ topology, /** @type {any} */ world) => {
  const asked = () => sleep(RENEW_MS + HEARD_MS);
  topology.setClock(FAR_MS);
  // A store follows a step if data may be lost. IDs from here on have that time.
  await loss.apply(world);
  await asked();
  topology.setClock(0);
  await asked();
  await loss.apply(world);
  await asked();
};

const BACK = {
  postgres: storeFault(
    'postgres clock set back, then all is lost',
    setBackThenLost(losing('postgres rows deleted', POSTGRES_FAULTS)),
  ),
  mariadb: storeFault(
    'mariadb clock set back, then all is lost',
    setBackThenLost(losing('mariadb rows deleted', MARIADB_FAULTS)),
  ),
  etcd: storeFault(
    'etcd clock set back, then all is lost',
    setBackThenLost(losing('etcd keys deleted', ETCD_FAULTS)),
  ),
};

/** Common parts of all topologies. @param {new () => any} Server @param {any} fault */
const clocked = (Server, fault) =>
  class extends Server {
    faults = [fault];
    settings = { CHAOS_RENEW_MS: String(RENEW_MS) };
    pace = { ...STORE_PACE, processCount: STORE_PACE.processCount + 1 };

    constructor() {
      super();
      this.name = `${this.name}, its clock set back`;
      if (this.node === undefined) return;
      // The user of the server must be able to read it.
      const clock = new WallClock(join(this.node.folder, 'wall-clock'));
      this.node.env = clock.env;
      this.setClock = (/** @type {number} */ byMs) => clock.set(byMs);
    }
  };

class ClockedEtcd extends Etcd {
  /** Its members bypass the clock of the C library, so a proxy changes their answers. */
  setClock(/** @type {number} */ byMs) {
    setClocks(this.proxies, byMs);
  }
}

/** @type {Record<string, new (folder: string) => any>} */
export const CLOCKED_STORES = {
  'postgres-clock': clocked(Postgres, BACK.postgres),
  'mariadb-clock': clocked(Mariadb, BACK.mariadb),
  'etcd-clock': clocked(ClockedEtcd, BACK.etcd),
};

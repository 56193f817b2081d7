// @ts-check
/**
 * Stores of rows whose clock is set back while all run, and which then lose their data: what they
 * granted by the time they had, those alone can bring whom they answered. One process more than
 * there are worker ids waits, and is answered by refusals alone.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WallClock } from '../../../scripts/servers/wall-clock.mjs';
import { STORE_PACE, storeFault } from '../fault.mjs';
import { Etcd, ETCD_FAULTS, setClocks } from './etcd.mjs';
import { Mariadb, MARIADB_FAULTS } from './mariadb.mjs';
import { Postgres, POSTGRES_FAULTS } from './postgres.mjs';

/** Far longer than a lease, which is 10 s. */
const FAR_MS = 300_000;
const RENEW_MS = 1000;
/** So much longer than the time between two renewals. */
const HEARD_MS = 2000;

/** @param {string} name of the fault by which all is lost @param {any[]} faults */
const losing = (name, faults) => faults.find((fault) => fault.name === name);

/** @param {{ apply: (world: any) => unknown }} loss */
const setBackThenLost = (loss) => async (/** @type {any} */ topology, /** @type {any} */ world) => {
  const asked = () => sleep(RENEW_MS + HEARD_MS);
  topology.setClock(FAR_MS);
  // A step is followed if data may be lost: from here on ids are of that time.
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

/** What all of them have in common. @param {new () => any} Server @param {any} fault */
const clocked = (Server, fault) =>
  class extends Server {
    faults = [fault];
    settings = { CHAOS_RENEW_MS: String(RENEW_MS) };
    pace = { ...STORE_PACE, processCount: STORE_PACE.processCount + 1 };

    constructor() {
      super();
      this.name = `${this.name}, its clock set back`;
      if (this.node === undefined) return;
      // The user of the server reads it.
      const clock = new WallClock(join(this.node.folder, 'wall-clock'));
      this.node.env = clock.env;
      this.setClock = (/** @type {number} */ byMs) => clock.set(byMs);
    }
  };

class ClockedEtcd extends Etcd {
  /** Its members ask no clock of the C library: what they answer is changed on its way. */
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

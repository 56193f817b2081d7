/**
 * The stores besides Redis that can be attacked, by the name that `npm run chaos -- --store` takes.
 *
 * Each is a class as those of topologies.mjs are: `name`, `quarantineMs`, its own `faults`,
 * `start()`, which answers the support URL of the processes, and `stop()`.
 */

import { Postgres } from './postgres.mjs';

/** @type {Record<string, new (folder: string) => any>} */
export const STORES = { postgres: Postgres };

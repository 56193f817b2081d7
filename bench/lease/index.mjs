// Benchmarks of the lease against real servers, started by us.
//
// Guarantee: figures are medians over the rounds followed by the least and the greatest; a
// round in which anything went otherwise than meant throws instead of giving a figure.
import { clients } from './clients.mjs';
import { holders } from './holders.mjs';
import { renewals } from './renewals.mjs';
import { scriptTime } from './script-time.mjs';
import { startup } from './startup.mjs';
import { stores } from './stores.mjs';
import { waiting } from './waiting.mjs';
import { wideRegistry } from './wide-registry.mjs';

/** @type {import('../harness/turns.mjs').BenchGroup[]} */
export const groups = [
  renewals,
  clients,
  startup,
  stores,
  holders,
  scriptTime,
  waiting,
  wideRegistry,
];

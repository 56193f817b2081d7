/**
 * What befalls the network between the processes and a store that is reached through one proxy.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const SPAN_MS = 1200;

/** @param {import('./proxy.mjs').Mode} mode */
const network =
  (mode) =>
  async (/** @type {import('./fault.mjs').World} */ { topology }) => {
    topology.proxy.set(mode);
    await sleep(SPAN_MS);
    topology.proxy.set('open');
  };

/** @type {readonly import('./fault.mjs').Fault[]} */
export const NETWORK_FAULTS = [
  { name: 'network cut', level: 'store', apply: network('cut') },
  { name: 'network half-open', level: 'store', apply: network('half-open') },
  { name: 'replies lost', level: 'store', apply: network('replies lost') },
  { name: 'network slow', level: 'store', apply: network('slow') },
];

/**
 * What an operator of Redis changes while all run, and changes back.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** @import { Fault } from './fault.mjs' */

/** Longer than any call, and far shorter than a lease. */
const CHANGED_MS = 1200;
/** What it is changed to, and back. */
const SETTINGS = [
  ['appendonly', 'no', 'yes'],
  ['appendfsync', 'no', 'always'],
  ['maxmemory-policy', 'allkeys-lru', 'noeviction'],
  ['save', '1 1', ''],
];

/** @type {readonly Fault[]} */
export const OPERATOR_FAULTS = [
  {
    name: 'settings of redis changed',
    level: 'store',
    only: ['standalone', 'sentinel', 'cluster'],
    async apply({ topology: { node }, random }) {
      const [name, ...values] = SETTINGS[Math.floor(random() * SETTINGS.length)] ?? [];
      const set = (/** @type {string} */ value) => node.admin.config('SET', name, value);
      await set(values[0]);
      await node.admin.script('FLUSH');
      await sleep(CHANGED_MS);
      await set(values[1]);
    },
  },
  {
    name: 'INFO forbidden',
    level: 'store',
    only: ['standalone'],
    async apply({ topology: { node } }) {
      await node.admin.call('ACL', 'SETUSER', 'default', '-info');
      await sleep(CHANGED_MS);
      await node.admin.call('ACL', 'SETUSER', 'default', '+info');
    },
  },
  {
    name: 'REPLICAOF and back',
    level: 'store',
    only: ['standalone'],
    async apply({ topology: { node } }) {
      // Nobody answers there, so that its data stays.
      await node.admin.call('REPLICAOF', '127.0.0.1', '1');
      await sleep(CHANGED_MS);
      await node.admin.call('REPLICAOF', 'NO', 'ONE');
    },
  },
];

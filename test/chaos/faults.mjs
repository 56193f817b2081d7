/**
 * What is done to processes, to Redis and to the network between them, as a table.
 *
 * Each fault is over when its promise settles. Faults of one level follow each other; faults of
 * processes happen beside those of the store.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { setClock } from './fleet.mjs';
import { OPERATOR_FAULTS } from './operator-faults.mjs';
import { THERE_AND_BACK } from './there-and-back.mjs';
import { REGISTRY } from './topologies.mjs';

/** @import { Fault, World } from './fault.mjs' */

const STANDALONE = ['standalone'];
const REDIS = ['standalone', 'sentinel', 'cluster'];
/** A lease is 10 s. */
const PAST_LEASE_MS = 10_500;
const HOUR_S = 3600;

/** @param {World} world @param {(member: import('./fleet.mjs').Member) => unknown} run */
const one = ({ fleet, random }, run) => {
  const member = fleet.any(random);
  if (member) run(member);
  return member;
};

/** @type {readonly Fault[]} */
export const FAULTS = [
  {
    name: 'kill -9',
    level: 'process',
    gap: 'starting',
    apply: (world) => one(world, (it) => it.kill('SIGKILL')),
  },
  {
    name: 'SIGTERM',
    level: 'process',
    cardCount: 4,
    gap: 'starting',
    apply: (world) => one(world, (it) => it.kill('SIGTERM')),
  },
  {
    name: 'SIGSTOP',
    level: 'process',
    gap: 'none',
    // Nobody waits for it: other faults go on while it stands still.
    apply: (world) =>
      one(world, (it) => {
        it.kill('SIGSTOP');
        const share = world.random() < 0.5 ? 1 : 0.2 + 0.8 * world.random();
        setTimeout(() => it.kill('SIGCONT'), PAST_LEASE_MS * share);
      }),
  },
  {
    name: 'clock jump',
    level: 'process',
    setsOneClock: true,
    apply: (world) =>
      one(world, (it) => {
        const spanS = world.random() < 0.5 ? 4 : HOUR_S;
        setClock(it.clockFile, (2 * world.random() - 1) * spanS);
      }),
  },
  {
    name: 'event loop blocked',
    level: 'process',
    gap: 'none',
    apply: (world) =>
      one(world, (it) => it.connected && it.send({ blockMs: 500 + world.random() * 4000 })),
  },
  {
    name: 'redis restarted with data',
    level: 'store',
    only: STANDALONE,
    async apply({ topology: { node } }) {
      await node.kill();
      await node.start();
    },
  },
  {
    name: 'redis restarted empty',
    level: 'store',
    only: STANDALONE,
    async apply({ topology: { node } }) {
      await node.kill();
      node.forget();
      await node.start();
    },
  },
  {
    name: 'redis restarted from an old RDB',
    level: 'store',
    only: STANDALONE,
    async apply({ topology: { node } }) {
      await node.backup();
      await sleep(1000);
      await node.restore();
    },
  },
  {
    name: 'FLUSHALL',
    level: 'store',
    only: STANDALONE,
    apply: ({ topology: { node } }) => node.admin.flushall(),
  },
  {
    name: 'DEL',
    level: 'store',
    only: STANDALONE,
    apply: ({ topology: { node } }) => node.admin.del(REGISTRY),
  },
  {
    name: 'CLIENT PAUSE',
    level: 'store',
    only: REDIS,
    async apply({ topology: { node } }) {
      await node.admin.call('CLIENT', 'PAUSE', '1200');
      await sleep(1200);
    },
  },
  {
    name: 'CLIENT KILL',
    level: 'store',
    only: REDIS,
    apply: ({ topology: { node } }) => node.admin.call('CLIENT', 'KILL', 'TYPE', 'normal'),
  },
  {
    name: 'DEBUG SLEEP',
    level: 'store',
    only: STANDALONE,
    apply: ({ topology: { node } }) => node.admin.call('DEBUG', 'SLEEP', '1.2'),
  },
  {
    name: 'redis SIGSTOP',
    level: 'store',
    only: STANDALONE,
    async apply({ topology: { node } }) {
      process.kill(node.pid, 'SIGSTOP');
      await sleep(1500);
      process.kill(node.pid, 'SIGCONT');
    },
  },
  {
    name: 'maxmemory',
    level: 'store',
    only: REDIS,
    async apply({ topology: { node } }) {
      await node.admin.config('SET', 'maxmemory', '1');
      await sleep(1200);
      await node.admin.config('SET', 'maxmemory', '0');
    },
  },
  {
    name: 'sentinel failover',
    level: 'store',
    changesServer: true,
    only: ['sentinel'],
    apply: ({ topology }) => topology.failOver(),
  },
  {
    name: 'cluster failover',
    level: 'store',
    changesServer: true,
    only: ['cluster'],
    apply: ({ topology }) => topology.failOver(),
  },
  {
    name: 'cluster slot moved',
    level: 'store',
    changesServer: true,
    only: ['cluster'],
    apply: ({ topology }) => topology.moveSlot(),
  },
  ...THERE_AND_BACK.map((fault) => ({ ...fault, only: ['sentinel', 'cluster'] })),
  ...OPERATOR_FAULTS,
];

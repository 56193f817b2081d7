/**
 * The faults of processes, of Redis, and of the network between them, as a table.
 *
 * Each fault is over when its promise settles. Faults of one level follow each other. Process
 * faults overlap store faults.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { THERE_AND_BACK } from './fault.mjs';
import { setClock } from './fleet.mjs';
import { REGISTRY } from './topologies.mjs';

/** @import { Fault } from './fault.mjs' */
/** @import { World } from './fault.mjs' */

// Changes that an operator of Redis makes and reverts while all processes run.

/** Longer than any call, and far shorter than a lease. */
const CHANGED_MS = 1200;
/** Each changed value, and its original. */
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
      // No client reaches that place, so its data stays.
      await node.admin.call('REPLICAOF', '127.0.0.1', '1');
      await sleep(CHANGED_MS);
      await node.admin.call('REPLICAOF', 'NO', 'ONE');
    },
  },
];

const STANDALONE = ['standalone'];
const REDIS = ['standalone', 'sentinel', 'cluster'];
/** A lease lasts 10 s. */
const PAST_LEASE_MS = 10_500;
const HOUR_S = 3600;

/** @param {World} world @param {(member: import('./fleet.mjs').Member) => unknown} run */
const one = ({ fleet, random }, run) => {
  const member = fleet.any(random);
  if (member) run(member);
  return member;
};

/** Gives some or all places of a fleet with two builds the other build. */
function rolled({ fleet, random }, /** @type {boolean} */ toPrevious) {
  const { size } = fleet.parts;
  return fleet.roll(toPrevious, random() < 0.5 ? size : Math.ceil(random() * size));
}

const runProgram = promisify(execFile);

/**
 * Starts or undoes a move of the layout while processes of two builds run. It is refused if more
 * worker IDs than a half has are held or not free yet.
 */
async function movedLayout({ fleet, random }, /** @type {boolean} */ isUndone) {
  const { app, support, settings } = fleet.parts;
  const workerBits = Number(settings.CHAOS_WORKER_BITS);
  const layoutOf = (/** @type {number} */ bits, /** @type {number} */ rest) =>
    `t41-w${bits}-s${rest}/1ms@${Date.UTC(2024, 0)}`;
  const goal = isUndone
    ? ['--end', layoutOf(workerBits, 12)]
    : ['--to', layoutOf(workerBits + 1, 11)];
  const program = join(app, 'node_modules/nestjs-snowflake/dist/esm/cli/main.js');
  const wait = random() < 0.5 ? ['--wait'] : [];
  const args = [program, 'layout', 'move', '--support', support, '--yes', ...goal, ...wait];
  const { output, code } = await runProgram(process.execPath, args, { timeout: 15_000 }).then(
    () => ({ output: '', code: 0 }),
    (error) => ({ output: `${error.stderr}`, code: error.code }),
  );
  if (code !== 0) console.log(`[chaos] layout move ${goal.join(' ')}: ${output.slice(0, 200)}`);
}

/** @type {readonly Fault[]} */
export const FAULTS = [
  {
    name: 'layout move begun',
    level: 'process',
    ofTwoBuilds: true,
    cardCount: 2,
    apply: (world) => movedLayout(world, false),
  },
  {
    name: 'layout move undone',
    level: 'process',
    ofTwoBuilds: true,
    apply: (world) => movedLayout(world, true),
  },
  {
    name: 'rolled forward',
    level: 'process',
    ofTwoBuilds: true,
    cardCount: 2,
    apply: (world) => rolled(world, false),
  },
  {
    name: 'rolled back',
    level: 'process',
    ofTwoBuilds: true,
    cardCount: 2,
    apply: (world) => rolled(world, true),
  },
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
    // The attack does not wait: other faults happen during the pause.
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
    // A process that is ending receives nothing any more.
    apply: (world) =>
      one(world, (it) => {
        const blockMs = 500 + world.random() * 4000;
        if (it.connected) it.send({ blockMs }, () => undefined);
      }),
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

/**
 * Adds the counts of a run to the fault table of a document. Duplicates beyond the promise count
 * only in the rows that state them.
 * @param {string} document
 * @param {readonly Applied[]} results
 *
 * @typedef {{ faults: readonly { name: string, count: number }[], duplicateCount: number }} Applied
 */
export function withCounts(document, results) {
  const FAULT = /chaos: ([^;|(]+?)(?: \(([\d,]+)\))?(?=; | \|)/g;
  const counted = (/** @type {string} */ row) => {
    const isBeyond = row.includes('beyond the promise');
    const own = results.filter(({ duplicateCount }) => isBeyond || duplicateCount === 0);
    const all = own.flatMap(({ faults }) => faults);
    return row.replace(FAULT, (cell, name, before = '0') => {
      const times = all.reduce((sum, it) => sum + (it.name === name ? it.count : 0), 0);
      if (times === 0) return cell;
      const count = Number(before.replaceAll(',', '')) + times;
      return `chaos: ${name} (${count.toLocaleString('en-US')})`;
    });
  };
  return document.split('\n').map(counted).join('\n');
}

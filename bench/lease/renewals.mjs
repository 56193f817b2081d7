// The benchmark `renewals`: what a full fleet costs one Redis in steady state.
//
// Guarantee: CPU time is what redis-server itself says it used, less an idle span of equal length
// with the same leases and connections, so that only the renewals are left. PINGs at the same pace
// show what any command costs on this machine, where a server that mostly sleeps runs cold.
import { setTimeout as sleep } from 'node:timers/promises';
import { column, spread } from '../harness/figures.mjs';
import { inTurns } from '../harness/turns.mjs';
import { startChild } from './client-process.mjs';
import { INTERVAL_MS, WORKER_COUNT } from './holder.mjs';
import { connectionFault, cpuMs, resetScriptUs, scriptUs, withRedis } from './server.mjs';

const SPAN_MS = INTERVAL_MS;
/** Few, so that hardly anything but the scripts is measured; and one each, as in production. */
const FLEETS = [
  { connectionCount: 4, acts: ['renew', 'ping'] },
  { connectionCount: WORKER_COUNT, acts: ['renew'] },
];
const CLIENT = new URL('renewals.client.mjs', import.meta.url);

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const measure = (fleet) => withRedis((server) => oneRound(server, fleet));
  const byFleet = await inTurns(FLEETS, measure, options);
  return [...byFleet].flatMap(([fleet, results]) => rowsOf(fleet, results));
}

function rowsOf({ connectionCount, acts }, results) {
  const fault = results.find((result) => result.fault !== undefined)?.fault;
  if (fault !== undefined) return [[nameOf('renew', connectionCount), fault, '', '', '', '', '']];
  return acts.map((what) => row(nameOf(what, connectionCount), column(results, what)));
}

function nameOf(what, connectionCount) {
  if (what === 'ping') return 'as many PINGs, for comparison';
  return `renewals over ${connectionCount} connections`;
}

function row(name, results) {
  return [
    name,
    spread(column(results, 'perSecond'), 1),
    spread(column(results, 'cpuPercent'), 2),
    spread(column(results, 'idlePercent'), 2),
    results[0].scriptUs === undefined ? '' : spread(column(results, 'scriptUs'), 0),
    spread(column(results, 'p50Ms'), 2),
    spread(column(results, 'p99Ms'), 2),
  ];
}

/** The figures of each act of the fleet, by its name. */
async function oneRound({ url, admin }, { connectionCount, acts }) {
  const fault = await connectionFault(admin, connectionCount);
  if (fault !== undefined) return { fault };
  const client = startChild(CLIENT);
  try {
    const settings = { url, holderCount: WORKER_COUNT, connectionCount };
    const distinct = await client.ask('prepare', settings);
    if (distinct !== WORKER_COUNT) throw new Error(`Only ${distinct} worker ids are distinct.`);
    const { percent: idlePercent } = await percentDuring(admin, () => sleep(SPAN_MS));
    const figures = {};
    for (const what of acts) figures[what] = await oneAct(admin, client, { what, idlePercent });
    return figures;
  } finally {
    await client.stop();
  }
}

async function oneAct(admin, client, { what, idlePercent }) {
  await resetScriptUs(admin);
  const pace = { what, spanMs: SPAN_MS, intervalMs: INTERVAL_MS };
  const { answer, percent } = await percentDuring(admin, () => client.ask('pace', pace));
  const { count, elapsedMs, p50Ms, p99Ms } = answer;
  return {
    perSecond: (1000 * count) / elapsedMs,
    cpuPercent: percent - idlePercent,
    idlePercent,
    scriptUs: what === 'renew' ? (await scriptUs(admin, count)) / count : undefined,
    p50Ms,
    p99Ms,
  };
}

/** The share of one core that redis-server used while something was done. */
async function percentDuring(admin, act) {
  const cpuBefore = await cpuMs(admin);
  const startedAt = performance.now();
  const answer = await act();
  const elapsedMs = performance.now() - startedAt;
  return { answer, percent: (100 * ((await cpuMs(admin)) - cpuBefore)) / elapsedMs };
}

export const renewals = {
  title: 'Renewals in steady state',
  explanation:
    `All ${WORKER_COUNT} worker ids of the layout 41/10/12 are leased from one Redis, and each ` +
    `holder renews every ${INTERVAL_MS / 1000} s, spread evenly. CPU is what redis-server used ` +
    `by its own INFO, as percent of one core, less what it used while the same connections were ` +
    `idle; latency is what the holder sees on the machine on which Redis runs. ` +
    `There is no target in percent: a script that runs a hundred times a second runs on cold ` +
    `caches, which cost more than the script. It may get no dearer; the PINGs show what waking ` +
    `up and answering costs alone.`,
  columns: [
    'load',
    'calls/s',
    'CPU of Redis, % of one core',
    'idle, %',
    'in the script, µs per call',
    'p50 ms',
    'p99 ms',
  ],
  run,
};

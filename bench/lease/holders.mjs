// The benchmark `holders`: ten thousand holders on one registry of a wide layout, on each store.
//
// Guarantee: the same clients ask every store; a renewal that is not granted ends the run, and
// where two got one worker id it fails. The bytes are those that the store itself tells.
import { column, median, percentile, spread, whole } from '../harness/figures.mjs';
import { inTurns } from '../harness/turns.mjs';
import { startChild } from './client-process.mjs';
import { INTERVAL_MS } from './holder.mjs';
import { measuredCpu } from './server.mjs';
import { bytesOf, STORE_NAMES, withStore } from './store-support.mjs';

const HOLDER_COUNT = 10_000;
const PROCESS_COUNT = 4;
const CONNECTION_COUNT = 4;
/** Sonyflake's layout has as many. */
const WORKER_COUNT = 65_536;
/** So many of a process ask for a worker id at once, and renew at once in the flood. */
const AT_ONCE_COUNT = 50;
const FLOOD_MS = 5000;
/** Of what the store can do; a fleet beyond that is never served in time again. */
const PACE = 0.5;
const CLIENT = new URL('stores.client.mjs', import.meta.url);

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const byName = await inTurns(
    STORE_NAMES,
    (name) => withStore(name, (server) => oneRound(name, server)),
    options,
  );
  return [...byName].map(([name, results]) => {
    const cell = (key, digits) => spread(column(results, key), digits);
    const most = median(column(results, 'floodPerSecond'));
    return [
      name,
      cell('floodPerSecond', 0),
      whole(Math.floor((most * INTERVAL_MS) / 1e6) * 1000),
      cell('perSecond', 0),
      cell('p50Ms', 1),
      cell('p99Ms', 1),
      cell('cpuUs', 0),
      cell('bytes', 0),
    ];
  });
}

async function oneRound(name, { url, pid }) {
  const children = Array.from({ length: PROCESS_COUNT }, () => startChild(CLIENT));
  const askAll = async (what, value) => {
    const answers = await Promise.all(children.map(({ ask }) => ask(what, value)));
    return answers.flat();
  };
  try {
    const emptyBytes = await bytesOf(name, url);
    const holderCount = HOLDER_COUNT / PROCESS_COUNT;
    const pool = { workerIdMin: 0, workerIdMax: WORKER_COUNT - 1 };
    await askAll('prepare', { name, url, holderCount, connectionCount: CONNECTION_COUNT, pool });
    const workerIds = await askAll('startInTurn', { atOnceCount: AT_ONCE_COUNT });
    if (new Set(workerIds).size < HOLDER_COUNT) throw new Error('A worker id was leased twice.');
    const flood = { atOnceCount: AT_ONCE_COUNT, spanMs: FLOOD_MS };
    const floodCounts = await askAll('renewFlood', flood);
    const floodPerSecond = (1000 * floodCounts.reduce((sum, count) => sum + count, 0)) / FLOOD_MS;
    const perSecond = Math.min((1000 * HOLDER_COUNT) / INTERVAL_MS, PACE * floodPerSecond);
    const count = Math.floor((perSecond * INTERVAL_MS) / 1000 / PROCESS_COUNT);
    const renewed = await measuredCpu(pid, () =>
      askAll('renewAll', { spanMs: INTERVAL_MS, count }),
    );
    const { length } = renewed.answer;
    return {
      floodPerSecond,
      perSecond: (1000 * length) / renewed.elapsedMs,
      p50Ms: percentile(renewed.answer, 50),
      p99Ms: percentile(renewed.answer, 99),
      cpuUs: (1000 * renewed.cpuMs) / length,
      bytes: ((await bytesOf(name, url)) - emptyBytes) / HOLDER_COUNT,
    };
  } finally {
    await Promise.all(children.map(({ stop }) => stop()));
  }
}

export const holders = {
  title: `${HOLDER_COUNT.toLocaleString('en-US')} holders on one registry`,
  explanation:
    `${HOLDER_COUNT.toLocaleString('en-US')} holders in ${PROCESS_COUNT} processes lease worker ` +
    `ids of a layout with ${WORKER_COUNT.toLocaleString('en-US')}, over ${CONNECTION_COUNT} ` +
    `connections of each process to PostgreSQL and MariaDB, one to Redis, up to 8 to etcd. For ` +
    `${FLOOD_MS / 1000} s ${PROCESS_COUNT * AT_ONCE_COUNT} renewals are always under way: what ` +
    `the store can do beside its clients on this machine, and how many holders that is, each of ` +
    `which renews every ${INTERVAL_MS / 1000} s. Then as many renew, spread evenly, as ` +
    `${HOLDER_COUNT.toLocaleString('en-US')} holders do, or half of what the store can do. The ` +
    `CPU time is that of the server with all its processes, for one of these renewals. The bytes ` +
    `are what the registry has grown by, in the words of the store; those of etcd have the ` +
    `history that it has not compacted yet.`,
  columns: [
    'store',
    'renewals/s at most',
    'holders at most',
    'then renewals/s',
    'p50 ms',
    'p99 ms',
    'CPU of the server, µs each',
    'bytes per holder',
  ],
  run,
};

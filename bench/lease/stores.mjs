// The benchmark `stores`: a whole fleet on each store, as it starts at once and as it renews.
//
// Guarantee: the same clients ask every store; where not all of them were served within 30 s the
// figure says how many were, and where two got one worker id the run fails.
import { column, percentile, spread } from '../harness/figures.mjs';
import { inTurns } from '../harness/turns.mjs';
import { startChild } from './client-process.mjs';
import { INTERVAL_MS, WORKER_COUNT } from './holder.mjs';
import { measuredCpu } from './server.mjs';
import { STORE_NAMES, withStore } from './store-support.mjs';

const PROCESS_COUNT = 8;
const CONNECTION_COUNT = 4;
const HOLDER_COUNT = WORKER_COUNT / PROCESS_COUNT;
const CLIENT = new URL('stores.client.mjs', import.meta.url);

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const byName = await inTurns(
    STORE_NAMES,
    (name) => withStore(name, (server) => oneRound(name, server)),
    options,
  );
  return [...byName].map(([name, results]) => [name, ...cellsOf(results)]);
}

/** @returns {string[]} */
function cellsOf(results) {
  const short = results.find(({ servedCount }) => servedCount < WORKER_COUNT);
  const cell = (key, digits) => spread(column(results, key), digits);
  const herdCpu = cell('herdCpuMs', 0);
  if (short) return [`not all: ${short.servedCount} in 30 s`, '', herdCpu, '', '', ''];
  return [
    cell('allMs', 0),
    cell('halfMs', 0),
    herdCpu,
    cell('p50Ms', 1),
    cell('p99Ms', 1),
    cell('cpuPercent', 1),
  ];
}

async function oneRound(name, { url, pid }) {
  const children = Array.from({ length: PROCESS_COUNT }, () => startChild(CLIENT));
  const askAll = async (what, value) =>
    (await Promise.all(children.map(({ ask }) => ask(what, value)))).flat();
  try {
    const share = { holderCount: HOLDER_COUNT, connectionCount: CONNECTION_COUNT };
    await askAll('prepare', { name, url, ...share });
    const herd = await measuredCpu(pid, () =>
      askAll('start', { signalNs: String(process.hrtime.bigint()) }),
    );
    const figures = { ...herdFigures(herd.answer), herdCpuMs: herd.cpuMs };
    if (figures.servedCount < WORKER_COUNT) return figures;
    // The first goes over connections that are new.
    await askAll('renewAll', { spanMs: INTERVAL_MS / 2 });
    const renewed = await measuredCpu(pid, () => askAll('renewAll', { spanMs: INTERVAL_MS }));
    return {
      ...figures,
      p50Ms: percentile(renewed.answer, 50),
      p99Ms: percentile(renewed.answer, 99),
      cpuPercent: (100 * renewed.cpuMs) / renewed.elapsedMs,
    };
  } finally {
    await Promise.all(children.map(({ stop }) => stop()));
  }
}

function herdFigures(clients) {
  const served = clients.filter(({ workerId }) => workerId !== undefined);
  const workerIds = column(served, 'workerId');
  if (new Set(workerIds).size < served.length) throw new Error('A worker id was leased twice.');
  const readyMs = column(served, 'readyMs');
  const servedCount = served.length;
  return { servedCount, allMs: Math.max(...readyMs), halfMs: percentile(readyMs, 50) };
}

export const stores = {
  title: `${WORKER_COUNT} holders on each store`,
  explanation:
    `${WORKER_COUNT} holders in ${PROCESS_COUNT} processes, ${CONNECTION_COUNT} connections of ` +
    `each to PostgreSQL and MariaDB, one to Redis, up to 8 to etcd: first all of them ask at ` +
    `once for a worker id of a registry that is new, then each renews every ` +
    `${INTERVAL_MS / 1000} s. A registry that is new answers 'wait' for as long as a loss of ` +
    `data is in doubt, which is in the time until all are served: 1 s in Redis, 2 s in the ` +
    `others and 3 s in etcd. The CPU time is that of the server with all its processes (/proc). ` +
    `Servers do not wait for the disk.`,
  columns: [
    'store',
    'herd: all served, ms',
    'half of them, ms',
    'CPU of the server, ms',
    'renewing: p50 ms',
    'p99 ms',
    'CPU, % of one core',
  ],
  run,
};

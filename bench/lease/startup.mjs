// The benchmark `startup`: a whole fleet starts in the same moment, on a Redis that is new.
//
// Guarantee: the run fails where two clients got the same worker id or one got none, by the answers
// of the clients and by what the registry itself says.
import { column, median, spread } from '../harness/figures.mjs';
import { importRedis } from '../harness/library.mjs';
import { inTurns } from '../harness/turns.mjs';
import { startChild } from './client-process.mjs';
import { WORKER_COUNT } from './holder.mjs';
import { connectionFault, cpuMs, infoNumber, withRedis } from './server.mjs';

const { redisSupport } = await importRedis();

const PROCESS_COUNT = 8;
const CLIENT = new URL('startup.client.mjs', import.meta.url);

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const fleet = `${WORKER_COUNT} in ${PROCESS_COUNT} processes`;
  const results = (await inTurns([fleet], () => withRedis(oneRound), options)).get(fleet);
  const fault = results.find((result) => result.fault !== undefined)?.fault;
  if (fault !== undefined) return [[fleet, fault, '', '', '', '', '', '']];
  const cells = ['allMs', 'p50Ms', 'cpuMs', 'distinct', 'connections', 'waits', 'errors'];
  return [[fleet, ...cells.map((name) => spread(column(results, name), 0))]];
}

async function oneRound({ url, admin }) {
  const fault = await connectionFault(admin, WORKER_COUNT);
  if (fault !== undefined) return { fault };
  const children = Array.from({ length: PROCESS_COUNT }, () => startChild(CLIENT));
  const askAll = (name, value) => Promise.all(children.map(({ ask }) => ask(name, value)));
  try {
    await askAll('prepare', { url, count: WORKER_COUNT / PROCESS_COUNT });
    const cpuBefore = await cpuMs(admin);
    const clients = (await askAll('start', { signalNs: String(process.hrtime.bigint()) })).flat();
    const cpuAfter = await cpuMs(admin);
    const connections = await openConnections(admin);
    await requireDistinct(url, clients);
    return { ...figuresOf(clients), connections, cpuMs: cpuAfter - cpuBefore };
  } finally {
    await Promise.all(children.map(({ stop }) => stop()));
  }
}

function figuresOf(clients) {
  const readyMs = column(clients, 'readyMs');
  const refusals = column(clients, 'refusals').flat();
  const isAnswer = (reason) => reason === 'wait' || reason === 'none-free';
  const failures = refusals.filter((reason) => !isAnswer(reason));
  return {
    allMs: Math.max(...readyMs),
    p50Ms: median(readyMs),
    distinct: new Set(column(clients, 'workerId')).size,
    waits: refusals.length - failures.length,
    errors: failures.length,
    failures: [...new Set(failures)],
  };
}

/** All clients must be connected at the same time, or this was no start of a whole fleet. */
async function openConnections(admin) {
  const open = (await infoNumber(admin, 'clients', 'connected_clients')) - 1;
  const rejected = await infoNumber(admin, 'stats', 'rejected_connections');
  if (open < WORKER_COUNT || rejected > 0) {
    throw new Error(
      `${WORKER_COUNT} connections did not work at once: ${open} open, ${rejected} rejected.`,
    );
  }
  return open;
}

async function requireDistinct(url, clients) {
  const support = redisSupport({ redis: url });
  try {
    const held = (await support.workers()).filter(({ holder }) => holder !== undefined).length;
    const { distinct } = figuresOf(clients);
    if (distinct === WORKER_COUNT && held === WORKER_COUNT) return;
    throw new Error(
      `Expected ${WORKER_COUNT} worker ids, got ${distinct} distinct ones in ` +
        `${clients.length} clients and ${held} in the registry.`,
    );
  } finally {
    await support.close();
  }
}

export const startup = {
  title: 'Start of a whole fleet at once',
  explanation:
    `${WORKER_COUNT} clients with a connection each, none of them open yet, get one common ` +
    `signal, connect to a new Redis and acquire a worker id; all worker ids of the layout are ` +
    `taken at the end. A client asks again as the library does: a registry that is new answers ` +
    `'wait' for its first second, and a call without an answer within 2 s is repeated (the ` +
    `failed calls, on a machine that is too busy). Clients and Redis share the cores of one ` +
    `machine; the CPU time of Redis says how much of the whole is the server's, connections ` +
    `included.`,
  columns: [
    'clients',
    'all ready, ms',
    'half ready, ms',
    'CPU of Redis, ms',
    'distinct worker ids',
    'connections at once',
    'answers to wait',
    'failed calls',
  ],
  run,
};

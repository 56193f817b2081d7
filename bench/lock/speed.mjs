// The benchmark of locks that nothing happens to: how soon the next one has it, and how long a crowd
// takes.
//
// Guarantee: a server of its own for each measurement; a section that another one runs beside fails
// the run.
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { column, median, spread } from '../harness/figures.mjs';
import { inTurns } from '../harness/turns.mjs';
import { WAYS } from './ways.mjs';

const TTL_MS = 3000;
/** So many tries that nobody gives up. */
const TERMS = { ttlMs: TTL_MS, tries: 1000 };
const HANDOVER_COUNT = 20;
const [CROWD, WORK_MS] = [20, 5];

/** From the end of one section to the beginning of the next one, which waited somewhere else. */
async function handover([one, other]) {
  const all = [];
  for (let count = 0; count < HANDOVER_COUNT; count++) {
    let endedAt = 0;
    let next = Promise.resolve();
    await one.using('handed', async () => {
      next = other.using('handed', async () => void all.push(performance.now() - endedAt));
      // It asks, and begins to wait; not always for as long.
      await sleep(100 + 50 * Math.random());
      endedAt = performance.now();
    });
    await next;
  }
  return median(all);
}

async function crowd(/** @type {import('./ways.mjs').Holding[]} */ holdings) {
  let inside = 0;
  const startedAt = performance.now();
  const section = async () => {
    if (++inside > 1) throw new Error('Two sections ran at once.');
    await sleep(WORK_MS);
    inside--;
  };
  const callers = Array.from({ length: CROWD }, (_, at) =>
    holdings[at % holdings.length].using('crowd', section),
  );
  await Promise.all(callers);
  return performance.now() - startedAt;
}

async function measure({ open, isLocal = false }) {
  const server = await startRedis();
  const holdings = [];
  try {
    const count = isLocal ? 1 : CROWD;
    for (let at = 0; at < count; at++) holdings.push(await open(server.url, TERMS));
    const [one, other = one] = holdings;
    return {
      handoverMs: await handover([one, other]),
      crowdMs: await crowd([one]),
      apartMs: isLocal ? undefined : await crowd(holdings),
    };
  } finally {
    await Promise.all(holdings.map((holding) => holding.close()));
    await server.stop();
  }
}

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const byWay = await inTurns(WAYS, measure, options);
  return [...byWay].map(([{ name, isLocal = false }, rounds]) => [
    name,
    spread(column(rounds, 'handoverMs'), 1),
    spread(column(rounds, 'crowdMs'), 0),
    isLocal ? 'does not apply' : spread(column(rounds, 'apartMs'), 0),
  ]);
}

/** @type {import('../harness/turns.mjs').BenchGroup} */
export const speed = {
  title: 'Locks in Redis',
  explanation:
    'Sections under a lock with a ttl of 3 s, on one Redis, by the call of each package that ' +
    'extends the lock by itself. Handover: from the end of a section to the beginning of the ' +
    'next, which waited on another connection; a message wakes ours, the others ask again from ' +
    'time to time. A crowd: 20 callers with 5 ms of work each, in one process, and on 20 ' +
    'connections; 100 ms of it is their work.',
  columns: ['package', 'handover, ms', 'crowd of one process, ms', 'crowd of 20 connections, ms'],
  run,
};

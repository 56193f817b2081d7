// The benchmark `script-time`: what one operation costs Redis, by the size of the registry.
//
// Guarantee: times are the server's own, from INFO commandstats, without clients and network; each
// figure is of exactly the calls meant, or the run fails.
import { column, spread } from '../harness/figures.mjs';
import { importRedis } from '../harness/library.mjs';
import { inTurns } from '../harness/turns.mjs';
import { LeaseHolder, WORKER_COUNT } from './holder.mjs';
import { resetScriptUs, scriptUs, settleRegistry, withRedis } from './server.mjs';

const { redisSupport } = await importRedis();

const SIZES = [1, 64, 256, WORKER_COUNT];
const ACQUIRE_COUNT = 300;
const RENEW_COUNT = 2000;
const WORKERS_COUNT = 200;
const BEFORE_ACQUIRE = 'before-acquire';

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const measure = (size) => withRedis((server) => oneRound(server, size));
  const bySize = await inTurns(SIZES, measure, options);
  const cells = ['acquire', 'renew', 'workers'];
  return [...bySize].map(([size, results]) => [
    String(size),
    ...cells.map((name) => spread(column(results, name), 1)),
  ]);
}

async function oneRound({ url, admin }, size) {
  const support = redisSupport({ redis: url });
  const bench = { support, admin };
  try {
    const holders = await fill(bench, size);
    const renew = await perCall(bench, RENEW_COUNT, (index) => holders[index % size].renew());
    const workers = await perCall(bench, WORKERS_COUNT, () => support.workers());
    const acquire = await acquireUs(bench);
    return { acquire, renew, workers };
  } finally {
    await support.close();
  }
}

/** Leases `size` worker ids, and keeps a copy of the registry in which the last one is free. */
async function fill({ support, admin }, size) {
  await settleRegistry(admin, support.key);
  const holders = Array.from({ length: size }, () => new LeaseHolder(support));
  for (const holder of holders) await holder.acquire();
  const last = holders[size - 1];
  await support.release(last.lease, undefined);
  await admin.copy(support.key, BEFORE_ACQUIRE);
  await last.acquire();
  return holders;
}

async function perCall({ admin }, count, call) {
  // Warm, so that every script is known by its hash.
  for (let index = 0; index < 50; index++) await call(index);
  await resetScriptUs(admin);
  for (let index = 0; index < count; index++) await call(index);
  return (await scriptUs(admin, count)) / count;
}

/** Each acquire is the one that brings the registry to its size: it is put back before each. */
async function acquireUs({ support, admin }) {
  let us = 0;
  for (let index = 0; index < ACQUIRE_COUNT; index++) {
    await admin.copy(BEFORE_ACQUIRE, support.key, 'REPLACE');
    await resetScriptUs(admin);
    await new LeaseHolder(support).acquire();
    us += await scriptUs(admin, 1);
  }
  return us / ACQUIRE_COUNT;
}

export const scriptTime = {
  title: 'Time of one operation inside Redis',
  explanation:
    `Redis runs one operation at a time, so this is how long it answers nobody else. The time is ` +
    `the server's own (INFO commandstats, microseconds per EVALSHA), against the number of ` +
    `worker ids held, each operation repeated so that the caches are warm. ` +
    `A renewal must not depend on it; an acquire searches up to ${WORKER_COUNT} worker ids for ` +
    `the one free for longest, and \`workers\` reads the whole registry for the operator.`,
  columns: ['worker ids held', 'acquire, µs', 'renew, µs', 'workers, µs'],
  run,
};

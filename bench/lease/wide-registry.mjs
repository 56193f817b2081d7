// The benchmark `wide-registry`: what one operation costs Redis where a million ids are held.
//
// Guarantee: times are the server's own, from INFO commandstats, of one call each; a call that was
// not granted fails the run.
import { randomUUID } from 'node:crypto';
import { median, percentile, column, spread } from '../harness/figures.mjs';
import { importRedis } from '../harness/library.mjs';
import { inTurns } from '../harness/turns.mjs';
import { LeaseHolder } from './holder.mjs';
import { infoNumber, resetScriptUs, scriptUs, settleRegistry, withRedis } from './server.mjs';

const { redisSupport } = await importRedis();

const HELD_COUNT = 1_000_000;
const BATCH_COUNT = 5000;
const CALL_COUNT = 300;
const HELD_MS = 3_600_000;
/** Baidu's layout, and one that is nearly full. */
const SPANS = [4_194_304, 1_048_576];

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const bySpan = await inTurns(
    SPANS,
    (span) => withRedis((server) => oneRound(server, span)),
    options,
  );
  const cells = ['acquireUs', 'acquireP99Us', 'renewUs', 'renewP99Us', 'pageUs', 'bytes'];
  return [...bySpan].map(([span, results]) => [
    `${HELD_COUNT.toLocaleString('en-US')} of ${span.toLocaleString('en-US')}`,
    ...cells.map((name) => spread(column(results, name), 0)),
  ]);
}

async function oneRound({ url, admin }, span) {
  const support = redisSupport({ redis: url });
  try {
    const bytes = await fill(admin, support.key);
    const pool = { workerIdMin: 0, workerIdMax: span - 1 };
    const holders = Array.from({ length: CALL_COUNT }, () => new LeaseHolder(support, {}, pool));
    await support.workers(1);
    const acquire = await each(admin, holders, (holder) => holder.acquire());
    const renew = await each(admin, holders, (holder) => holder.renew());
    const page = await each(admin, holders.slice(0, 20), () => support.workers(1));
    return {
      acquireUs: median(acquire),
      acquireP99Us: percentile(acquire, 99),
      renewUs: median(renew),
      renewP99Us: percentile(renew, 99),
      pageUs: median(page),
      bytes,
    };
  } finally {
    await support.close();
  }
}

/** The first worker ids held by as many processes; returns what each takes in the server. */
async function fill(admin, key) {
  const before = await infoNumber(admin, 'memory', 'used_memory');
  await settleRegistry(admin, key);
  const sinceMs = Date.now();
  const label = { host: 'shop-7d4b9c6f5-x2x9q', pid: 1, application: 'shop' };
  for (let first = 0; first < HELD_COUNT; first += BATCH_COUNT) {
    const fields = [];
    for (let id = first; id < first + BATCH_COUNT; id++) {
      const token = randomUUID();
      const holder = { nonce: token, floorMs: sinceMs, era: 1, sinceMs, label };
      const ceilingMs = sinceMs + HELD_MS + (id % 60_000);
      const line = `1|${ceilingMs}|${token}\n${JSON.stringify(holder)}`;
      fields.push(`r:${id}`, line, `t:${token}`, id);
    }
    await admin.hset(key, ...fields);
  }
  return ((await infoNumber(admin, 'memory', 'used_memory')) - before) / HELD_COUNT;
}

/** Microseconds of each call in the server; the first one makes the script known there. */
async function each(admin, holders, call) {
  const [first, ...rest] = holders;
  await call(first);
  const us = [];
  for (const holder of rest) {
    await resetScriptUs(admin);
    await call(holder);
    us.push(await scriptUs(admin, 1));
  }
  return us;
}

export const wideRegistry = {
  title: 'Time of one operation with a million worker ids held',
  explanation:
    `The first ${HELD_COUNT.toLocaleString('en-US')} worker ids of a wide layout are held. An ` +
    'acquire draws worker ids instead of reading all ceilings, and a renewal depends on nothing ' +
    'but its own; `a page` is what the list for the operator reads at a time. Each call is ' +
    `measured by itself, ${CALL_COUNT} of each, as the server's own time (INFO commandstats).`,
  columns: [
    'worker ids held',
    'acquire, µs',
    'p99',
    'renew, µs',
    'p99',
    'a page, µs',
    'bytes per worker id held',
  ],
  run,
};

// The client process of the benchmark `renewals`: all holders over a few connections or over one
// each, so that their CPU time is not that of Redis.
//
// Guarantee: renewals start by the clock, evenly, whether or not earlier ones were answered: a slow
// server is not spared. A renewal that is not granted ends the process with its reason.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { median, percentile } from '../harness/figures.mjs';
import { importRedis } from '../harness/library.mjs';
import { serve } from './client-process.mjs';
import { LeaseHolder } from './holder.mjs';

const { redisSupport } = await importRedis();

/** @type {LeaseHolder[]} */
let holders = [];
/** @type {Redis} */
let plain;

/** One after the other: this is not the benchmark of the start. */
async function prepare({ url, holderCount, connectionCount }) {
  plain = new Redis(url);
  const supports = Array.from({ length: connectionCount }, () => redisSupport({ redis: url }));
  holders = Array.from(
    { length: holderCount },
    (_, index) => new LeaseHolder(supports[index % connectionCount]),
  );
  for (const holder of holders) await holder.acquire();
  // A new server does not know the script yet; this way each renewal measured is one call.
  await holders[0].renew();
  return new Set(holders.map(({ lease }) => lease.workerId)).size;
}

const ACTS = {
  renew: (index) => holders[index % holders.length].renew(),
  ping: () => plain.ping(),
};

/** One act per holder and interval for `spanMs`; latencies from the call to its answer. */
async function pace({ what, spanMs, intervalMs }) {
  const stepMs = intervalMs / holders.length;
  const count = Math.floor(spanMs / stepMs);
  const startsAt = performance.now();
  const latencies = [];
  const underWay = [];
  for (let index = 0; index < count; index++) {
    const earlyMs = startsAt + index * stepMs - performance.now();
    if (earlyMs > 0) await sleep(earlyMs);
    underWay.push(timed(ACTS[what], index, latencies));
  }
  await Promise.all(underWay);
  return {
    count,
    elapsedMs: performance.now() - startsAt,
    p50Ms: median(latencies),
    p99Ms: percentile(latencies, 99),
  };
}

async function timed(act, index, latencies) {
  const sentAt = performance.now();
  await act(index);
  latencies.push(performance.now() - sentAt);
}

serve({ prepare, pace });

// One of the client processes of the benchmark `stores`: some of the holders, over the connections
// that are this process's own.
//
// Guarantee: renewals start by the clock, whether or not earlier ones were answered; one that is
// not granted ends the process with its reason.
import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from './client-process.mjs';
import { LeaseHolder } from './holder.mjs';
import { supportOf } from './store-support.mjs';

/** @type {LeaseHolder[]} */
let holders = [];

async function prepare({ name, url, holderCount, connectionCount, pool }) {
  const support = await supportOf(name, url, connectionCount);
  holders = Array.from({ length: holderCount }, () => new LeaseHolder(support, {}, pool));
}

/** All at once; when each was ready, by the monotonic clock that all processes share. */
async function start({ signalNs }) {
  return Promise.all(
    holders.map(async (holder) => {
      const workerId = await holder.acquire().catch(() => undefined);
      return { workerId, readyMs: Number(process.hrtime.bigint() - BigInt(signalNs)) / 1e6 };
    }),
  );
}

/** So many at once, each after an earlier one. */
async function startInTurn({ atOnceCount }) {
  const left = holders.values();
  const workerIds = [];
  const next = async () => {
    for (const holder of left) workerIds.push(await holder.acquire());
  };
  await Promise.all(Array.from({ length: atOnceCount }, next));
  return workerIds;
}

/** So many at once, each after the answer of an earlier one. @returns their number */
async function renewFlood({ atOnceCount, spanMs }) {
  const endsAt = performance.now() + spanMs;
  let count = 0;
  const go = async (_, at) => {
    for (let n = at; performance.now() < endsAt; n += atOnceCount) {
      await holders[n % holders.length].renew();
      count++;
    }
  };
  await Promise.all(Array.from({ length: atOnceCount }, go));
  return count;
}

/** The first of them, evenly; how long each took. */
async function renewAll({ spanMs, count = holders.length }) {
  const startsAt = performance.now();
  const stepMs = spanMs / count;
  return Promise.all(
    holders.slice(0, count).map(async (holder, index) => {
      await sleep(startsAt + index * stepMs - performance.now());
      const sentAt = performance.now();
      await holder.renew();
      return performance.now() - sentAt;
    }),
  );
}

serve({ prepare, start, startInTurn, renewAll, renewFlood });

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

async function prepare({ name, url, holderCount, connectionCount }) {
  const support = await supportOf(name, url, connectionCount);
  holders = Array.from({ length: holderCount }, () => new LeaseHolder(support));
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

async function renewAll({ spanMs }) {
  const startsAt = performance.now();
  const stepMs = spanMs / holders.length;
  return Promise.all(
    holders.map(async (holder, index) => {
      await sleep(startsAt + index * stepMs - performance.now());
      const sentAt = performance.now();
      await holder.renew();
      return performance.now() - sentAt;
    }),
  );
}

serve({ prepare, start, renewAll });

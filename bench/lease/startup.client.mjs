// One of the client processes of the benchmark `startup`: many clients with a connection each.
//
// Guarantee: nothing is connected before the signal, and nothing but connecting and acquiring is
// done after it. A client that gets no worker id ends the process with the reason.
import { Redis } from 'ioredis';
import { importRedis } from '../harness/library.mjs';
import { serve } from './client-process.mjs';
import { LeaseHolder } from './holder.mjs';

const { redisSupport } = await importRedis();

/** @type {LeaseHolder[]} */
let holders = [];

async function prepare({ url, count }) {
  // Supports that are given one URL would share one connection.
  const client = () => new Redis(url, { lazyConnect: true });
  holders = Array.from({ length: count }, () => new LeaseHolder(redisSupport({ redis: client() })));
}

/** The connections stay open afterwards, so that the server can be asked how many there are. */
async function start({ signalNs }) {
  const clients = holders.map(async (holder) => {
    const workerId = await holder.acquire();
    // The monotonic clock is the same in all processes of a machine.
    const readyMs = Number(process.hrtime.bigint() - BigInt(signalNs)) / 1e6;
    return { workerId, readyMs, refusals: holder.refusals };
  });
  return Promise.all(clients);
}

serve({ prepare, start });

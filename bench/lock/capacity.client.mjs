// A process that takes many locks: how many a second, how many at once, and how many wait for one
// while everything else in the process goes on.
import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from '../lease/client-process.mjs';
import { OURS } from './waiting-stores.mjs';

/** The default ttl; nobody is refused for a limit of this benchmark. */
const TERMS = { ttlMs: 10_000 };

let using;

async function open({ name, url }) {
  using = await OURS.find((store) => store.name === name).open(url, TERMS);
}

/** How often in a second, by so many callers, each with a lock of its own or all with one. */
async function often({ callerCount, isOne, forMs }) {
  const overAt = performance.now() + forMs;
  let count = 0;
  const caller = async (_, at) => {
    const lock = isOne ? 'one' : `${process.pid}:${at}`;
    while (performance.now() < overAt) {
      await using(lock, async () => undefined);
      count++;
    }
  };
  await Promise.all(Array.from({ length: callerCount }, caller));
  return { count };
}

/** All are held until the last one is; how many were refused, and after how long all were held. */
async function atOnce({ lockCount }) {
  const startedAt = performance.now();
  let heldCount = 0;
  let refusedCount = 0;
  let allMs = 0;
  let release = () => undefined;
  const all = new Promise((resolve) => (release = () => resolve(undefined)));
  const noteOne = () => {
    if (heldCount + refusedCount < lockCount) return;
    allMs = performance.now() - startedAt;
    release();
  };
  const hold = async (_, at) => {
    const held = using(`many:${at}`, async () => {
      heldCount++;
      noteOne();
      await all;
    });
    await held.catch(() => {
      refusedCount++;
      noteOne();
    });
  };
  await Promise.all(Array.from({ length: lockCount }, hold));
  return { heldCount, refusedCount, allMs };
}

/** How long nothing else has its turn, at most, as they come and while they get it one by one. */
async function waiters({ waiterCount, forMs }) {
  let isOver = false;
  let longestMs = 0;
  const beating = (async () => {
    for (let lastAt = performance.now(); !isOver;) {
      await sleep(1);
      longestMs = Math.max(longestMs, performance.now() - lastAt - 1);
      lastAt = performance.now();
    }
  })();
  let doneCount = 0;
  const over = performance.now() + forMs;
  const one = async () => {
    await using('crowd', async () => void doneCount++);
  };
  const all = Array.from({ length: waiterCount }, one);
  while (performance.now() < over && doneCount < waiterCount) await sleep(10);
  isOver = true;
  await beating;
  // Those who wait still end with the process.
  for (const waiting of all) waiting.catch(() => undefined);
  return { longestMs, doneCount };
}

serve({ open, often, atOnce, waiters });

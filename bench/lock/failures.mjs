// The benchmark of locks that something happens to: the holder is paused, Redis hangs, Redis loses
// everything.
//
// Guarantee: all of it is done to real processes, by signals and by FLUSHALL.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { column, spread } from '../harness/figures.mjs';
import { inTurns } from '../harness/turns.mjs';
import { startChild } from '../lease/client-process.mjs';
import { STORED_WAYS } from './ways.mjs';

/** With the tries of each package by default; only the one that waits for a lock has more. */
const [TERMS, PATIENT] = [
  { ttlMs: 1000, tries: 10 },
  { ttlMs: 1000, tries: 1000 },
];
const PAUSED_MS = 2500;
/** Whoever is not told within this time is not told; calls of a package may end before that. */
const WATCHED_MS = { hanging: 10_000, flushed: 5000 };
const LOOK_MS = 2;

const CLIENT = new URL('paused-holder.client.mjs', import.meta.url);

/** Another one gets the lock and has it while the holder wakes. */
async function paused({ name, open }) {
  const server = await startRedis();
  const child = startChild(CLIENT);
  const other = await open(server.url, PATIENT);
  try {
    const pid = await child.ask('hold', { name, url: server.url, terms: TERMS, lock: 'job' });
    process.kill(pid, 'SIGSTOP');
    const pausedAt = performance.now();
    let outcome;
    const section = async () => {
      await sleep(Math.max(0, PAUSED_MS - (performance.now() - pausedAt)));
      process.kill(pid, 'SIGCONT');
      outcome = await child.ask('outcome');
    };
    // What becomes of the other one is not asked here.
    const ended = await other.using('job', section).catch((error) => error);
    if (outcome === undefined) throw ended;
    return outcome;
  } finally {
    await other.close();
    await child.stop();
    await server.stop();
  }
}

/** @returns {Promise<number | undefined>} ms until the holder is told; undefined where it is not */
async function hanging({ open }) {
  const server = await startRedis();
  const holding = await open(server.url, TERMS);
  let toldMs;
  try {
    const held = holding.using('job', async ({ believes }) => {
      process.kill(server.pid, 'SIGSTOP');
      const startedAt = performance.now();
      while (performance.now() - startedAt < WATCHED_MS.hanging && believes()) await sleep(LOOK_MS);
      if (!believes()) toldMs = performance.now() - startedAt;
      process.kill(server.pid, 'SIGCONT');
    });
    await held.catch(() => undefined);
    return toldMs;
  } finally {
    await holding.close();
    await server.stop();
  }
}

/** @returns {Promise<number>} for how many ms two believe that they hold it */
async function flushed({ open }) {
  const server = await startRedis();
  const admin = new Redis(server.url);
  const [one, other] = [await open(server.url, TERMS), await open(server.url, PATIENT)];
  let isOver = false;
  const holders = new Set();
  const believing = async (view) => {
    holders.add(view);
    while (!isOver && view.believes()) await sleep(LOOK_MS);
  };
  try {
    let next = Promise.resolve();
    const section = async (view) => {
      next = other.using('job', believing).catch(() => undefined);
      await admin.flushall();
      await believing(view);
    };
    const first = one.using('job', section).catch(() => undefined);
    const twoMs = await timeOfTwo(holders);
    isOver = true;
    await Promise.all([first, next]);
    return twoMs;
  } finally {
    admin.disconnect();
    await Promise.all([one.close(), other.close()]);
    await server.stop();
  }
}

async function timeOfTwo(/** @type {Set<import('./ways.mjs').View>} */ holders) {
  let twoMs = 0;
  const endMs = performance.now() + WATCHED_MS.flushed;
  for (let last = performance.now(); last < endMs;) {
    await sleep(LOOK_MS);
    const now = performance.now();
    if ([...holders].filter(({ believes }) => believes()).length > 1) twoMs += now - last;
    last = now;
  }
  return twoMs;
}

async function measure(way) {
  const { believed, heard } = await paused(way);
  const hangingMs = await hanging(way);
  return { believed, heard, hangingMs, twoMs: await flushed(way) };
}

const textOf = (/** @type {readonly string[]} */ texts) => [...new Set(texts)].join(' or ');

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const byWay = await inTurns(STORED_WAYS, measure, options);
  return [...byWay].map(([{ name }, rounds]) => {
    const told = column(rounds, 'hangingMs').filter((ms) => ms !== undefined);
    const isTold = told.length === rounds.length;
    return [
      name,
      textOf(column(rounds, 'believed').map((believed) => (believed ? 'yes' : 'no'))),
      textOf(column(rounds, 'heard')),
      isTold ? spread(told, 0) : `not within ${WATCHED_MS.hanging}`,
      spread(column(rounds, 'twoMs'), 0),
    ];
  });
}

/** @type {import('../harness/turns.mjs').BenchGroup} */
export const failures = {
  title: 'Locks in Redis, when something happens',
  explanation:
    'Locks with a ttl of 1 s, extended by each package itself. A holder is paused by SIGSTOP ' +
    'for 2.5 s, while another one gets the lock; on waking it asks whether it still holds it, ' +
    'and ends: what does its caller hear? Redis hangs, by SIGSTOP: after how long is the holder ' +
    'told? Everything is lost by FLUSHALL while one holds the lock and another one waits: for ' +
    'how long do two believe that they hold it? With the clients and timeouts of each package ' +
    'by default. Of a holder that believes wrongly only a token can stop the writes; ours alone ' +
    'has one.',
  columns: [
    'package',
    'believes on waking',
    'its caller hears',
    'told that Redis hangs, after ms',
    'two believe after FLUSHALL, ms',
  ],
  run,
};

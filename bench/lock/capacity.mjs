// The benchmark of how much the locks of each store bear.
//
// Guarantee: real processes on one server of their own, each by one connection, as by a URL.
import { column, figure, median, whole } from '../harness/figures.mjs';
import { inTurns } from '../harness/turns.mjs';
import { startChild } from '../lease/client-process.mjs';
import { OURS } from './waiting-stores.mjs';

const CLIENT = new URL('capacity.client.mjs', import.meta.url);
const PROCESS_COUNT = 4;
const FOR_MS = 5000;
const [CALLER_COUNT, LOCK_COUNT, WAITER_COUNT] = [16, 2000, 10_000];

async function measure({ name, start, prepare }) {
  const server = await start();
  const children = [];
  try {
    await prepare(server.url);
    for (let at = 0; at < PROCESS_COUNT; at++) children.push(startChild(CLIENT));
    await Promise.all(children.map((child) => child.ask('open', { name, url: server.url })));
    const [one] = children;
    const perSecond = async (processes, load) => {
      const asked = processes.map((child) => child.ask('often', { ...load, forMs: FOR_MS }));
      const counts = await Promise.all(asked);
      return (counts.reduce((sum, { count }) => sum + count, 0) * 1000) / FOR_MS;
    };
    const own = { callerCount: CALLER_COUNT, isOne: false };
    const ofOne = await perSecond([one], own);
    const ofAll = await perSecond(children, own);
    const passed = await perSecond(children, { callerCount: 1, isOne: true });
    const { refusedCount, allMs } = await one.ask('atOnce', { lockCount: LOCK_COUNT });
    const { longestMs } = await one.ask('waiters', { waiterCount: WAITER_COUNT, forMs: FOR_MS });
    return { ofOne, ofAll, passed, refusedCount, allMs, longestMs };
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await server.stop();
  }
}

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const byStore = await inTurns(OURS, measure, options);
  return [...byStore].map(([{ name }, rounds]) => {
    const of = (what) => median(column(rounds, what));
    return [
      name,
      ...['ofOne', 'ofAll', 'passed'].map((what) => whole(of(what))),
      figure(of('allMs') / 1000),
      whole(of('refusedCount')),
      figure(of('longestMs')),
    ];
  });
}

/** @type {import('../harness/turns.mjs').BenchGroup} */
export const capacity = {
  title: 'What the locks of a store bear',
  explanation:
    'One server without replicas whose disk is not waited for; each process has one ' +
    'connection, as by a URL, and the defaults. Locks taken and released in a second by 16 ' +
    'callers, each of a lock of its own, in one process, and in each of four; one lock that ' +
    'four processes hand to each other without holding it, in a second. 2,000 locks asked for ' +
    'at once by one process: how soon all are held, and how many were refused. 10,000 callers ' +
    'of one lock in one process: the longest time for which nothing else has its turn, in the ' +
    '5 s from their coming. Server and processes share two cores.',
  columns: [
    'store',
    'locks a second, one process',
    'locks a second, four processes',
    'handed on a second',
    '2,000 at once: all held, s',
    'of them refused',
    '10,000 wait: longest turn, ms',
  ],
  run,
};

// The benchmark of waiting for one lock that several processes want, in each store.
//
// Guarantee: real processes on one server of their own; what runs at once with another one's
// section is not measured here, but in the chaos.
import { column, figure, median, percentile } from '../harness/figures.mjs';
import { inTurns } from '../harness/turns.mjs';
import { startChild } from '../lease/client-process.mjs';
import { STORES } from './waiting-stores.mjs';

const CLIENT = new URL('waiting.client.mjs', import.meta.url);
const PROCESS_COUNT = 4;
const SHORT = { holdMs: 20, restMs: 100, forMs: 20_000 };
const LONG = { holdMs: 700, restMs: 0, forMs: 60_000 };

async function measure({ name, start, prepare }) {
  const server = await start();
  const children = [];
  try {
    await prepare(server.url);
    for (let at = 0; at < PROCESS_COUNT; at++) children.push(startChild(CLIENT));
    await Promise.all(children.map((child) => child.ask('open', { name, url: server.url })));
    const wanted = (load) => Promise.all(children.map((child) => child.ask('want', load)));
    const turns = (await wanted(SHORT)).flatMap((one) => one.turns);
    const counts = (await wanted(LONG)).map((one) => one.turns.length);
    const [passed, waits] = [handovers(turns), turns.map((turn) => turn.begunMs - turn.askedMs)];
    return {
      passed50: percentile(passed, 50),
      passed99: percentile(passed, 99),
      waited50: percentile(waits, 50),
      waited99: percentile(waits, 99),
      count: passed.length,
      least: Math.min(...counts),
      most: Math.max(...counts),
    };
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await server.stop();
  }
}

/**
 * From the end of one turn to the begin of the next one, where that was waited for.
 *
 * @param {{ askedMs: number, begunMs: number, endedMs: number }[]} turns of all processes
 */
function handovers(turns) {
  const inOrder = turns.toSorted((a, b) => a.begunMs - b.begunMs);
  const pairs = inOrder.slice(1).map((next, at) => ({ next, endedMs: inOrder[at].endedMs }));
  const waitedFor = pairs.filter(({ next, endedMs }) => next.askedMs < endedMs);
  return waitedFor.map(({ next, endedMs }) => next.begunMs - endedMs);
}

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const byStore = await inTurns(STORES, measure, options);
  return [...byStore].map(([{ name }, rounds]) => [
    name,
    ...['passed50', 'passed99', 'waited50', 'waited99'].map((percent) =>
      figure(median(column(rounds, percent))),
    ),
    ...['least', 'most'].map((count) => String(median(column(rounds, count)))),
  ]);
}

/** @type {import('../harness/turns.mjs').BenchGroup} */
export const waiting = {
  title: 'Waiting for a lock, by store',
  explanation:
    'Four processes want one lock, on one server without replicas whose disk is not waited for. ' +
    'How long it takes from the end of one to the begin of the next one who waits, and how long ' +
    'each waits: held for 20 ms, asked for again 100 ms later on the average, for 20 s. ' +
    'How often each gets it: held for 700 ms, asked for again at once, for 60 s; of the process ' +
    'that got it least often, and of the one that got it most often. Measured while other work ' +
    'ran on both cores: to compare the stores by, no more.',
  columns: [
    'store',
    'ms to the next, p50',
    'ms to the next, p99',
    'ms waited, p50',
    'ms waited, p99',
    'least often',
    'most often',
  ],
  run,
};

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

async function measure({ name, start, prepare, isBrief = false }) {
  const server = await start();
  const children = [];
  try {
    await prepare(server.url);
    for (let at = 0; at < PROCESS_COUNT; at++) children.push(startChild(CLIENT));
    await Promise.all(children.map((child) => child.ask('open', { name, url: server.url })));
    const wanted = (load) => Promise.all(children.map((child) => child.ask('want', load)));
    const turns = (await wanted(SHORT)).flatMap((one) => one.turns);
    const counts = isBrief ? [] : (await wanted(LONG)).map((one) => one.turns.length);
    const [passed, waits] = [handovers(turns), turns.map((turn) => turn.begunMs - turn.askedMs)];
    return {
      passed50: percentile(passed, 50),
      passed99: percentile(passed, 99),
      waited50: percentile(waits, 50),
      waited99: percentile(waits, 99),
      count: passed.length,
      counts,
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

/** That of which the others are multiples. */
const BASE = 'pg_advisory_lock';

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const byStore = await inTurns(STORES, measure, options);
  const medianOf = (rounds, percent) => median(column(rounds, percent));
  const [, base] = [...byStore].find(([{ name }]) => name === BASE);
  return [...byStore].map(([{ name }, rounds]) => {
    const counts = rounds.flatMap((round) => round.counts);
    const passed = ['passed50', 'passed99'].flatMap((percent) => [
      figure(medianOf(rounds, percent)),
      `${(medianOf(rounds, percent) / medianOf(base, percent)).toFixed(1)} ×`,
    ]);
    const waited = ['waited50', 'waited99'].map((percent) => figure(medianOf(rounds, percent)));
    const often =
      counts.length === 0 ? 'not asked' : `${Math.min(...counts)}–${Math.max(...counts)}`;
    return [name, ...passed, ...waited, often];
  });
}

/** @type {import('../harness/turns.mjs').BenchGroup} */
export const waiting = {
  title: 'Waiting for a lock, by store',
  explanation:
    'Four processes want one lock, on one server without replicas, whose disk is not waited for ' +
    'but where that is said. How long it takes from the end of one to the begin of the next ' +
    'one who waits, also as a multiple of `pg_advisory_lock`, and how long each waits: held for ' +
    '20 ms, asked for again 100 ms later on the average, for 20 s. How often each process gets ' +
    'it, the least and the most: held for 700 ms, asked for again at once, for 60 s. Each ' +
    'process has had a lock of its own 500 times before. By hand: one row with a token and the ' +
    'holder, written when it is taken and when it is given back, and a NOTIFY or GET_LOCK that ' +
    'wakes who waits; no deadline, no check of the server, no order. It is the least that a ' +
    'lock does whose token survives a crash: the next one cannot begin before its grant is ' +
    'written.',
  columns: [
    'store',
    'ms to the next, p50',
    'p50 by advisory',
    'ms to the next, p99',
    'p99 by advisory',
    'ms waited, p50',
    'ms waited, p99',
    'times each got it',
  ],
  run,
};

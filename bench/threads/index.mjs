// The benchmark of worker_threads: a worker id for each, against one lease that all of them share.
//
// Guarantee: every measurement is a process of its own with a Nest application in its main thread,
// and the cases take turns, so that a slow minute of the machine falls on all of them. Repeated
// ids are counted exactly, by marking each of 100 million.
import { inTurnsApart, measureApart } from '../harness/turns.mjs';
import { figure, median, span, whole, bold } from '../harness/figures.mjs';

/**
 * @typedef {import('../harness/turns.mjs').RunOptions} RunOptions
 * @typedef {import('./speed.mjs').SpeedCase} SpeedCase
 * @typedef {{ ns: number[], cpuNs: number, perSecond: number, count: number }} Speed
 */

const SPEED = new URL('speed.mjs', import.meta.url);
const MARKS = new URL('marks.mjs', import.meta.url);

const NAMES = { own: 'a worker id for each thread', shared: 'one shared lease' };
const THREAD_COUNTS = [1, 2, 4];
const MARKING_THREADS = 4;

const COLUMNS = [
  'what',
  'threads',
  'ns per id, in each',
  'min–max',
  'CPU ns per id',
  'ids per second, together',
  'min–max, million',
  'ids made',
  'duplicates',
  'steps back',
  'throws',
  'ahead, ms',
];

/** For what a row does not measure. */
const NONE = '–';

const CASES = Object.keys(NAMES).flatMap((kind) =>
  THREAD_COUNTS.map((threads) => /** @type {SpeedCase} */ ({ kind, threads })),
);

function speedRow(/** @type {SpeedCase} */ { kind, threads }, /** @type {Speed[]} */ speeds) {
  const ns = speeds.flatMap((speed) => speed.ns);
  const perSecond = speeds.map((speed) => speed.perSecond);
  return [
    kind === 'shared' ? bold(NAMES[kind]) : NAMES[kind],
    String(threads),
    figure(median(ns)),
    span(ns),
    figure(median(speeds.map(({ cpuNs }) => cpuNs))),
    whole(median(perSecond)),
    span(perSecond.map((count) => count / 1e6)),
    whole(median(speeds.map(({ count }) => count))),
    NONE,
    NONE,
    NONE,
    NONE,
  ];
}

async function marksRow(/** @type {(line: string) => void} */ log) {
  const marks = await measureApart({ file: MARKS }, { threads: MARKING_THREADS });
  log(`marks: ${JSON.stringify(marks)}`);
  return [
    bold(`${whole(marks.count / 1e6)} million ids of one shared lease`),
    String(MARKING_THREADS),
    NONE,
    NONE,
    NONE,
    whole(marks.perSecond),
    NONE,
    whole(marks.count),
    whole(marks.twice),
    whole(marks.back),
    whole(marks.throws),
    whole(marks.aheadMs),
  ];
}

async function run(/** @type {RunOptions} */ options) {
  const byCase = await inTurnsApart({ file: SPEED, cases: CASES }, options);
  const speedRows = [...byCase].map(([chosen, speeds]) => speedRow(chosen, speeds));
  return [...speedRows, await marksRow(options.log)];
}

const workerThreads = {
  title: 'Several worker_threads',
  explanation:
    'Threads start together and ask for ids without pauses for one second, of a layout (41/4/18) ' +
    'whose ceiling they do not reach. The lease is that of a Nest application in the main thread ' +
    'with `sharesLease: true`; ids of it are taken from shared memory in blocks. ' +
    'The ns per id are those on the clock, of each thread, so that with more threads than cores ' +
    'they also hold the turns of the others; the CPU ns are those of the whole process for each ' +
    'id. The last row runs once, on the default layout: each id is marked in a bitmap that all ' +
    'threads share, so that duplicates are counted exactly, and its speed is that of the format, ' +
    '4,096,000 ids per second, and the 1000 ms which they may run ahead. Throws are calls that ' +
    'ended with SEQUENCE_SPENT and were made again, ' +
    'ahead is how far ids were before the clock at most, of every 1000th.',
  columns: COLUMNS,
  run,
};

export const groups = [workerThreads];

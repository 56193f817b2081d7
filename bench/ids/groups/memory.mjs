// Group: what the heap keeps after fifty million ids, and what one id allocates.
//
// Guarantee: what is allocated is summed up over all collections, not seen from its end.
import v8 from 'node:v8';
import { inTurnsApart } from '../../harness/turns.mjs';
import { whole, bold } from '../../harness/figures.mjs';
import { newGenerator, wideLayout } from '../../harness/generators.mjs';
import { OURS, makerNamed } from '../makers.mjs';

const COLUMNS = ['library', 'bytes allocated per id', 'heap growth, KiB', 'collections'];
const IDS = 50_000_000;
const WARM_IDS = 200_000;

/** How many ids are held at a time, as an application would, so that none is optimised away. */
const KEPT = 2048;

/** Peers that neither wait nor throw past the ceiling, so that the ids are all that is made. */
const PEERS = ['snowyflake', '@sapphire/snowflake', 'bson ObjectId'];

/** Ours has no ceiling here either: 41/4/18. */
async function openMaker(/** @type {string} */ name) {
  if (name !== OURS) return (await makerNamed(name).open()).next;
  const generator = newGenerator(wideLayout());
  return () => generator.nextId();
}

const kept = Array.from({ length: KEPT });

function makeIds(/** @type {() => unknown} */ next, /** @type {number} */ count) {
  for (let made = 0; made < count; made++) kept[made % KEPT] = next();
}

/**
 * The sum of how far the heap rose between one collection and the next, which leaves out nothing
 * that was allocated on it.
 */
function bytesAllocated(/** @type {() => void} */ work) {
  const profiler = new v8.GCProfiler();
  const usedNow = () => process.memoryUsage().heapUsed;
  profiler.start();
  let used = usedNow();
  work();
  const usedAtEnd = usedNow();
  const { statistics } = profiler.stop();
  let bytes = 0;
  for (const { beforeGC, afterGC } of statistics) {
    bytes += beforeGC.heapStatistics.usedHeapSize - used;
    used = afterGC.heapStatistics.usedHeapSize;
  }
  return { bytes: bytes + usedAtEnd - used, collections: statistics.length };
}

function heapAfterCollection() {
  // Twice: the first one may leave what a finalizer held.
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

export async function measure(/** @type {string} */ name) {
  const next = await openMaker(name);
  makeIds(next, WARM_IDS);
  const heapBefore = heapAfterCollection();
  const { bytes, collections } = bytesAllocated(() => makeIds(next, IDS));
  return { bytesPerId: bytes / IDS, growth: heapAfterCollection() - heapBefore, collections };
}

async function run(/** @type {import('../../harness/turns.mjs').RunOptions} */ { log }) {
  const cases = [OURS, ...PEERS];
  const apart = { file: import.meta.url, cases, nodeFlags: ['--expose-gc'] };
  const byCase = await inTurnsApart(apart, { rounds: 1, log });
  return cases.map((name) => {
    const [{ bytesPerId, growth, collections }] = byCase.get(name);
    return [
      name === OURS ? bold(name) : name,
      bytesPerId.toFixed(1),
      (growth / 1024).toFixed(0),
      whole(collections),
    ];
  });
}

export const memory = {
  title: 'Memory',
  explanation:
    'A tight loop of 50,000,000 ids, in one round, with the ceiling of ours lifted (41/4/18). ' +
    'Bytes per id: how far the heap rose between one garbage collection and the next, summed up, ' +
    'as v8.GCProfiler reports it; Date.now() itself allocates 16 of them in the V8 of Node 20. ' +
    'Growth: heapUsed after a forced collection, before and after; 200 KiB either way are the ' +
    'noise of the process itself.',
  columns: COLUMNS,
  run,
};

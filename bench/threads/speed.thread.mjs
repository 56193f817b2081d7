// A thread that makes ids for a second.
//
// Guarantee: every id is kept until the next burst, so that the compiler cannot drop the work; the
// layout has more ids for a millisecond than are asked for, so that nobody waits or runs ahead.
import { newGenerator, wideLayout } from '../harness/generators.mjs';
import { importCore } from '../harness/library.mjs';
import { nowNs, takePart } from './together.mjs';

const { joinSharedLease } = await importCore();

const BURST = 2048;
const WARMUP_NS = 300e6;
const DURATION_NS = 1e9;

function generatorOf({ sharedLease, workerId }) {
  if (sharedLease !== undefined) return joinSharedLease(sharedLease);
  return newGenerator(wideLayout(), { workerId });
}

function makeIds(ids, durationNs) {
  const kept = Array.from({ length: BURST });
  const startedNs = nowNs();
  let endedNs = startedNs;
  let count = 0;
  while (endedNs - startedNs < durationNs) {
    for (let at = 0; at < BURST; at++) kept[at] = ids.nextId();
    count += BURST;
    endedNs = nowNs();
  }
  if (ids.waitCount > 0) throw new Error(`Ids waited ${ids.waitCount} times for the clock.`);
  return { startedNs, endedNs, count, lastId: kept.at(-1) };
}

takePart((part) => {
  const ids = generatorOf(part);
  makeIds(ids, WARMUP_NS);
  return () => makeIds(ids, DURATION_NS);
});

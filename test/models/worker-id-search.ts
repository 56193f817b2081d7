/**
 * Searches for a worker ID to lease, if a look at a ceiling is cheap. It reads a small span whole
 * and takes the ID that has been free for longest. In a wide span it draws IDs at random.
 *
 * Guarantee: if it finds only held IDs, it returns the one that ends first. The same seed finds the
 * same ID.
 */
import { countOf, drawsOf, reachesOf } from '../../lib/registry/acquire.js';
import type { IdSpan } from '../../lib/registry/snapshot.js';

/** How many IDs it draws from each part of a wide span. */
const REACH_DRAW_COUNT = 4;
/** If all these are held, few are free. Up to this many rounds over the whole span follow. */
const ROUND_COUNT = 8;
const ROUND_DRAW_COUNT = 256;

interface Searched {
  /** Returns 0 for a worker ID that was never leased. */
  readonly ceilingOf: (workerId: number) => number;
  readonly nowMs: number;
  /** The seed changes with each call, so the next attempt looks at other IDs. */
  readonly seed: string;
  /** The default is 4,096. A test makes small spans wide. */
  readonly wholeCountMax?: number | undefined;
}

export function nextWorkerId(span: IdSpan, searched: Searched): number {
  const isWide = countOf(span) > (searched.wholeCountMax ?? 4096);
  return isWide ? drawn(span, searched) : longestFree(span, searched);
}

/** ICH's rule: the worker ID that has been free for longest has the lowest ceiling. */
function longestFree({ workerIdMin, workerIdMax }: IdSpan, { ceilingOf }: Searched): number {
  let best = workerIdMin;
  for (let workerId = workerIdMin; workerId <= workerIdMax; workerId++) {
    const ceilingMs = ceilingOf(workerId);
    if (ceilingMs === 0) return workerId;
    if (ceilingMs < ceilingOf(best)) best = workerId;
  }
  return best;
}

/**
 * Returns an ID from the first round with a free one, preferably one that was used before.
 */
function drawn(span: IdSpan, { ceilingOf, nowMs, seed }: Searched): number {
  let best: number | undefined;
  for (const round of roundsOf(span, seed)) {
    let unused: number | undefined;
    for (const workerId of round) {
      const ceilingMs = ceilingOf(workerId);
      if (ceilingMs === 0) unused ??= workerId;
      else if (best === undefined || ceilingMs < ceilingOf(best)) best = workerId;
    }
    if (best !== undefined && ceilingOf(best) <= nowMs) return best;
    if (unused !== undefined) return unused;
  }
  return best!;
}

function* roundsOf(span: IdSpan, seed: string): Generator<number[]> {
  const draw = drawsOf(seed);
  const of = (reach: number, count: number) =>
    Array.from({ length: count }, () => span.workerIdMin + Math.floor(draw() * reach));
  const reaches = reachesOf(span);
  yield reaches.flatMap((reach) => of(reach, REACH_DRAW_COUNT));
  for (let n = 0; n < ROUND_COUNT; n++) yield of(reaches.at(-1)!, ROUND_DRAW_COUNT);
}

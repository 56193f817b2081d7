/**
 * Which worker ids to look at before one of them is leased.
 *
 * A few, drawn by the token that asks, are enough: where any is free, a fleet that starts at once
 * spreads over all of them, and an acquire that is repeated meets its lease again. Only where none
 * of them is free is it worth reading more.
 *
 * Promise: a draw decides which worker id is asked for, never whether it may be granted.
 */

/** As many as one transaction of any store reads at little cost. */
const CANDIDATE_COUNT = 64;

/** So many ceilings can be read whole to find the one that has been free for longest. */
export const WHOLE_COUNT_MAX = 4096;

export interface IdSpan {
  readonly workerIdMin: number;
  /** Inclusive. */
  readonly workerIdMax: number;
}

export function countOf({ workerIdMin, workerIdMax }: IdSpan): number {
  return workerIdMax - workerIdMin + 1;
}

/** True where the candidates are all there are. */
export function isSmall(span: IdSpan): boolean {
  return countOf(span) <= CANDIDATE_COUNT;
}

/** The same for the same seed; all of a span that is not larger. */
export function candidatesOf(span: IdSpan, seed: string): number[] {
  const count = countOf(span);
  if (isSmall(span)) return Array.from({ length: count }, (_, at) => span.workerIdMin + at);
  const draw = drawsOf(seed);
  const drawn = new Set<number>();
  while (drawn.size < CANDIDATE_COUNT) drawn.add(span.workerIdMin + Math.floor(draw() * count));
  return [...drawn];
}

/** One of a list, the same for the same seed. */
export function drawnFrom<T>(list: readonly T[], seed: string): T | undefined {
  return list[Math.floor(drawsOf(seed)() * list.length)];
}

/**
 * Numbers from 0 up to 1, as a text decides.
 * Source: FNV-1a over the text, then SplitMix32 (Steele, Lea and Flood 2014, 32 bits).
 */
function drawsOf(seed: string): () => number {
  let state = 0x811c9dc5;
  for (let at = 0; at < seed.length; at++) {
    state = Math.imul(state ^ seed.charCodeAt(at), 0x01000193);
  }
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

/**
 * Which worker ids to look at before one of them is leased.
 *
 * A few, drawn by a text, are enough: where any is free, a fleet that starts at once spreads over
 * all of them, and an acquire that is repeated meets its lease again. Only where none of them is
 * free is it worth reading more.
 *
 * Promise: a draw decides which worker id is asked for, never whether it may be granted.
 */

/** As many as one transaction of any store reads at little cost. */
const CANDIDATE_COUNT = 64;

/** So many ceilings can be read whole to find the one that has been free for longest. */
export const WHOLE_COUNT_MAX = 4096;

/** The shortest beginning of a wide span that draws are made from. */
const REACH_MIN = 64;

export interface IdSpan {
  readonly workerIdMin: number;
  /** Inclusive. */
  readonly workerIdMax: number;
}

export function countOf({ workerIdMin, workerIdMax }: IdSpan): number {
  return workerIdMax - workerIdMin + 1;
}

/** True where the candidates are all there are; also of no span, of which a draw has no end. */
export function isSmall(span: IdSpan): boolean {
  return !(countOf(span) > CANDIDATE_COUNT);
}

/** True where not every ceiling can be read. */
export function isWide(span: IdSpan, wholeCountMax = WHOLE_COUNT_MAX): boolean {
  return countOf(span) > wholeCountMax;
}

/** The same for the same seed; all of a span that is not larger. */
export function candidatesOf(span: IdSpan, seed: string): number[] {
  const count = countOf(span);
  if (isSmall(span)) return Array.from({ length: count }, (_, at) => span.workerIdMin + at);
  const draw = drawsOf(seed);
  // Neighbours are read at a fraction of what as many others cost.
  if (!isWide(span)) return neighboursFrom(Math.floor(draw() * count), span);
  const reaches = reachesOf(span);
  const drawn = new Set<number>();
  for (let at = 0; drawn.size < CANDIDATE_COUNT; at++) {
    drawn.add(span.workerIdMin + Math.floor(draw() * reaches[at % reaches.length]!));
  }
  return [...drawn];
}

/** Beyond the last of a span its first ones follow. */
function neighboursFrom(first: number, span: IdSpan): number[] {
  const count = countOf(span);
  return Array.from(
    { length: CANDIDATE_COUNT },
    (_, at) => span.workerIdMin + ((first + at) % count),
  );
}

/**
 * How much of a wide span to draw from, counted from its beginning: a little, twice as much, up to
 * all of it. So as many draws fall into what a fleet of any size has used as into all the rest.
 */
export function reachesOf(span: IdSpan): number[] {
  const count = countOf(span);
  const reaches: number[] = [];
  for (let reach = REACH_MIN; reach < count; reach *= 2) reaches.push(reach);
  return [...reaches, count];
}

/** One of a list, the same for the same seed. */
export function drawnFrom<T>(list: readonly T[], seed: string): T | undefined {
  return list[Math.floor(drawsOf(seed)() * list.length)];
}

/** So many draws of texts that differ in their last letter are alike. */
const ALIKE_COUNT = 3;

/**
 * Numbers from 0 up to 1, as a text decides, and the same in Lua, whose numbers are ours.
 * Source: Park and Miller 1988, 31 bits, so that no product leaves 53.
 */
export function drawsOf(seed: string): () => number {
  let state = 1;
  const next = (added = 0) => (state = ((state + added) * 16_807) % 2_147_483_647);
  for (let at = 0; at < seed.length; at++) next(seed.charCodeAt(at));
  for (let n = 0; n < ALIKE_COUNT; n++) next();
  return () => next() / 2_147_483_647;
}

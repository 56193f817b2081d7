/**
 * Fencing tokens: numbers that rise, also where the store has forgotten the last one, because they
 * are not lower than the time they were granted at.
 */

/** More grants of one lock within one ms are ahead of the time, which does no harm. */
const TOKENS_PER_MS = 4096n;

/** So long after its end a lock is remembered, so that whoever has its token proves a loss. */
export const KEPT_MS = 60_000;

/** The clock that is stored may lag what was answered by this much. */
export const HEADER_AGE_MS = KEPT_MS / 10;

export function firstTokenAt(ms: number): bigint {
  return BigInt(ms) * TOKENS_PER_MS;
}

/** When it was granted at the latest. */
export function timeOf(token: bigint): number {
  return Number(token / TOKENS_PER_MS);
}

/** Higher than all that are known. */
export function nextToken(lastToken: bigint, have: bigint, nowMs: number): bigint {
  const known = have > lastToken ? have : lastToken;
  const first = firstTokenAt(nowMs);
  return known >= first ? known + 1n : first;
}

/** True where the next token is higher than its last one also without it. */
export function isForgettable(row: Forgettable, nowMs: number): boolean {
  return forgettableFrom(row) <= firstTokenAt(nowMs);
}

interface Forgettable {
  readonly token: bigint;
  readonly untilMs: number;
}

/** As a token: one that is granted from there on needs nothing of what is remembered. */
export function forgettableFrom({ token, untilMs }: Forgettable): bigint {
  const end = firstTokenAt(untilMs);
  return (token > end ? token : end) + firstTokenAt(KEPT_MS);
}

// @ts-check
/**
 * Requests under way. A lost one is never run; a late one is run late; a doubled one, or one that
 * was sent again with the same words, is run more than once.
 */
/** @import { Request } from './world.mjs' */

/** @type {(kind: Request['kind'], asked: any, runs: number, sentAt: number) => Request} */
export const request = (kind, asked, runs, sentAt) => ({
  kind,
  asked,
  last: undefined,
  runs,
  sentAt,
});

const RANKS = { acquire: 0, renew: 1, release: 2 };

/** @type {(sent: Request) => number} */
const rankOf = ({ kind, asked, last = -1, runs }) =>
  ((RANKS[kind] * 64 + (asked.haveMs ?? 0)) * 64 + last + 1) * 8 + runs;

/** The order in which they were sent means nothing, so worlds that differ by it alone are one. */
/** @type {(requests: readonly Request[]) => readonly Request[]} */
export const inOrder = (requests) =>
  requests.length < 2 ? requests : requests.toSorted((a, b) => rankOf(a) - rankOf(b));

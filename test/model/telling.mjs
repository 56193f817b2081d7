// @ts-check
/**
 * The words of a counterexample: names for tokens, sentences for answers and steps.
 */
import { textOf, ticksOf } from './world.mjs';
/** @import { Lease, Request } from './world.mjs' */

/** @type {(token: number | undefined) => string} */
export const tokenName = (token) => (token === undefined ? 'a lease that is gone' : `#${token}`);

/** @type {(lease: Lease) => string} */
export const nameOf = ({ token, isCopied }) =>
  isCopied ? `${tokenName(token)} or its copy` : tokenName(token);

/** @type {(answer: any) => string} */
export function answerText(answer) {
  if (answer === undefined) return 'done';
  if (answer.status !== 'ok') return answer.status.toUpperCase();
  const { workerId, floorMs, ceilingMs } = answer;
  return `OK, worker id ${workerId} for ${textOf(ticksOf(floorMs, ceilingMs))}`;
}

/** @type {(sent: Request, lease: Lease) => string} */
export function requestText({ kind, asked, last }, lease) {
  if (kind === 'acquire') return `acquire of ${nameOf(lease)}`;
  const known = kind === 'renew' ? `have ${asked.haveMs}` : `last ${last ?? 'none'}`;
  return `${kind} (worker id ${asked.workerId}, ${known}) of ${nameOf(lease)}`;
}

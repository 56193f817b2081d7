/**
 * What the card of a process says of its lease, or of the ids it has in hand, and of its counts.
 *
 * Promise: a term that has no value is left out, so nothing on the page is `undefined`.
 */
import type { CountsView, HandView, LeaseView, RenewalsView } from '../answers.js';
import { agoText, countText, numberText, spanText } from './texts.js';

export function leaseTerms(
  lease: LeaseView,
  support: string,
  rate: number | undefined,
): [string, string][] {
  const { state, workerId, remainingMs, incarnation, idsLeft, renewals } = lease;
  const endless = workerId === undefined ? 'no lease' : 'no end';
  const terms: [string, string][] = [
    ['worker id', workerId === undefined ? 'none' : String(workerId)],
    ['state', state],
    ['lease left', remainingMs === undefined ? endless : leftText(remainingMs)],
    ['worker id from', support],
  ];
  if (idsLeft !== undefined) terms.push(['lasts without the store', lastsText(idsLeft, rate)]);
  if (incarnation !== undefined) terms.push(['registry', incarnation]);
  return renewals === undefined ? terms : [...terms, ...callTerms(renewals, 'renewals', 'renewed')];
}

export function handTerms(hand: HandView, place: string): [string, string][] {
  const { state, inHand, step, calls } = hand;
  const taken: [string, string][] = [
    ['in hand', `${numberText(inHand)}${handLastsText(hand)}`],
    ['requested per call', numberText(step ?? 0)],
  ];
  return [
    ['ids from', place],
    ['state', state],
    ...(step === undefined ? [] : taken),
    ...callTerms(calls, 'store answers', 'taken'),
  ];
}

/** Numbers last until they are used up; ids taken ahead of need grow old before that. */
function handLastsText({ kind, inHand, inHandMs }: HandView): string {
  if (inHandMs === undefined || inHand === 0) return '';
  const span = spanText(inHandMs);
  return kind === 'counted' ? `, usable for ${span}` : `, ${span} at the current rate`;
}

function callTerms(
  { countByAnswer, usualMs, lastAgoMs }: RenewalsView,
  name: string,
  lastName: string,
): [string, string][] {
  const terms: [string, string][] = [];
  const answers = Object.entries(countByAnswer);
  const total = answers.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return terms;
  const said = answers.map(([answer, count]) => `${numberText(count)} ${answer}`).join(', ');
  terms.push([name, said]);
  if (usualMs !== undefined) terms.push(['typical answer time', `${numberText(usualMs)} ms`]);
  if (lastAgoMs !== undefined) terms.push([lastName, agoText(lastAgoMs)]);
  return terms;
}

/** While the lease is stretched, only ids use them up, not the clock. */
function lastsText(idsLeft: number, rate = 0): string {
  const ids = `${numberText(idsLeft)} ids`;
  return rate > 0 ? `${ids}: ${spanText((idsLeft / rate) * 1000)} at this rate` : ids;
}

const leftText = (remainingMs: number): string =>
  remainingMs > 0 ? spanText(remainingMs) : `ended ${agoText(-remainingMs)}`;

export function countTerms(counts: CountsView, rate: number | undefined): [string, string][] {
  const { issued, waits, rollbacks, aheadMs, clockSkewMs } = counts;
  const made: [string, string][] = [
    ['ids per second', rate === undefined ? '…' : numberText(rate)],
    ['ids made', numberText(issued)],
  ];
  if (rollbacks === undefined || aheadMs === undefined || clockSkewMs === undefined) {
    return [...made, ['calls that got no id', numberText(waits)]];
  }
  return [
    ...made,
    ['waits for the clock', numberText(waits)],
    ['ahead of the clock', spanText(aheadMs)],
    ['clock set back', countText(rollbacks, 'time')],
    ["store's clock minus ours", spanText(clockSkewMs)],
  ];
}

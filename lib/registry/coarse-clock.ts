/**
 * When to ask a store again whose clock tells whole seconds.
 *
 * Promise: never before its next tick, until which it says the same; and those who wait for one
 * tick do not all come at once.
 */
import type { LeaseAnswer } from '../lease/distributed-support.js';

/** @param random from 0 up to 1 */
export function inTicks(answer: LeaseAnswer, resolutionMs: number, random: number): LeaseAnswer {
  if (resolutionMs === 1 || (answer.status !== 'hold' && answer.status !== 'wait')) return answer;
  const tickCount = Math.ceil(answer.waitMs / resolutionMs);
  return { ...answer, waitMs: tickCount * resolutionMs + Math.floor(random * resolutionMs) };
}

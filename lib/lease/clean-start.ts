/**
 * When ids may start if no registry knows what the previous process with this worker id used: only
 * the clock keeps the two apart then.
 *
 * Promise: the start waits until the clock has passed whatever that process could have reached: the
 * tick it ended in, plus the run-ahead that its ids were allowed.
 */
import type { Clock } from '../core/clock.js';
import type { BitLayout } from '../core/layout/bit-layout.js';
import { SnowflakeError } from '../errors.js';
import { pause, type Timers } from '../patience/timers.js';

/** No process, and no thread, is started over within so short a time. */
const RESTART_MS_MIN = 10;

interface Waiting {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly signal: AbortSignal;
  /** How long a start may take; Infinity for one that has happened. */
  readonly limitMs: number;
}

/** When the first id may be made, Unix ms. */
export function cleanFromMs(layout: BitLayout, nowMs: number, aheadMsMax: number): number {
  const reachedMs = nowMs + aheadMsMax;
  if (layout.unitMs <= RESTART_MS_MIN) return reachedMs;
  return layout.msOf(layout.tickOf(reachedMs) + 1);
}

/** @throws SnowflakeError CONFIG_INVALID where that takes longer than a start may. */
export async function waitUntil(fromMs: number, waiting: Waiting): Promise<void> {
  const { clock, timers, signal, limitMs } = waiting;
  const waitMs = fromMs - clock.now();
  if (waitMs > limitMs) throw tooLong(waitMs, limitMs);
  // A timer may fire before the clock is there, and the clock may be set back meanwhile.
  for (let leftMs = waitMs; leftMs > 0; leftMs = fromMs - clock.now()) {
    await pause(timers, Math.min(leftMs, waitMs), signal);
  }
}

function tooLong(waitMs: number, limitMs: number): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `No registry knows which ids this worker id has made, so the start must wait ${waitMs} ms ` +
      `until the clock has passed them: the rest of a tick of this layout, and aheadMsMax. ` +
      `That is longer than startTimeoutMs (${limitMs}). Use a layout with shorter ticks, a ` +
      `smaller aheadMsMax, or a registry.`,
    { details: { waitMs } },
  );
}

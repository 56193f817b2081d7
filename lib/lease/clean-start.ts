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
/** By no more than this a timer fires before the clock is there. */
const EARLY_MS = 10;

interface Waiting {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly signal: AbortSignal;
  /** How long a start may take; Infinity for one that has happened. */
  readonly limitMs: number;
  readonly onNews: (text: string) => void;
}

/** When the first id may be made, Unix ms. */
export function cleanFromMs(layout: BitLayout, nowMs: number, aheadMsMax: number): number {
  const reachedMs = nowMs + aheadMsMax;
  if (layout.unitMs <= RESTART_MS_MIN) return reachedMs;
  return layout.msOf(layout.tickOf(reachedMs) + 1);
}

/**
 * @throws SnowflakeError CONFIG_INVALID where that takes longer than a start may; CLOCK_UNUSABLE
 * where it does so since the clock was set back, or stands still
 */
export async function waitUntil(fromMs: number, waiting: Waiting): Promise<void> {
  const { clock, timers, signal, limitMs, onNews } = waiting;
  const waitMs = fromMs - clock.now();
  if (waitMs > limitMs) throw tooLong(waitMs, limitMs);
  let waitedMs = 0;
  let isTold = false;
  for (let leftMs = waitMs; leftMs > 0; leftMs = fromMs - clock.now()) {
    const isBehind = waitedMs + leftMs > waitMs + EARLY_MS;
    if (isBehind && waitedMs >= limitMs) throw clockBehind(leftMs, limitMs);
    if (isBehind && !isTold) onNews(behind(leftMs));
    isTold ||= isBehind;
    const ms = Math.min(leftMs, waitMs, Math.max(EARLY_MS, limitMs - waitedMs));
    await pause(timers, ms, signal);
    waitedMs += ms;
  }
}

function behind(leftMs: number): string {
  return (
    `The clock of this host was set back or stands still, so ids of this worker id start in ` +
    `${leftMs} ms by that clock, after all that a process before this one may have made.`
  );
}

function clockBehind(leftMs: number, limitMs: number): SnowflakeError {
  return new SnowflakeError(
    'CLOCK_UNUSABLE',
    `${behind(leftMs)} The start gave up after startTimeoutMs (${limitMs}). Check the clock and ` +
      `its time synchronization, then start again.`,
    { details: { waitMs: leftMs } },
  );
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

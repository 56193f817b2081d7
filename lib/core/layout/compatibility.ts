/**
 * Judges whether IDs of a layout can follow existing IDs of any layout and origin.
 *
 * Guarantee: after a move judged safe, no new ID equals an old one, because each new ID is above
 * the last old one. No other rule holds forever: below it, a new ID can equal an old one,
 * regardless of the meaning of its bits.
 */
import { SnowflakeError } from '../../errors.js';
import { formatShort } from '../../messages.js';
import type { BitLayout } from './bit-layout.js';
import { DATE_MS_MAX } from './layout-fields.js';

/** The verdict on a move. */
export interface MoveAfter {
  /** True if every ID made from now on is above all that exist. */
  readonly isSafe: boolean;
  /** The first moment at which that holds; undefined if it never holds within the layout's life. */
  readonly safeFrom: Date | undefined;
  /** The latest epoch with which the same fields would be safe now; undefined before 1970. */
  readonly epochMax: Date | undefined;
}

/**
 * Judges whether IDs of a layout can follow existing IDs. The old IDs may have another layout or
 * epoch, or come from a counter. Read the largest one after all old generators have stopped.
 *
 * @param maxId the largest ID that exists
 * @param nowMs when the first new ID will be made, Unix ms
 * @throws SnowflakeError ARGUMENT_INVALID for an ID that is no bigint from 0 up, or a time that is
 * no integer
 * @example
 * ```ts
 * import { layouts, moveAfter } from 'nestjs-snowflake/core';
 *
 * const lastOfSonyflake = 645_391_211_593_711_617n; // made in November 2026
 * const { isSafe, safeFrom } = moveAfter(layouts.snowflake(), lastOfSonyflake, Date.now());
 * if (!isSafe) throw new Error(`Wait until ${safeFrom?.toISOString()}, or take another epoch.`);
 * ```
 */
export function moveAfter(layout: BitLayout, maxId: bigint, nowMs: number): MoveAfter {
  checkArguments(maxId, nowMs);
  const { timestamp, unitMs, epochMs } = layout;
  // The smallest ID of a tick has 0 in every other field, even in those above the time.
  const tick = (maxId >> BigInt(timestamp.shift)) + 1n;
  const aheadMs = Number(tick) * unitMs;
  const safeFromMs = epochMs + aheadMs;
  if (tick > BigInt(timestamp.max) || safeFromMs > DATE_MS_MAX) {
    return { isSafe: false, safeFrom: undefined, epochMax: undefined };
  }
  const epochMaxMs = nowMs - aheadMs;
  return {
    isSafe: nowMs >= safeFromMs,
    safeFrom: new Date(safeFromMs),
    epochMax: epochMaxMs >= 0 ? new Date(epochMaxMs) : undefined,
  };
}

function checkArguments(maxId: unknown, nowMs: unknown): void {
  if (typeof maxId !== 'bigint' || maxId < 0n) {
    throw new SnowflakeError(
      'ARGUMENT_INVALID',
      `Expected \`maxId\` to be a bigint from 0 up, got ${formatShort(maxId)}.`,
    );
  }
  if (!Number.isSafeInteger(nowMs)) {
    throw new SnowflakeError(
      'ARGUMENT_INVALID',
      `Expected \`nowMs\` to be Unix milliseconds, got ${formatShort(nowMs)}.`,
    );
  }
}

/**
 * Judges whether IDs of a layout can follow existing IDs of any layout and origin.
 *
 * Guarantee: after a move judged safe, every new ID is greater than the greatest old ID, so none is
 * a duplicate. Only this rule holds forever: a smaller new ID can equal an old one, whatever its
 * bits mean.
 */
import { SnowflakeError } from '../../errors.js';
import { formatShort } from '../../messages.js';
import type { BitLayout } from './bit-layout.js';
import { DATE_MS_MAX } from './layout-fields.js';

/** The verdict of moveAfter(). */
export interface MoveAfter {
  /** True if every new ID is greater than all existing IDs. */
  readonly isSafe: boolean;
  /**
   * The first moment from which this is true; undefined if it never is in the layout's lifetime.
   */
  readonly safeFrom: Date | undefined;
  /** The latest epoch that would make the same fields safe now; undefined if it is before 1970. */
  readonly epochMax: Date | undefined;
}

/**
 * Judges whether IDs of a layout can follow existing IDs. The old IDs may have another layout or
 * epoch, or come from a counter. Read the greatest old ID after all old generators have stopped.
 *
 * @param maxId the greatest existing ID
 * @param nowMs the time of the first new ID, Unix ms
 * @throws SnowflakeError ARGUMENT_INVALID unless the ID is a bigint of at least 0 and the time is
 * an integer
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
  // The smallest ID of a tick has 0 in every other field, including fields above the time.
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

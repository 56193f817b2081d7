/** The registry's clock after a step forward of its store's clock. */
import { describe, expect, it } from '@jest/globals';
import { newHeader, open } from '../../lib/registry/prologue.js';
import type { RegistryHeader } from '../../lib/registry/snapshot.js';
import { nowAt, nowOf, witnessedTime } from '../../lib/rows/store-clock.js';

const DAY_MS = 86_400_000;
const START_MS = 1_767_225_600_000;
const TERMS = { ttlMs: 1300, quarantineMs: 2300 };

/** The clocks of a caller, in ms after the last time of the store. */
interface Caller {
  readonly slewMs: number;
  readonly wallMs: number;
  /** The holder's estimate of the registry's clock now. */
  readonly reckonedMs?: number;
}

/**
 * Returns the registry's clock in ms after START_MS, after a call while the store is a day ahead.
 */
function clockAfter({ slewMs, wallMs, reckonedMs }: Caller): number {
  const last = { lastTimeMs: START_MS, slewMs };
  const reckoned = reckonedMs !== undefined && {
    timeMs: START_MS + reckonedMs - slewMs,
    nowMs: START_MS + reckonedMs,
    incarnation: '',
    server: '',
  };
  const witness = { ...TERMS, wallMs: START_MS + wallMs, ...(reckoned && { reckoned }) };
  const { timeMs } = witnessedTime(last, START_MS + DAY_MS, witness);
  return nowAt(last, { timeMs }) - START_MS;
}

describe('the clock of a registry whose store stepped forward', () => {
  it.each<[string, Caller, number]>([
    ['within a lease of the last time', { slewMs: 0, wallMs: 2000 }, 2000],
    ['beyond it', { slewMs: 0, wallMs: 2800 }, DAY_MS],
    ['no further if the registry is ahead of the caller', { slewMs: 3600, wallMs: 2800 }, 3600],
    ['no further if only holders may be ahead', { slewMs: 3600, wallMs: 4000 }, 3600],
    ['beyond what holders have', { slewMs: 3600, wallMs: 6000 }, DAY_MS],
  ])('follows a new process: %s', (_when, caller, clockMs) => {
    expect(clockAfter(caller)).toBe(clockMs);
  });

  it("follows no further than the store's step", () => {
    const reckoned = { timeMs: 60_000, nowMs: 160_000, incarnation: '', server: '' };
    const witness = { ...TERMS, wallMs: 160_000, reckoned };
    const last = { lastTimeMs: 0, slewMs: 100_000 };
    expect(witnessedTime(last, 70_000, witness).timeMs).toBe(70_000);
  });

  it.each<[string, Caller, number]>([
    ['at normal speed', { slewMs: 3600, wallMs: 4600, reckonedMs: 4600 }, 4600],
    ['at normal speed until the end', { slewMs: 300, wallMs: 4600, reckonedMs: 4600 }, 4600],
    ['at half speed if it is ahead', { slewMs: 3600, wallMs: 4500, reckonedMs: 4600 }, 4100],
  ])('follows a holder %s', (_how, caller, clockMs) => {
    expect(clockAfter(caller)).toBe(clockMs);
  });

  it.each([
    ['nothing if its store may fail over', 1000, true],
    ['at once if its store loses nothing', 0, false],
  ])('grants by an unconfirmed step: %s', (_what, lossWindowMs, isHeld) => {
    const reading = { timeMs: START_MS, server: 's', random: 'r', lossWindowMs };
    const stored = { ...newHeader(reading), quarantineMs: TERMS.quarantineMs };
    const asked = { fingerprint: 'f', haveMs: 0, minRangeMs: 50, wallMs: START_MS + 60_000 };
    const later = { ...reading, timeMs: START_MS + DAY_MS };
    const opened = open(stored, { ...TERMS, ...asked }, later) as { header: RegistryHeader };
    const { header } = opened;
    expect(nowOf(header)).toBe(START_MS + DAY_MS);
    expect(header.safeFloorMs > nowOf(header)).toBe(isHeld);
  });
});

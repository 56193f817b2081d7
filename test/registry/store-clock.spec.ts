/** The clock by which a registry goes on, where the clock of its store has stepped forward. */
import { expect, it } from '@jest/globals';
import { witnessedTime } from '../../lib/rows/store-clock.js';

const DAY_MS = 86_400_000;
const NOW_MS = 1_767_225_600_000;
/** Of a newcomer, which has no time of the registry yet. */
const NEWCOMER = { ttlMs: 1300, quarantineMs: 2300 };

it.each([
  ['within a lease of the last time', { slewMs: 0, wallMs: NOW_MS + 2000 }, NOW_MS + 2000],
  ['beyond it', { slewMs: 0, wallMs: NOW_MS + 2800 }, NOW_MS + DAY_MS],
  ['beyond it, but ahead of its store', { slewMs: 3600, wallMs: NOW_MS + 2800 }, NOW_MS + 2800],
])('is that of a newcomer if the registry may be in use: %s', (_when, { slewMs, wallMs }, ms) => {
  const last = { lastTimeMs: NOW_MS, slewMs };
  const { timeMs } = witnessedTime(last, NOW_MS + DAY_MS, { ...NEWCOMER, wallMs });
  expect(timeMs).toBe(ms);
});

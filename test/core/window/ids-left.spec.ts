/**
 * How many ids a range still has: as many as can be made without another answer of the store.
 */
import { describe, expect, it } from '@jest/globals';
import { BitLayout, isSnowflakeError, layouts } from 'nestjs-snowflake';
import { SnowflakeGenerator } from '../../../lib/core/generator/snowflake-generator.js';
import { LeaseWindow } from '../../../lib/core/window/lease-window.js';

const START_MS = Date.parse('2026-01-01T00:00:00Z');
const RESERVE_MS = 10;

function inUse(layout: BitLayout = layouts.snowflake()) {
  const time = { ms: START_MS };
  const window = new LeaseWindow(layout, RESERVE_MS);
  const clock = { now: () => time.ms };
  const generator = new SnowflakeGenerator(window, { clock, aheadMsMax: 3_600_000 });
  const range = { workerId: 7, floorMs: START_MS, ceilingMs: START_MS + 100 };
  return { time, window, generator, range };
}

/** Makes ids until none is left. */
function usedUp(generator: SnowflakeGenerator): number {
  for (let count = 0; ; count++) {
    try {
      generator.nextId();
    } catch (error) {
      if (isSnowflakeError(error) && error.code === 'LEASE_LOST') return count;
      throw error;
    }
  }
}

describe('the ids that are left', () => {
  it.each([
    ['before the first', 0, 0, 100],
    ['after a while in which none was made', 50, 0, 50],
    ['when only the reserve is left', 95, 0, RESERVE_MS],
    ['long after the end, as long as none of the reserve was used', 5000, 0, RESERVE_MS],
    ['when ids run ahead of the clock', 0, 4096 * 30, 70],
    ['in the middle of the reserve', 5000, 4096 * 4, RESERVE_MS - 4],
  ])('%s are exactly those that can be made', (_when, afterMs, made, ticks) => {
    const { time, window, generator, range } = inUse();
    window.grant(range);
    time.ms += afterMs;
    generator.nextIds(made);
    expect(generator.idsLeft).toBe(ticks * 4096);
    expect(usedUp(generator)).toBe(ticks * 4096);
    expect(generator.idsLeft).toBe(0);
  });

  it('are not fewer than said in the middle of a tick', () => {
    const { window, generator, range } = inUse();
    window.grant(range);
    generator.nextIds(100);
    const said = generator.idsLeft!;
    expect(said).toBe(99 * 4096);
    expect(usedUp(generator)).toBe(said + 4096 - 100);
  });

  it('are unknown without a range, and for one without end', () => {
    const { window, generator } = inUse();
    expect(generator.idsLeft).toBeUndefined();
    window.grant({ workerId: 7, floorMs: -Infinity, ceilingMs: Infinity });
    expect(generator.idsLeft).toBeUndefined();
  });
});

/**
 * `notInFuture` and the ids of this very process: they are never refused, wherever a lease or a
 * clock that was set back has taken them.
 */
import { describe, expect, it } from '@jest/globals';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { IdMaker, MemorySupport, SnowflakeModule, layouts } from 'nestjs-snowflake';
import { SnowflakeGenerator, LeaseWindow } from 'nestjs-snowflake/core';
import { IdCheck } from '../../lib/http/check-id.js';

const layout = layouts.snowflake();
const HOUR_MS = 3_600_000;
// Before every id of another test: what is reached is remembered for the whole process.
const NOW_MS = Date.parse('2026-03-01T00:00:00Z');
const clockAt = (ms: number) => ({ now: () => ms });
const checkAt = (ms: number) => new IdCheck({ layout, notInFuture: true, clock: clockAt(ms) });
const idAt = (timestampMs: number) => layout.compose({ timestampMs });

describe('ids of this process', () => {
  it('pass up to where its lease ends, which is as far as any of the fleet', () => {
    const window = new LeaseWindow(layout);
    // The clock of the registry was set back by hours: ids go on where they were.
    const ceilingMs = NOW_MS + 3 * HOUR_MS;
    expect(checkAt(NOW_MS).find(idAt(ceilingMs - 1))).toBeUndefined();
    const range = window.grant({ workerId: 1, floorMs: NOW_MS, ceilingMs });
    expect(checkAt(NOW_MS).find(idAt(ceilingMs - 1))).toBe(idAt(ceilingMs - 1));
    expect(checkAt(NOW_MS).find(idAt(ceilingMs + 1))).toBeUndefined();
    window.raise(range, ceilingMs + HOUR_MS);
    expect(checkAt(NOW_MS).find(idAt(ceilingMs + HOUR_MS))).toBe(idAt(ceilingMs + HOUR_MS));
  });

  it('pass after the clock of a static worker id was set back', () => {
    const window = new LeaseWindow(layout);
    window.grant({ workerId: 1, floorMs: -Infinity, ceilingMs: Infinity });
    const madeAtMs = NOW_MS + 10 * HOUR_MS;
    expect(checkAt(NOW_MS).find(idAt(madeAtMs))).toBeUndefined();
    const id = new SnowflakeGenerator(window, { clock: clockAt(madeAtMs) }).nextId();
    expect(checkAt(NOW_MS).find(id)).toBe(id);
    expect(checkAt(NOW_MS).find(idAt(madeAtMs + HOUR_MS))).toBeUndefined();
  });

  it('pass on a new registry with the longest lease, on a host that is far behind', async () => {
    const options = {
      support: new MemorySupport(),
      layout,
      leaseTtlMs: 600_000,
    };
    const built = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)],
    }).compile();
    const app = await built.createNestApplication({ logger: false }).init();
    const ids = app.get(IdMaker).nextIdStrings(5000);
    const check = checkAt(Date.now() - 5000);
    expect(ids.filter((id) => check.find(id) === undefined)).toEqual([]);
    await app.close();
  });
});

describe('two copies of the package', () => {
  it('know of each other how far they are', () => {
    const shared = globalThis as unknown as Record<symbol, { ms: number }>;
    const reach = shared[Symbol.for('nestjs-snowflake:reach')]!;
    const id = idAt(reach.ms + HOUR_MS);
    expect(checkAt(NOW_MS).find(id)).toBeUndefined();
    reach.ms += HOUR_MS;
    expect(checkAt(NOW_MS).find(id)).toBe(id);
  });
});

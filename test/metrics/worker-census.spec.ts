/**
 * The count of worker ids: never waited for, never asked too often, never stale.
 */
import { describe, expect, it } from '@jest/globals';
import { StaticSupport, type WorkerRecord } from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { WorkerCensus } from '../../lib/metrics/worker-census.js';
import { settled } from './measured-app.js';

const record = (workerId: number, freeInMs: number): WorkerRecord => ({
  workerId,
  ceilingMs: 1000,
  freeInMs,
});
const IDS = { min: 0, max: 15 };

async function counted(census: WorkerCensus, nowMs: number) {
  census.read(nowMs);
  await settled();
  return census.read(nowMs);
}

describe('the count of worker ids', () => {
  it('has those in use that cannot be leased now, of the ids that may be leased', async () => {
    const workers = async () => [record(0, 0), record(1, 5), record(7, 5), record(20, 5)];
    expect(await counted(new WorkerCensus({ workers }, IDS, 1000), 0)).toEqual({
      inUse: 2,
      free: 14,
    });
  });

  it('is not known where nothing is leased, or nobody can say', async () => {
    const fixed = new WorkerCensus(new StaticSupport(812), { min: 0, max: 1023 }, 1000);
    expect(await counted(fixed, 0)).toBeUndefined();
    expect(await counted(new WorkerCensus({}, IDS, 1000), 0)).toBeUndefined();
  });

  it('is asked again when the clock was set back by more than a period', async () => {
    let asked = 0;
    const census = new WorkerCensus({ workers: async () => (asked++, []) }, IDS, 1000);
    await counted(census, 100_000);
    await counted(census, 99_500);
    expect(asked).toBe(1);
    await counted(census, 50_000);
    expect(asked).toBe(2);
  });

  it('vanishes when the next answer does not come, and is back with it', async () => {
    const open: ((records: WorkerRecord[]) => void)[] = [];
    const workers = () => new Promise<WorkerRecord[]>((resolve) => open.push(resolve));
    const census = new WorkerCensus({ workers }, IDS, 1000);
    census.read(0);
    open[0]!([record(1, 5)]);
    await settled();
    expect(census.read(1000)).toEqual({ inUse: 1, free: 15 });
    expect(census.read(1999)).toEqual({ inUse: 1, free: 15 });
    expect(census.read(2000)).toBeUndefined();
    open[2]!([record(1, 5), record(2, 5)]);
    await settled();
    expect(census.read(2001)).toEqual({ inUse: 2, free: 14 });
  });

  it('is waited for once, a second at most', async () => {
    const time = new SettableTime();
    const silent = { workers: () => new Promise<WorkerRecord[]>(() => undefined) };
    const census = new WorkerCensus(silent, IDS, 1000, time);
    let isOver = false;
    const waited = census.first(0)!.then(() => (isOver = true));
    expect(census.first(10)).toBeDefined();
    await time.advance(999);
    expect(isOver).toBe(false);
    await time.advance(1);
    await waited;
    expect(census.first(5000)).toBeUndefined();
    expect(census.read(500)).toBeUndefined();
    expect(time.timerCount).toBe(0);
  });

  it('is waited for no longer than it takes', async () => {
    const time = new SettableTime();
    let asked = 0;
    const workers = async () => (asked++, [record(1, 5)]);
    const census = new WorkerCensus({ workers }, IDS, 1000, time);
    census.read(0);
    await census.first(0);
    expect(census.read(0)).toEqual({ inUse: 1, free: 15 });
    expect([asked, time.timerCount]).toEqual([1, 0]);
  });

  it('survives a support that throws instead of rejecting', async () => {
    const workers = () => {
      throw new Error('closed');
    };
    expect(await counted(new WorkerCensus({ workers }, IDS, 1000), 0)).toBeUndefined();
  });
});

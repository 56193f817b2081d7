/**
 * Two regions, each with a registry of its own, in one id space: the field of the region keeps
 * their ids apart, and without it they are equal.
 */
import { describe, expect, it } from '@jest/globals';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  BitLayout,
  IdMaker,
  MemoryRegistry,
  MemorySupport,
  SnowflakeModule,
} from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';

const layout = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['region', 3],
    ['worker', 7],
    ['sequence', 12],
  ],
});

/** By clocks that agree to the millisecond, which is the worst that can be. */
async function idsOf(regions: readonly ({ readonly region: number } | undefined)[]) {
  const made: bigint[] = [];
  for (const workerFields of regions) {
    const clock = new SettableTime();
    const support = new MemorySupport({ registry: new MemoryRegistry(), clock });
    const snowflake = SnowflakeModule.forRoot({ support, layout, workerFields, clock });
    const app = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), snowflake],
    }).compile();
    await app.init();
    made.push(...app.get(IdMaker).nextIds(10_000));
    await app.close();
  }
  return made;
}

describe('two regions with a registry each', () => {
  it('make no id twice where the region is a field', async () => {
    const made = await idsOf([{ region: 1 }, { region: 2 }]);
    expect(new Set(made).size).toBe(20_000);
    const regions = new Set(made.map((id) => layout.parse(id).fields['region']));
    expect([...regions]).toEqual([1, 2]);
  });

  it('make each id twice where it is not', async () => {
    const made = await idsOf([undefined, undefined]);
    expect(new Set(made).size).toBeLessThan(20_000);
  });
});

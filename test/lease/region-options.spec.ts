/**
 * The option `regions` with parts replaced by the application, and with wrong answers from a
 * claim's store.
 */
import { describe, expect, it } from '@jest/globals';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  BitLayout,
  IDistributedSupport,
  IdMaker,
  MemorySupport,
  SnowflakeModule,
  type LeaseStatus,
} from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { LEASE_DEFAULTS } from '../../lib/lease/lease-options.js';
import { RegionClaim } from '../../lib/lease/region-claim.js';
import { systemIdentity } from '../../lib/time/process-identity.js';
import { Link, RegionStore } from '../simulation/world/region-stores.js';

const MINUTE_MS = 60_000;
const layout = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['region', 5],
    ['worker', 5],
    ['sequence', 12],
  ],
});

function setUp() {
  const time = new SettableTime();
  const global = new RegionStore('the registry of regions', time);
  const store = new RegionStore('region 3', time);
  return { time, global, store, own: new Link(store, time), regions: new Link(global, time) };
}

describe('an application', () => {
  const compiled = ({ own, regions, time }: ReturnType<typeof setUp>) =>
    Test.createTestingModule({
      imports: [
        ScheduleModule.forRoot(),
        SnowflakeModule.forRoot({
          support: own,
          regions,
          layout,
          workerFields: { region: 3 },
          clock: time,
          timers: time,
        }),
      ],
    });

  it('claims no number if its support is overridden, as in a test', async () => {
    const around = setUp();
    const { global, time } = around;
    const memory = new MemorySupport({ clock: time });
    const builder = compiled(around).overrideProvider(IDistributedSupport).useValue(memory);
    const app = await (await builder.compile()).init();
    await time.advance(MINUTE_MS);
    expect(global.callCount).toBe(0);
    expect((app.get(IdMaker).status as LeaseStatus).region).toBeUndefined();
    await app.close();
  });

  it('opens no connection if its IdMaker is overridden, and closes what is open', async () => {
    const around = setUp();
    const { global, own, regions, store, time } = around;
    const builder = compiled(around).overrideProvider(IdMaker).useValue({});
    const app = await (await builder.compile()).init();
    await time.advance(MINUTE_MS);
    await app.close();
    expect([global.callCount, store.callCount]).toEqual([0, 0]);
    expect([own.isClosed, regions.isClosed]).toEqual([true, true]);
  });
});

it('shuts down and claims even if a store fails to close or answers nonsense', async () => {
  const reports: string[] = [];
  const claim = new RegionClaim({
    support: {
      getNextWorkId: async () => ({ status: 'ok', workerId: 4 }) as never,
      refreshAlive: async () => ({ status: 'unknown' }) as const,
      close: async () => Promise.reject(new Error('twice')),
    },
    number: 3,
    bits: 5,
    lease: LEASE_DEFAULTS,
    identity: systemIdentity('shop'),
    timers: new SettableTime(),
    random: () => 1,
    keeper: { incarnation: 'a', endMs: Infinity, terms: undefined, nowMs: 0 },
    report: (_, text) => void reports.push(text),
  });
  await claim.start();
  expect(claim.status).toMatchObject({ state: 'unchecked' });
  expect(claim.status.message).toContain('not an integer from 3 to 3');
  await claim.stop();
  await claim.stop();
  expect(reports.at(-1)).toBe('The registry of regions could not be closed: twice');
});

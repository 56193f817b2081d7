/**
 * Invalid options: each causes CONFIG_INVALID with the value in the message, and one error lists
 * all of them.
 */
import { describe, expect, it } from '@jest/globals';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { IdMaker, MemoryRows, MemorySupport, SnowflakeModule } from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { BitLayout, layouts } from '../../lib/core/index.js';
import type { SnowflakeError } from '../../lib/errors.js';
import { type LeaseRequest, ordinalSupport, startSnowflake } from '../../lib/index.js';
import { resolveOptions, type SnowflakeModuleOptions } from '../../lib/nest/resolve-options.js';

describe('options', () => {
  const resolved = async (options: SnowflakeModuleOptions) => resolveOptions(options, true);

  async function faultsOf(options: unknown, hasScheduler = true): Promise<string[]> {
    try {
      await resolveOptions(options as SnowflakeModuleOptions, hasScheduler);
    } catch (error) {
      const { code, details } = error as SnowflakeError;
      return code === 'CONFIG_INVALID' ? (details['faults'] as string[]) : [`code ${code}`];
    }
    return [];
  }

  const WRONG: readonly [name: string, options: object, format: string][] = [
    ['leaseTtlMs', { leaseTtlMs: '60000' }, '"60000" (string)'],
    ['reserveMs', { reserveMs: 60_000 }, '60000'],
    ['workerId', { workerId: 1024 }, '1024'],
    ['workerId', { workerId: -1 }, '-1'],
    ['epoch', { epoch: '2124-01-01T00:00:00Z' }, '2124-01-01'],
    ['epoch', { epoch: '2024-01-01T00:00:00' }, '"2024-01-01T00:00:00"'],
    ['layout', { layout: 'twitter' }, '"twitter"'],
    [
      'bits',
      {
        layout: [
          ['timestamp', 41],
          ['worker', 12],
          ['sequence', 12],
        ],
      },
      '65',
    ],
    [
      'bits',
      {
        layout: [
          ['timestamp', 27],
          ['worker', 10],
          ['sequence', 12],
        ],
      },
      '27',
    ],
    ['workerFields', { workerFields: { room: 1 } }, 'room'],
    ['workerFields', { workerFields: { worker: 1024 } }, '1024'],
    ['has no option', { leaseTtl: 1 }, 'leaseTtl'],
    ['ran out', { epoch: 0, layout: layouts.baidu() }, '1978'],
  ];

  describe('options', () => {
    it.each(WRONG)('refuse %s in %j, showing the value', async (name, options, value) => {
      const [fault, ...more] = await faultsOf({ workerId: 7, ...options });
      expect(fault).toContain(name);
      expect(fault).toContain(value);
      expect(more).toEqual([]);
    });

    it.each([
      ['mysql://localhost', 'mysql://...'],
      ['static:x', 'static:...'],
      ['static:-1', 'static:...'],
      ['', 'an empty text'],
      ['rabbit://user:secret@host', 'rabbit://...'],
      ['redis://localhost/shop', 'redis://...'],
      [{}, 'object'],
      [7, 'number'],
      [null, 'null'],
    ])('refuse the support %j', async (support, format) => {
      const faults = await faultsOf({ support });
      expect(faults).toHaveLength(1);
      expect(faults[0]).toContain(format);
      expect(faults[0]).not.toContain('secret');
    });

    it('suggest the name for a misspelled option, and list all for an unknown one', async () => {
      const [misspelt, far] = await faultsOf({ workerId: 1, leaseTTlMS: 60_000, retries: 3 });
      expect(misspelt).toMatch(
        /has no option `leaseTTlMS`\. Did you mean `leaseTtlMs`\? The options/,
      );
      expect(far).toMatch(/has no option `retries`\. The options are support, /);
    });

    it('require exactly one source of the worker ID', async () => {
      const [fault, ...more] = await faultsOf({});
      expect([fault, more]).toEqual([expect.stringContaining('Neither `support`'), []]);
      expect(fault).not.toContain('environment');
      const unset = await faultsOf({ support: undefined });
      expect(unset).toEqual([
        expect.stringMatching(/^Neither `support`.* SNOWFLAKE_SUPPORT into .env/),
      ]);
      expect(await faultsOf({ workerId: 0, support: 'static:1' })).toEqual([
        expect.stringContaining('Both `support`'),
      ]);
    });

    it('require a TTL longer than two renewals and a failover', async () => {
      const faults = await faultsOf({ workerId: 1, leaseTtlMs: 20_000 });
      expect(faults).toEqual([expect.stringContaining('exceed 22000')]);
      const support = 'redis+cluster://127.0.0.1:7000';
      expect(await faultsOf({ support, leaseTtlMs: 30_000 })).toEqual([
        expect.stringContaining('exceed 39000'),
      ]);
    });

    it('require room for IDs in a time unit, but only if a registry leases', async () => {
      const fields = [
        ['timestamp', 33],
        ['worker', 10],
        ['sequence', 20],
      ] as const;
      const layout = new BitLayout({ fields, unitMs: 3_600_000 });
      expect(await faultsOf({ support: 'redis://h', layout })).toEqual([
        expect.stringContaining('exceed 7222998'),
      ]);
      expect(await faultsOf({ workerId: 1, layout })).toEqual([]);
      expect(await faultsOf({ support: 'redis://h', layout: layouts.baidu() })).toEqual([]);
    });

    it('refuse a removed value, and name the replacement', async () => {
      const [fault, ...more] = await faultsOf({ workerId: 1, onFreshRegistry: 'trust' });
      expect(fault).toContain("`onFreshRegistry: 'trust'` is gone");
      expect(fault).toContain('snowflake registry create');
      expect(more).toEqual([]);
    });

    it('require a start timeout that is long enough for a start that waits', async () => {
      expect(await faultsOf({ support: 'redis://h', onFreshRegistry: 'wait' })).toEqual([
        expect.stringContaining('`startTimeoutMs` to exceed 60000'),
      ]);
    });

    it('leave the limit of IDs ahead of the clock to the lease, unless one is set', async () => {
      expect((await resolved({ workerId: 1 })).aheadMsMax).toBeUndefined();
      expect((await resolved({ workerId: 1, aheadMsMax: 9 })).aheadMsMax).toBe(9);
    });

    it.each(['toString', 'constructor', 'valueOf', 'hasOwnProperty', '__proto__', 'ttlMs'])(
      'refuse %s as unknown, like any other name',
      async (name) => {
        const options = Object.fromEntries([
          ['workerId', 7],
          [name, 1],
        ]);
        expect(await faultsOf(options)).toEqual([
          expect.stringContaining(`SnowflakeModule has no option \`${name}\`.`),
        ]);
      },
    );

    it('may be getters of a class', async () => {
      class Options {
        readonly workerId = 1;
        get lazy() {
          return true;
        }
      }
      expect((await resolved(new Options())).lazy).toBe(true);
    });

    it('accept a layout field named `constructor`', async () => {
      const layout = new BitLayout({
        fields: [
          ['timestamp', 41],
          ['constructor', 10],
          ['sequence', 12],
        ],
      });
      expect((await resolved({ workerId: 1, layout })).workerIds).toEqual({ min: 0, max: 1023 });
    });

    it('report every error at once', async () => {
      const options = { leaseTtlMs: 1, aheadMsMax: -1, epoch: 'x', support: 'nope', wrong: 1 };
      expect(await faultsOf(options, false)).toHaveLength(6);
    });

    it.each([undefined, null, 'redis://x'])('are refused if they are %j', async (options) => {
      expect(await faultsOf(options)).toHaveLength(1);
    });

    it('accept 0 as a worker ID', async () => {
      const config = await resolved({ workerId: 0, aheadMsMax: 0, reserveMs: 0 });
      expect(config.workerIds).toEqual({ min: 0, max: 1023 });
      expect([config.aheadMsMax, config.lease.reserveMs]).toEqual([0, 0]);
    });

    it('with fixed worker fields leave the other fields to be leased', async () => {
      const layout = layouts.twitter();
      const workerFields = { datacenter: 3 };
      const support = 'redis://127.0.0.1:1';
      const config = await resolved({ layout, workerFields, support });
      expect(config.workerIds).toEqual({ min: 96, max: 127 });
      expect(await faultsOf({ layout, workerFields, workerId: 7 })).toEqual([
        expect.stringContaining('96 to 127, got 7'),
      ]);
      expect(await faultsOf({ layout, support, workerFields: { worker: 3 } })).toEqual([
        expect.stringContaining('a field before it is not'),
      ]);
    });

    it('may move a preset to another epoch', async () => {
      const epoch = '2025-06-01T00:00:00Z';
      const fromPreset = await resolved({ workerId: 1, layout: layouts.twitter(), epoch });
      expect(fromPreset.layout.epochMs).toBe(Date.parse(epoch));
      const layout = new BitLayout({
        fields: [
          ['timestamp', 41],
          ['sequence', 12],
        ],
      });
      expect((await resolved({ workerId: 0, layout })).layout).toBe(layout);
      const methods = Object.getOwnPropertyDescriptors(BitLayout.prototype);
      const ofOtherCopy = Object.assign(Object.create({}, methods) as BitLayout, layout);
      expect(ofOtherCopy).not.toBeInstanceOf(BitLayout);
      const { layout: taken } = await resolved({ workerId: 0, layout: ofOtherCopy });
      expect(taken).toBe(ofOtherCopy);
    });
  });
});

/*
 * Two regions, each with its own registry, in one ID space. The region field keeps their IDs apart.
 * Without it, the IDs collide.
 */
const layout = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['region', 3],
    ['worker', 7],
    ['sequence', 12],
  ],
});

/** The worst case: both clocks agree to the millisecond. */
async function idsOf(regions: readonly ({ readonly region: number } | undefined)[]) {
  const made: bigint[] = [];
  for (const workerFields of regions) {
    const clock = new SettableTime();
    const support = new MemorySupport({ rows: new MemoryRows(clock) });
    const given = workerFields ? { workerFields } : { workerId: 3 };
    const snowflake = SnowflakeModule.forRoot({ support, layout, clock, ...given });
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
  it('generate no duplicates if the layout has the region as a field', async () => {
    const made = await idsOf([{ region: 1 }, { region: 2 }]);
    expect(new Set(made).size).toBe(20_000);
    const regions = new Set(made.map((id) => layout.parse(id).fields['region']));
    expect([...regions]).toEqual([1, 2]);
  });

  it('generate duplicates without that field', async () => {
    const made = await idsOf([undefined, undefined]);
    expect(new Set(made).size).toBeLessThan(20_000);
  });
});

/*
 * A worker ID that the process supplies. Without a registry it is not checked, and with one it is
 * claimed there. The start refuses every mistake, together with all others.
 */
describe('claims', () => {
  const TTL_MS = 60_000;
  const former: LeaseRequest = {
    fingerprint: layouts.snowflake().fingerprint,
    ttlMs: TTL_MS,
    minRangeMs: 50,
    quarantineMs: 0,
    token: 'of the pod before this one',
    nonce: 'n',
    workerIdMin: 3,
    workerIdMax: 3,
    haveMs: 0,
    holder: { host: 'shop-3', pid: 1, application: 'shop' },
  };

  async function faultsOf(options: object): Promise<string[]> {
    const config = resolveOptions(options as SnowflakeModuleOptions, true);
    return config.then(
      () => [],
      ({ details }: SnowflakeError) => details['faults'] as string[],
    );
  }

  /** Moves the time until the generator has started or failed. */
  async function started(time: SettableTime, options: SnowflakeModuleOptions) {
    const starting = startSnowflake({ ...options, clock: time, timers: time });
    const isRunning = starting.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([isRunning, time.advance(100).then(() => false)])));
    return starting;
  }

  const workerIdIn = (id: bigint) => layouts.snowflake().parse(id).workerId;

  describe('a worker ID that the process supplies', () => {
    it.each([
      ['a function', () => 3],
      ['a promise', async () => 3],
    ])('is used as is without a registry, from %s', async (_name, workerId) => {
      await using running = await startSnowflake({ workerId });
      expect(workerIdIn(running.ids.nextId())).toBe(3);
      expect(running.ids.status).toMatchObject({ workerId: 3, state: 'active' });
    });

    it.each([
      ['as workerId', (support: MemorySupport) => ({ workerId: () => 3, support })],
      [
        'as an ordinal',
        (of: MemorySupport) => ({ support: ordinalSupport({ hostname: 'shop-3', of }) }),
      ],
    ])('is taken over from a pod that was killed a moment ago: %s', async (_name, optionsOf) => {
      const time = new SettableTime();
      const support = new MemorySupport({ rows: new MemoryRows(time) });
      const killed = await support.getNextWorkId(former);
      const before = time.now();
      await using running = await started(time, optionsOf(support));
      expect(time.now() - before).toBeLessThan(5000);
      const id = running.ids.nextId();
      expect(workerIdIn(id)).toBe(3);
      const { ceilingMs } = killed as { ceilingMs: number };
      expect(layouts.snowflake().parse(id).date.getTime()).toBeGreaterThanOrEqual(ceilingMs);
    });

    it('yields to another process, returns later, and generates no ID in its range', async () => {
      const time = new SettableTime();
      const support = new MemorySupport({ rows: new MemoryRows(time) });
      await using running = await started(time, { workerId: 3, support });
      const first = running.ids.nextId();
      const other = { ...former, token: 'of another pod', takesOver: true };
      await time.advance(2000);
      const taken = await support.getNextWorkId(other);
      expect(taken.status).toBe('ok');
      const seen = new Set([first]);
      for (let n = 0; n < 40; n++) {
        await time.advance(1000);
        seen.add(running.ids.nextId());
      }
      expect(seen.size).toBe(41);
      expect(running.ids.status).toMatchObject({ workerId: 3, state: 'active' });
      const { floorMs, ceilingMs } = taken as { floorMs: number; ceilingMs: number };
      const times = [...seen].map((id) => layouts.snowflake().parse(id).date.getTime());
      expect(times.filter((ms) => ms >= floorMs && ms < ceilingMs)).toEqual([]);
    });

    it('is refused for a second generator of the process', async () => {
      const time = new SettableTime();
      const rows = new MemoryRows(time);
      const options = () => ({ workerId: 3, support: new MemorySupport({ rows }) });
      await using first = await started(time, options());
      await expect(started(time, options())).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('already claimed by another generator') as unknown,
      });
      const waiting = started(time, options());
      await time.advance(500);
      await first.close();
      await using second = await waiting;
      expect(second.ids.status.workerId).toBe(3);
    });

    it('must fit the layout, and is reported with every other error', async () => {
      const support = 'redis://h';
      expect(await faultsOf({ workerId: async () => 1024, support, aheadMsMax: -1 })).toEqual([
        'Expected `workerId` to be an integer from 0 to 1023, got 1024 (number).',
        expect.stringContaining('aheadMsMax'),
      ]);
      const of = 'rabbit://h';
      const faults = await faultsOf({ support: ordinalSupport({ hostname: 'shop', of }), lazy: 7 });
      expect(faults).toEqual([
        expect.stringContaining('is not that of a StatefulSet'),
        expect.stringContaining('No support handles this URL'),
        expect.stringContaining('lazy'),
      ]);
      const wide = layouts.sonyflake();
      expect(await faultsOf({ workerId: () => 65_535, support, layout: wide })).toEqual([]);
    });

    it.each([
      ['a string', () => '7', '"7" (string)'],
      ['nothing', () => undefined, 'undefined'],
      ['a fraction', async () => 1.5, '1.5'],
      [
        'an error',
        () => {
          throw new Error('the metadata service is away');
        },
        'the metadata service is away',
      ],
    ])('is refused if the function returns %s', async (_name, workerId, said) => {
      for (const support of [undefined, new MemorySupport()]) {
        expect(await faultsOf({ workerId, support })).toEqual([expect.stringContaining(said)]);
      }
    });

    it('is awaited no longer than the start timeout', async () => {
      const time = new SettableTime();
      const workerId = () => new Promise<number>(() => undefined);
      const faults = faultsOf({ workerId, timers: time, startTimeoutMs: 5000 });
      await time.advance(5000);
      expect(await faults).toEqual([expect.stringContaining('gave no number within 5000 ms')]);
    });

    it('is refused together with a support that has a worker ID of its own', async () => {
      expect(await faultsOf({ workerId: () => 1, support: 'static:1' })).toEqual([
        expect.stringContaining('Both `support` and `workerId` give a worker id'),
      ]);
    });
  });
});

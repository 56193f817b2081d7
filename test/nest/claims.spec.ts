/**
 * A worker id that the process knows by itself: alone nobody checks it, with a registry it is
 * claimed there, and each mistake is refused at the start with all others.
 */
import { describe, expect, it } from '@jest/globals';
import {
  MemoryRegistry,
  MemorySupport,
  ordinalSupport,
  startSnowflake,
  type LeaseRequest,
  type SnowflakeError,
  type SnowflakeModuleOptions,
} from '../../lib/index.js';
import { layouts } from '../../lib/core/index.js';
import { resolveOptions } from '../../lib/nest/resolve-options.js';
import { SettableTime } from '../../lib/testing/index.js';

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

/** Starts in a time of the test, which goes on until it runs. */
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

describe('a number that the process knows', () => {
  it.each([
    ['a function', () => 3],
    ['a promise', async () => 3],
  ])('is its worker id without a registry, from %s', async (_name, workerId) => {
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
  ])('is claimed from a pod that was killed a moment ago: %s', async (_name, optionsOf) => {
    const time = new SettableTime();
    const registry = new MemoryRegistry();
    const support = new MemorySupport({ registry, clock: time });
    const killed = await support.getNextWorkId(former);
    const before = time.now();
    await using running = await started(time, optionsOf(support));
    expect(time.now() - before).toBeLessThan(5000);
    const id = running.ids.nextId();
    expect(workerIdIn(id)).toBe(3);
    const { ceilingMs } = killed as { ceilingMs: number };
    expect(layouts.snowflake().parse(id).date.getTime()).toBeGreaterThanOrEqual(ceilingMs);
  });

  it('leaves its holder for another process, comes back, and says why', async () => {
    const time = new SettableTime();
    const registry = new MemoryRegistry();
    const support = new MemorySupport({ registry, clock: time });
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

  it('is refused to a second generator of the process', async () => {
    const time = new SettableTime();
    const registry = new MemoryRegistry();
    const options = () => ({ workerId: 3, support: new MemorySupport({ registry, clock: time }) });
    await using first = await started(time, options());
    await expect(started(time, options())).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('already claimed by another generator') as unknown,
    });
    await first.close();
    await using second = await started(time, options());
    expect(second.ids.status.workerId).toBe(3);
  });

  it('must fit the layout, with every other fault said at once', async () => {
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
    ['a text', () => '7', '"7" (string)'],
    ['nothing', () => undefined, 'undefined'],
    ['a fraction', async () => 1.5, '1.5'],
    [
      'an error',
      () => {
        throw new Error('the metadata service is away');
      },
      'the metadata service is away',
    ],
  ])('is refused where the function gives %s', async (_name, workerId, said) => {
    for (const support of [undefined, new MemorySupport()]) {
      expect(await faultsOf({ workerId, support })).toEqual([expect.stringContaining(said)]);
    }
  });

  it('is waited for no longer than a start may take', async () => {
    const time = new SettableTime();
    const workerId = () => new Promise<number>(() => undefined);
    const faults = faultsOf({ workerId, timers: time, startTimeoutMs: 5000 });
    await time.advance(5000);
    expect(await faults).toEqual([expect.stringContaining('gave no number within 5000 ms')]);
  });

  it('is not checked by what gives a number itself', async () => {
    expect(await faultsOf({ workerId: () => 1, support: 'static:1' })).toEqual([
      expect.stringContaining('Both `support` and `workerId` give a worker id'),
    ]);
  });
});

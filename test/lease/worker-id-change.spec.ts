/**
 * What an application is told of its worker id: every change once, in a chain without a gap, and
 * never while ids can still be made under a lease that is gone. Its own function does no harm.
 */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { MemorySupport, startSnowflake, type SnowflakeModuleOptions } from 'nestjs-snowflake';
import { MemoryRegistry } from '../../lib/index.js';
import type { SnowflakeError } from '../../lib/errors.js';
import type { WorkerIdChange } from '../../lib/lease/keeper.js';
import { LeaseKeeper } from '../../lib/lease/lease-keeper.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { codeOf } from '../code-of.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { KEEPER_MUTANTS } from '../mutants/keeper-mutants.mjs';
import { process, World } from './world.js';

const moveOf = ({ from, to }: WorkerIdChange) => `${from} -> ${to}`;

/** A process that is moved, fenced, cloned and stopped: what it is told, and what ids say then. */
async function story(Keeper: typeof LeaseKeeper): Promise<string[]> {
  const world = new World();
  const { parts, generator } = process(world);
  const told: string[] = [];
  const listening = {
    ...parts,
    onWorkerIdChange: (change: WorkerIdChange) => {
      told.push(
        `${moveOf(change)}, status ${keeper.workerId}, ${codeOf(() => generator.nextId())}`,
      );
    },
  };
  const keeper: LeaseKeeper = new Keeper(listening);
  await keeper.start();
  await keeper.refresh();
  await world.time.advance(40_000);
  generator.nextId();
  world.time.wallMs -= 30_000;
  await keeper.refresh();
  const { holders, ceilings } = world.registry.state!;
  const floorMs = ceilings.get(1)!;
  holders.set(1, { ...holders.get(1)!, token: 'somebody else', floorMs });
  await keeper.refresh();
  const workerId = keeper.workerId!;
  holders.set(workerId, { ...holders.get(workerId)!, nonce: 'of the copy' });
  await keeper.refresh();
  await keeper.stop();
  await keeper.stop();
  const never = new Keeper(listening);
  await never.stop();
  return told;
}

const TOLD = [
  'undefined -> 0, status 0, none',
  '0 -> 1, status 1, none',
  // Its range lasts, although somebody else has the worker id now.
  '1 -> undefined, status undefined, none',
  'undefined -> 2, status 2, none',
  '2 -> undefined, status undefined, LEASE_LOST',
  'undefined -> 3, status 3, none',
  '3 -> undefined, status undefined, NOT_READY',
];

describe('the keeper tells of another worker id', () => {
  it('once, in order, after status and lease window have changed', async () => {
    expect(await story(LeaseKeeper)).toEqual(TOLD);
  });

  it('with the reason', async () => {
    const world = new World();
    const { keeper, generator, workerIds } = process(world);
    await keeper.start();
    await world.time.advance(40_000);
    generator.nextId();
    world.time.wallMs -= 30_000;
    await keeper.refresh();
    await keeper.stop();
    expect(workerIds.map(({ reason }) => reason)).toEqual([
      'Worker id 0 until 2026-01-01T00:01:00.000Z.',
      expect.stringContaining('Moved from worker id 0 to 1: the clock was set back'),
      'The application is shutting down.',
    ]);
  });

  it.each(KEEPER_MUTANTS)('and this is seen: $name', async ({ edits }) => {
    const mutant = (await loadLibrary(edits, 'lease/lease-keeper.ts')) as {
      LeaseKeeper: typeof LeaseKeeper;
    };
    expect(await story(mutant.LeaseKeeper)).not.toEqual(TOLD);
  });
});

describe('the option onWorkerIdChange', () => {
  let said: string[];
  beforeEach(() => {
    said = [];
    jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((text) => void said.push(String(text)));
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** Of an application on a clock that is set back between two renewals. */
  async function movedBy(onWorkerIdChange: SnowflakeModuleOptions['onWorkerIdChange']) {
    const time = new SettableTime();
    const support = new MemorySupport({ registry: new MemoryRegistry(), clock: time });
    const common = { clock: time, timers: time, maxDriftMs: 1000 };
    const snowflake = await startSnowflake({ support, ...common, onWorkerIdChange });
    await time.advance(9500);
    snowflake.ids.nextId();
    time.wallMs -= 5000;
    await time.advance(10_000);
    const { workerId } = snowflake.ids.parse(snowflake.ids.nextId());
    await snowflake.close();
    return workerId;
  }

  it('is called for the first lease, for a clock that was set back, and at the end', async () => {
    const told: string[] = [];
    expect(await movedBy((change) => void told.push(moveOf(change)))).toBe(1);
    expect(told).toEqual(['undefined -> 0', '0 -> 1', '1 -> undefined']);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no label');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no label'))],
  ])('costs a warning where it %s', async (_case, listener) => {
    expect(await movedBy(listener)).toBe(1);
    const text = 'The function `onWorkerIdChange` failed: no label';
    expect(said.filter((line) => line === text)).toHaveLength(3);
  });

  it('may wait, and nothing waits for it', async () => {
    expect(await movedBy(() => new Promise(() => undefined))).toBe(1);
  });

  it('is a function, in the thread that holds a lease', async () => {
    const faultOf = (options: object) =>
      startSnowflake(options).then(
        () => 'none',
        ({ details }: SnowflakeError) => (details['faults'] as string[]).join(),
      );
    expect(await faultOf({ workerId: 1, onWorkerIdChange: 'log' })).toBe(
      'Expected `onWorkerIdChange` to be a function, got "log" (string).',
    );
    const holder = await startSnowflake({ workerId: 1, sharesLease: true });
    const { sharedLease } = holder.ids;
    const listener = () => undefined;
    expect(await faultOf({ support: sharedLease, onWorkerIdChange: listener })).toMatch(
      /^This thread shares the lease of another one, which alone calls `onWorkerIdChange`\./,
    );
    await holder.close();
  });
});

/** Every state change. All other events leave the state unchanged. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { MemorySupport, startSnowflake, type SnowflakeModuleOptions } from 'nestjs-snowflake';
import type { SnowflakeError } from '../../lib/errors.js';
import { MemoryRows } from '../../lib/index.js';
import type { LeaseAnswer, LeaseRequest } from '../../lib/lease/distributed-support.js';
import { LEASE_STATES, type LeaseEvent, type LeaseState } from '../../lib/lease/held-lease.js';
import type { WorkerIdChange } from '../../lib/lease/keeper.js';
import { LeaseKeeper } from '../../lib/lease/lease-keeper.js';
import { RequestTerms } from '../../lib/lease/request-terms.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { KEEPER_MUTANTS } from '../mutants/lease-mutants.mjs';
import { loadLibrary } from '../mutants/load-library.mjs';
import { codeOf } from '../until.js';
import { World, process } from './world.js';

const CHANGES: readonly [LeaseState, LeaseEvent, LeaseState][] = [
  ['unassigned', 'leased', 'active'],
  ['unassigned', 'released', 'released'],
  ['active', 'renewal-failed', 'degraded'],
  ['active', 'reserve-entered', 'stretched'],
  ['active', 'exhausted', 'exhausted'],
  ['active', 'fenced', 'fenced'],
  ['active', 'dropped', 'unassigned'],
  ['active', 'released', 'released'],
  ['degraded', 'renewed', 'active'],
  ['degraded', 'reserve-entered', 'stretched'],
  ['degraded', 'exhausted', 'exhausted'],
  ['degraded', 'fenced', 'fenced'],
  ['degraded', 'dropped', 'unassigned'],
  ['degraded', 'released', 'released'],
  ['stretched', 'renewed', 'active'],
  ['stretched', 'leased', 'switching'],
  ['stretched', 'exhausted', 'exhausted'],
  ['stretched', 'fenced', 'fenced'],
  ['stretched', 'dropped', 'unassigned'],
  ['stretched', 'released', 'released'],
  ['exhausted', 'renewed', 'active'],
  ['exhausted', 'leased', 'switching'],
  ['exhausted', 'fenced', 'fenced'],
  ['exhausted', 'dropped', 'unassigned'],
  ['exhausted', 'released', 'released'],
  ['fenced', 'leased', 'switching'],
  ['fenced', 'reserve-entered', 'stretched'],
  ['fenced', 'exhausted', 'exhausted'],
  ['fenced', 'dropped', 'unassigned'],
  ['fenced', 'released', 'released'],
  ['switching', 'entered', 'active'],
  ['switching', 'renewed', 'active'],
  ['switching', 'renewal-failed', 'degraded'],
  ['switching', 'reserve-entered', 'stretched'],
  ['switching', 'exhausted', 'exhausted'],
  ['switching', 'fenced', 'fenced'],
  ['switching', 'dropped', 'unassigned'],
  ['switching', 'released', 'released'],
];

const STATES = Object.keys(LEASE_STATES) as LeaseState[];
const EVENTS = [...new Set(CHANGES.map(([, event]) => event))];

describe('the table of lease states', () => {
  it.each(STATES.flatMap((state) => EVENTS.map((event) => [state, event] as const)))(
    '%s on %s',
    (state, event) => {
      const named = CHANGES.find(([from, by]) => from === state && by === event);
      const stays = state === 'fenced' && event === 'fenced' ? 'fenced' : state;
      expect(LEASE_STATES[state][event] ?? state).toBe(named?.[2] ?? stays);
    },
  );

  it('has no transition out of released', () => {
    expect(LEASE_STATES.released).toEqual({});
  });
});

/*
 * A registry reserved for others, or without the data of its holders: another layout, another
 * version of the protocol, a shorter quarantine.
 */
const LATER = '3';

async function started(world: World, given: Parameters<typeof process>[1] = {}) {
  const it = process(world, given);
  await it.keeper.start();
  return it;
}

describe('a registry with another layout', () => {
  it('ends a range at once, and another one is leased when the registry is free', async () => {
    const world = new World();
    const { keeper, generator, states, changes } = await started(world);
    generator.nextId();
    await world.time.advance(130_000);
    world.registry.state!.fingerprint = 'of others';
    await keeper.refresh();
    expect(keeper.state).toBe('unassigned');
    expect(changes.at(-1)!.reason).toContain('Do not delete the registry');
    expect(() => generator.nextId()).toThrow(
      expect.objectContaining({ code: 'LAYOUT_MISMATCH', retryable: false }),
    );
    world.registry.state = undefined;
    await world.time.advance(8000);
    expect(states()).toEqual(['active', 'unassigned', 'active']);
    generator.nextId();
  });

  it('is contested by a process with a range, and the message names the cure', async () => {
    const world = new World();
    const { keeper, changes } = await started(world);
    world.registry.state!.fingerprint = 'of others';
    await keeper.refresh();
    expect(world.registry.state!.fingerprint).toMatch(/^of others and t41/);
    expect(changes.at(-1)!.reason).toContain('layout move --end');
    const next = process(world);
    const error = await next.keeper.start().catch((caught: SnowflakeError) => caught);
    expect(error).toMatchObject({ code: 'LAYOUT_MISMATCH' });
    expect((error as SnowflakeError).message).toContain('layout move --end');
  });

  it('receives the range in use when the process requests another one', async () => {
    const world = new World();
    const { keeper, window } = await started(world);
    const endMs = window.endMs;
    const asked: LeaseRequest[] = [];
    const ask = world.registry.acquire.bind(world.registry);
    world.registry.acquire = (request, reading) => {
      asked.push(request);
      return ask(request, reading);
    };
    world.registry.state = undefined;
    void keeper.refresh();
    await world.time.advance(100);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked[0]!.haveMs).toBe(endMs);
  });
});

it('while all worker IDs are leased, receives calls as often as from a holder', async () => {
  const world = new World();
  const holders = [0, 1, 2, 3].map(() => process(world));
  for (const { keeper } of holders) await keeper.start();
  const waiting = process(world, { refreshAliveIntervalMs: 50 });
  const acquired = () => world.calls.filter((call) => call === 'acquire').length;
  const before = acquired();
  void waiting.keeper.start().catch(() => undefined);
  await world.time.advance(5000);
  expect(acquired() - before).toBeGreaterThanOrEqual(100);
  for (const { keeper } of [...holders, waiting]) await keeper.stop();
});

describe('a registry with another protocol version', () => {
  it('refuses a start and names both versions', async () => {
    const world = new World();
    world.registry.state!.version = LATER;
    await expect(process(world).keeper.start()).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      retryable: false,
      message: expect.stringContaining('version 3 of the lease protocol'),
    });
  });

  it('lets the process use its range to the end if a later version keeps the registry', async () => {
    const world = new World();
    const { keeper, generator, news, window } = await started(world, { reserveMs: 0 });
    const before = structuredClone(world.registry.state!);
    world.registry.state!.version = LATER;
    for (let n = 0; n < 5; n++) {
      await keeper.refresh();
      await world.time.advance(10_000);
      generator.nextId();
    }
    expect(news.filter((text) => text.includes('version 3 of the lease protocol'))).toHaveLength(1);
    expect(world.registry.state).toEqual({ ...before, version: LATER });
    await world.time.advance(window.endMs! - world.time.now());
    expect(() => generator.nextId()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
    world.registry.state!.version = '2';
    await world.time.advance(4000);
    generator.nextId();
  });
});

describe("a process's memory", () => {
  it('goes with each request: the longest quarantine that it received', async () => {
    const world = new World();
    const { keeper } = await started(world);
    world.registry.state!.quarantineMs = 600_000;
    await keeper.refresh();
    world.registry.state = undefined;
    void keeper.refresh();
    await world.time.advance(1000);
    expect(world.registry.state!.quarantineMs).toBe(600_000);
  });

  it('omits a move whose worker IDs are not open yet, so that their opening counts', () => {
    const { parts } = process(new World());
    const terms = new RequestTerms(parts);
    const heard = (layouts: string) =>
      terms.observe({ status: 'layout-mismatch', layouts } as LeaseAnswer, 0);
    const move = '#3 #in:key snowflake';
    heard(`${move}[]`);
    expect(terms.now.layouts).toBeUndefined();
    heard(`${move}[4-7]`);
    expect(terms.now.layouts).toBe(`${move}[4-7]`);
    heard('#4 #out:key snowflake[]');
    expect(terms.now.layouts).toBe(`${move}[4-7]`);
  });
});

describe('the state that a process leaves behind', () => {
  it('is the same at its end, when a release may begin the next registry', async () => {
    const world = new World();
    const { keeper } = await started(world);
    world.registry.state!.quarantineMs = 600_000;
    await keeper.refresh();
    world.registry.state = undefined;
    await keeper.stop();
    expect(world.registry.state!.quarantineMs).toBe(600_000);
  });
});

describe('a renewal that has to wait', () => {
  it.each([
    ['is no event if the range outlasts the wait', 60_000, ['active']],
    ['is an event if the range ends before', 200_000, ['active', 'degraded']],
  ])('%s', async (_, quarantineMs, states) => {
    const world = new World();
    const { keeper, states: seen } = await started(world);
    world.registry.state!.quarantineMs = quarantineMs;
    world.server = 'two';
    await world.time.advance(1000);
    await keeper.refresh();
    expect(seen()).toEqual(states);
  });
});

/*
 * The application's notifications about its worker ID: every change once, in a chain without a gap,
 * and none while IDs are still possible under an ended lease. An error of its callback does no
 * harm.
 */

const moveOf = ({ from, to }: WorkerIdChange) => `${from} -> ${to}`;

/**
 * A process that is moved, fenced, cloned and stopped: its notifications, and the results of ID
 * calls.
 */
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
  // Its range is still valid, although another process has the worker ID now.
  '1 -> undefined, status undefined, none',
  'undefined -> 2, status 2, none',
  '2 -> undefined, status undefined, LEASE_LOST',
  'undefined -> 3, status 3, none',
  '3 -> undefined, status undefined, NOT_READY',
];

describe('the keeper reports another worker ID', () => {
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

  it.each(KEEPER_MUTANTS)('and observers see this: $name', async ({ edits }) => {
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

  /** The clock of this application is set back between two renewals. */
  async function movedBy(onWorkerIdChange: SnowflakeModuleOptions['onWorkerIdChange']) {
    const time = new SettableTime();
    const support = new MemorySupport({ rows: new MemoryRows(time) });
    const common = { clock: time, timers: time, maxDriftMs: 1000 };
    const snowflake = await startSnowflake({ support, ...common, onWorkerIdChange });
    await time.advance(9500);
    const { workerId: first } = snowflake.ids.parse(snowflake.ids.nextId());
    time.wallMs -= 5000;
    await time.advance(10_000);
    const { workerId } = snowflake.ids.parse(snowflake.ids.nextId());
    await snowflake.close();
    return [first, workerId];
  }

  it('runs for the first lease, after a clock step back, and at the end', async () => {
    const told: string[] = [];
    const [first, next] = await movedBy((change) => void told.push(moveOf(change)));
    expect(first).not.toBe(next);
    expect(told).toEqual([`undefined -> ${first}`, `${first} -> ${next}`, `${next} -> undefined`]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no label');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no label'))],
  ])('logs a warning if it %s', async (_case, listener) => {
    const [first, next] = await movedBy(listener);
    expect(first).not.toBe(next);
    const text = 'The function `onWorkerIdChange` failed: no label';
    expect(said.filter((line) => line === text)).toHaveLength(3);
  });

  it('may be asynchronous, and nothing waits for it', async () => {
    const [first, next] = await movedBy(() => new Promise(() => undefined));
    expect(first).not.toBe(next);
  });

  it('must be a function, in the thread that holds a lease', async () => {
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

import { describe, expect, it } from '@jest/globals';
import type { SnowflakeError } from '../../lib/errors.js';
import type { LeaseRequest } from '../../lib/lease/distributed-support.js';
import {
  LEASE_STATES,
  type LeaseEvent,
  type LeaseState,
  nextState,
} from '../../lib/lease/held-lease.js';
import { process, World } from './world.js';

/** Every change there is; whatever is not named here leaves the state as it is. */
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
      expect(nextState(state, event)).toBe(named?.[2] ?? stays);
    },
  );

  it('has no way out of released', () => {
    expect(LEASE_STATES.released).toEqual({});
  });
});

/*
 * A registry that is kept for others, or that forgot what its holders know: another layout,
 * another version of the protocol, a shorter quarantine.
 */
const LATER = '2';

async function started(world: World, given: Parameters<typeof process>[1] = {}) {
  const it = process(world, given);
  await it.keeper.start();
  return it;
}

describe('a registry of another layout', () => {
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

  it('is contested by whoever has a range, and says what to do then', async () => {
    const world = new World();
    const { keeper, changes } = await started(world);
    world.registry.state!.fingerprint = 'of others';
    await keeper.refresh();
    expect(world.registry.state!.fingerprint).toMatch(/^of others and t41/);
    expect(changes.at(-1)!.reason).toContain('wait one leaseTtlMs, then delete');
    const next = process(world);
    const error = await next.keeper.start().catch((caught: SnowflakeError) => caught);
    expect(error).toMatchObject({ code: 'LAYOUT_MISMATCH' });
    expect((error as SnowflakeError).message).toContain('wait one leaseTtlMs, then delete');
  });

  it('is told of the range still in use when another one is asked for', async () => {
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

describe('a registry of another version', () => {
  it('refuses a start with both sides named', async () => {
    const world = new World();
    world.registry.state!.version = LATER;
    await expect(process(world).keeper.start()).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      retryable: false,
      message: expect.stringContaining('version 2 of the lease protocol'),
    });
  });

  it('uses its range to the end where a later version keeps the registry', async () => {
    const world = new World();
    const { keeper, generator, news, window } = await started(world, { reserveMs: 0 });
    const before = structuredClone(world.registry.state!);
    world.registry.state!.version = LATER;
    for (let n = 0; n < 5; n++) {
      await keeper.refresh();
      await world.time.advance(10_000);
      generator.nextId();
    }
    expect(news.filter((text) => text.includes('version 2 of the lease protocol'))).toHaveLength(1);
    expect(world.registry.state).toEqual({ ...before, version: LATER });
    await world.time.advance(window.endMs! - world.time.now());
    expect(() => generator.nextId()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
    world.registry.state!.version = '1';
    await world.time.advance(4000);
    generator.nextId();
  });
});

describe('what a process remembers', () => {
  it('goes with each request: the longest quarantine that it was told of', async () => {
    const world = new World();
    const { keeper } = await started(world);
    world.registry.state!.quarantineMs = 600_000;
    await keeper.refresh();
    world.registry.state = undefined;
    void keeper.refresh();
    await world.time.advance(1000);
    expect(world.registry.state!.quarantineMs).toBe(600_000);
  });
});

describe('what a process leaves behind', () => {
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
    ['is no event where the range outlasts the wait', 60_000, ['active']],
    ['is one where it does not', 200_000, ['active', 'degraded']],
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

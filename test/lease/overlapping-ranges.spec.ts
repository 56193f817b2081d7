/**
 * Ranges that overlap, which a registry grants only where it lost data and did not know of the
 * longest lease: nobody goes on in such a range once it is known.
 */
import { describe, expect, it } from '@jest/globals';
import { World, process } from './world.js';

const LONG = { ttlMs: 60_000 };
const SHORT = { ttlMs: 10_000 };

/** With one worker id to be had. */
function alone<T extends { parts: object }>(one: T): T {
  Object.assign(one.parts, { workerIds: { min: 0, max: 0 } });
  return one;
}

describe('a holder of a long lease, whose registry was lost', () => {
  it('leaves its range as soon as it learns that another one was granted in it', async () => {
    const world = new World();
    const old = process(world, LONG);
    await old.keeper.start();
    const made = [old.generator.nextId()];
    // Its first id lies in the second half of a range without a beginning, so that it renews.
    await world.time.advance(100);
    world.registry.state = undefined;
    const other = process(world, SHORT);
    const starting = other.keeper.start();
    await world.time.advance(15_000);
    await starting;
    made.push(other.generator.nextId());
    const { workerId } = other.window.current!;
    expect(workerId).toBe(old.window.current!.workerId);
    expect(other.window.layout.msOf(other.window.current!.floorTick)).toBeLessThan(
      old.keeper.endMs!,
    );
    const refreshing = old.keeper.refresh();
    for (let n = 0; n < 100; n++) await world.time.advance(1000);
    await refreshing;
    expect(old.states()).toEqual(['active', 'unassigned', 'active']);
    expect(old.changes[1]!.reason).toMatch(/inside the range held here: the registry lost data/);
    for (let n = 0; n < 1000; n++) {
      await world.time.advance(1);
      made.push(old.generator.nextId(), other.generator.nextId());
    }
    expect(old.window.current!.workerId).not.toBe(other.window.current!.workerId);
    expect(new Set(made).size).toBe(made.length);
  });

  it('keeps its range where the next one begins at its end', async () => {
    const world = new World();
    const old = alone(process(world, SHORT));
    await old.keeper.start();
    const { endMs } = old.keeper;
    world.time.wallMs += 10_000;
    const other = alone(process(world, SHORT));
    await other.keeper.start();
    expect(other.window.layout.msOf(other.window.current!.floorTick)).toBe(endMs);
    const refreshing = old.keeper.refresh();
    await world.time.advance(100);
    expect(old.states().slice(0, 2)).toEqual(['active', 'fenced']);
    await world.time.advance(20_000);
    await refreshing;
  });
});

describe('a renewal', () => {
  it('whose range begins inside the one held is not entered', async () => {
    const world = new World();
    const { keeper, window } = process(world, SHORT);
    await keeper.start();
    const { endMs } = keeper;
    await world.time.advance(3000);
    const held = window.current!;
    const state = world.registry.state!;
    const owner = state.holders.get(0)!;
    state.holders.set(0, { ...owner, floorMs: endMs! - 5000 });
    await keeper.refresh();
    expect(window.current).toBe(held);
    expect(window.endMs).toBe(endMs);
  });

  it('cannot make a lease endless, since nobody looked who else has the number', async () => {
    const world = new World();
    const { keeper, parts } = process(world, SHORT);
    await keeper.start();
    const { endMs } = keeper;
    const { workerId, floorMs } = {
      workerId: keeper.workerId!,
      floorMs: keeper.lease!.asked.haveMs,
    };
    parts.support.refreshAlive = async () => ({
      status: 'ok',
      workerId,
      floorMs,
      ceilingMs: Infinity,
    });
    await keeper.refresh();
    expect(keeper.state).toBe('stretched');
    expect(keeper.endMs).toBe(endMs);
  });
});

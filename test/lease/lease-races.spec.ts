/**
 * The keeper where two things happen at once: an end during a switch, refused ids during an outage.
 */
import { describe, expect, it } from '@jest/globals';
import type { SnowflakeError } from '../../lib/errors.js';
import { World, process } from './world.js';

describe('the keeper', () => {
  it('gives both worker ids back when the application closes during a switch', async () => {
    const world = new World();
    const { keeper, generator, seat } = process(world);
    await keeper.start();
    await world.time.advance(40_000);
    generator.nextId();
    world.time.wallMs -= 30_000;
    world.isSlow = true;
    const refreshing = keeper.refresh();
    // The renewal is answered, then the acquire of the other worker id hangs.
    await world.time.advance(0);
    world.deliver();
    await world.time.advance(0);
    expect(world.calls.at(-1)).toBe('acquire');
    const stopping = keeper.stop();
    world.isSlow = false;
    world.deliver();
    await Promise.all([refreshing, stopping]);
    expect(seat.current).toBeUndefined();
    expect(() => generator.nextId()).toThrow(/given back at shutdown/);
    const { held } = { held: [...world.registry.state!.owners.keys()] };
    expect(held).toEqual([]);
  });

  it('seats nothing that is answered in the turn in which the application closes', async () => {
    const world = new World();
    const { keeper, generator, seat } = process(world);
    await keeper.start();
    await world.time.advance(40_000);
    generator.nextId();
    world.time.wallMs -= 30_000;
    world.isSlow = true;
    const refreshing = keeper.refresh();
    await world.time.advance(0);
    world.deliver();
    await world.time.advance(0);
    expect(world.calls.at(-1)).toBe('acquire');
    world.isSlow = false;
    // Both the answer and the end are there before the keeper goes on.
    world.deliver();
    await Promise.all([keeper.stop(), refreshing]);
    expect(seat.current).toBeUndefined();
    expect(() => generator.nextId()).toThrow(/given back at shutdown/);
    expect([...world.registry.state!.owners.keys()]).toEqual([]);
  });

  it('gets ids back within a second, however many are refused meanwhile', async () => {
    const world = new World();
    const { keeper, generator } = process(world);
    await keeper.start();
    generator.nextId();
    world.isDown = true;
    world.time.wallMs += 120_000;
    // Ids are spent by the sequence until there are none, and asked for every 5 ms from then on.
    const isRefused = () => {
      try {
        generator.nextIds(4096);
        return false;
      } catch (error) {
        return (error as SnowflakeError).code === 'LEASE_LOST';
      }
    };
    for (let n = 0; n < 20_000 && !isRefused(); n++);
    for (let n = 0; n < 100; n++) {
      expect(isRefused()).toBe(true);
      await world.time.advance(5);
    }
    world.isDown = false;
    let waitedMs = 0;
    for (; isRefused() && waitedMs < 10_000; waitedMs += 5) await world.time.advance(5);
    expect(waitedMs).toBeLessThan(2500);
    await keeper.stop();
  });
});

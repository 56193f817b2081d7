/**
 * The keeper where two things happen at once: an end during a switch, refused ids during an outage.
 */
import { describe, expect, it } from '@jest/globals';
import type { SnowflakeError } from '../../lib/errors.js';
import { World, process } from './world.js';

describe('the keeper', () => {
  it.each([
    ['before the other worker id is answered', ['end', 'answer']],
    ['in the turn in which it is answered', ['answer', 'end']],
  ])('gives both worker ids back when it closes during a switch, %s', async (_case, order) => {
    const world = new World();
    const { keeper, generator, window } = process(world);
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
    world.isSlow = false;
    let stopping: Promise<void> | undefined;
    for (const event of order) {
      if (event === 'answer') world.deliver();
      else stopping = keeper.stop();
    }
    await Promise.all([refreshing, stopping]);
    expect(window.current).toBeUndefined();
    expect(() => generator.nextId()).toThrow(/given back at shutdown/);
    expect([...world.registry.state!.holders.keys()]).toEqual([]);
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

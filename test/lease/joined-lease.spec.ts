/**
 * A lease that threads share, as its keeper and those threads see it.
 */
import { describe, expect, it } from '@jest/globals';
import { WindowWords } from '../../lib/core/window/window-memory.js';
import { joinWindow, shareWindow } from '../../lib/core/window/shared-lease.js';
import { SnowflakeGenerator } from '../../lib/core/generator/snowflake-generator.js';
import { JoinedLease } from '../../lib/lease/shared.support.js';
import type { LeaseOptions } from '../../lib/lease/lease-options.js';
import { World, process } from './world.js';
import { codeOf } from '../code-of.js';

/** A process of two more threads in a world. */
function sharing(given: Partial<LeaseOptions> = {}, storeAheadMs = 0) {
  const world = new World({ storeAheadMs });
  const owner = process(world, given, 0, WindowWords.shared());
  const shared = shareWindow(owner.window, { aheadMsMax: 1000, sequenceStart: 'zero' })!;
  const thread = () => {
    const window = joinWindow(shared);
    const clock = window.anchored(world.time);
    const lease = new JoinedLease({ window, clock, timers: world.time, startTimeoutMs: 1000 });
    return { window, lease, generator: new SnowflakeGenerator(window, { clock }) };
  };
  return { world, owner, threads: [thread(), thread()] as const };
}

describe('a thread that shares a lease', () => {
  it('starts when there is one, and says so where none comes', async () => {
    const { world, owner, threads } = sharing();
    const [one, other] = threads;
    const failing = one.lease.start().catch((error: unknown) => error);
    await world.time.advance(1000);
    expect(await failing).toMatchObject({ code: 'NOT_READY' });
    const starting = other.lease.start();
    await owner.keeper.start();
    await world.time.advance(20);
    await starting;
    expect(other.lease.workerId).toBe(owner.keeper.workerId);
    expect(other.lease.endMs).toBe(owner.keeper.endMs);
    await owner.keeper.stop();
  });

  it('shows the state of the lease, and follows the clock its keeper follows', async () => {
    const { world, owner, threads } = sharing({}, 3_600_000);
    await owner.keeper.start();
    const [{ lease, generator }] = threads;
    expect(lease).toMatchObject({ state: 'active', clockSkewMs: 3_600_000 });
    const { timestampMs } = generator.layout.parse(generator.nextId());
    expect(timestampMs).toBe(world.time.now() + 3_600_000);
    world.isDown = true;
    await owner.keeper.refresh();
    expect(lease.state).toBe('degraded');
    await owner.keeper.stop();
  });

  it('repeats no id when a lease is taken up again after a clock that was far off', async () => {
    const { world, owner, threads } = sharing({ onClockSkew: 'reject' });
    await owner.keeper.start();
    const [one, other] = threads;
    // Half a second ahead of the clock, where the other thread has not been.
    const ids = one.generator.nextIds(2_000_000);
    world.time.wallMs += 10_000;
    world.storeAheadMs = -10_000;
    await owner.keeper.refresh();
    expect(codeOf(() => other.generator.nextId())).toBe('NOT_READY');
    world.time.wallMs -= 10_000;
    world.storeAheadMs = 0;
    await owner.keeper.refresh();
    const more = other.generator.nextIds(5000);
    expect(more[0]! > ids.at(-1)!).toBe(true);
    await owner.keeper.stop();
    // Given back behind the last of them, although it was made in another thread.
    const lastMs = one.window.layout.parse(more.at(-1)!).timestampMs;
    expect(world.released).toEqual([lastMs]);
  });

  it('ends for itself alone, or with its keeper', async () => {
    const { owner, threads } = sharing();
    await owner.keeper.start();
    const [one, other] = threads;
    await one.lease.stop();
    expect(one.lease).toMatchObject({ state: 'released', workerId: undefined });
    expect(() => one.generator.nextId()).toThrow(/given back at shutdown/);
    expect(other.generator.nextId()).toBeGreaterThan(0n);
    await owner.keeper.stop();
    expect(() => other.generator.nextId()).toThrow(/given back/);
    expect(other.lease.state).toBe('released');
  });

  it('says that it is over when the thread that held the lease ended without a word', async () => {
    const { world, owner, threads } = sharing();
    await owner.keeper.start();
    const [{ lease }] = threads;
    world.time.wallMs += 120_000;
    expect(lease.state).toBe('exhausted');
    await owner.keeper.stop();
    await expect(threads[1].lease.start()).rejects.toMatchObject({ retryable: false });
  });
});

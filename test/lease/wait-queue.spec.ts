/**
 * Calls that wait for an ID. Their cost is counted in checks and timers, not in time.
 */
import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { SnowflakeGenerator } from '../../lib/core/generator/snowflake-generator.js';
import type { LeaseWindow } from '../../lib/core/window/lease-window.js';
import { joinWindow, shareWindow } from '../../lib/core/window/shared-lease.js';
import { WindowWords } from '../../lib/core/window/window-memory.js';
import { SharedLeaseKeeper } from '../../lib/lease/shared.support.js';
import { type WaitOptions, WaitQueue } from '../../lib/lease/wait-queue.js';
import { turn } from '../../lib/time/timers.js';
import { process as holder, World } from './world.js';

const CROWD = 20_000;

/** Counts the calls of the generator. */
function watched(generator: SnowflakeGenerator) {
  const count = { looks: 0 };
  const nextIdAtOnce = generator.nextIdAtOnce.bind(generator);
  generator.nextIdAtOnce = (fields) => (count.looks++, nextIdAtOnce(fields));
  return count;
}

function lineOn(world: World, window: LeaseWindow, generator: SnowflakeGenerator) {
  const line = new WaitQueue(generator, world.time, window);
  window.onChange = () => line.wake();
  const served: number[] = [];
  let number = 0;
  const wait = async (options: WaitOptions = {}) => {
    const mine = number++;
    const id = await line.next(options);
    served.push(mine);
    return id;
  };
  return { line, wait, served, count: watched(generator) };
}

/** A process with an unavailable store and a used-up range. */
async function outage() {
  const world = new World();
  const it = holder(world, { reserveMs: 0 });
  await it.keeper.start();
  world.isDown = true;
  await world.time.advance(61_000);
  const timerCount = () => world.time.timerCount;
  return { world, ...it, ...lineOn(world, it.window, it.generator), timerCount };
}

const outcomes = (waiting: Promise<bigint>[]) => Promise.allSettled(waiting);

describe('many callers that wait for the store', () => {
  it('use one timer and ten checks a second, and are served in order', async () => {
    const { world, keeper, wait, count, served, timerCount } = await outage();
    const before = timerCount();
    const waiting = Array.from({ length: CROWD }, () => wait());
    await turn();
    // The timer of the queue, and that of the keeper, which must renew soon.
    expect(timerCount() - before).toBeLessThanOrEqual(2);
    count.looks = 0;
    await world.time.advance(10_000);
    expect(count.looks).toBeLessThan(130);
    world.isDown = false;
    await world.time.advance(5000);
    const ids = await Promise.all(waiting);
    expect(new Set(ids).size).toBe(CROWD);
    expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(served).toEqual([...served.keys()]);
    await keeper.stop();
    expect(timerCount()).toBe(0);
  });

  it('wake by the lease window, not by a timer', async () => {
    const { world, keeper, wait } = await outage();
    const waiting = wait();
    await world.time.advance(500);
    world.isDown = false;
    const { passedMs } = world.time;
    await keeper.refresh();
    await waiting;
    expect(world.time.passedMs).toBe(passedMs);
    await keeper.stop();
  });

  it('yield to the event loop after the IDs of one tick', async () => {
    const { world, keeper, wait, served } = await outage();
    const waiting = Array.from({ length: CROWD }, () => wait());
    await turn();
    world.isDown = false;
    await keeper.refresh();
    await turn();
    expect(served.length).toBeGreaterThan(0);
    expect(served.length).toBeLessThanOrEqual(4096);
    await world.time.advance(10);
    await Promise.all(waiting);
    await keeper.stop();
  });

  it('do not overtake: a new caller joins at the end', async () => {
    const { world, keeper, wait, served } = await outage();
    const waiting = [wait(), wait()];
    world.isDown = false;
    await turn();
    waiting.push(wait());
    await keeper.refresh();
    waiting.push(wait());
    await world.time.advance(10);
    await Promise.all(waiting);
    expect(served).toEqual([0, 1, 2, 3]);
    await keeper.stop();
  });

  it('are all refused at the shutdown, and leave no timer', async () => {
    const { keeper, wait, count, timerCount } = await outage();
    const waiting = Array.from({ length: 500 }, () => wait());
    await turn();
    count.looks = 0;
    await keeper.stop();
    for (const outcome of await outcomes(waiting)) {
      expect(outcome).toMatchObject({ reason: { code: 'NOT_READY', retryable: false } });
    }
    expect(count.looks).toBe(1);
    expect(timerCount()).toBe(0);
  });
});

describe('a caller that gives up', () => {
  it('shares one listener per signal, and leaves when the signal is aborted', async () => {
    const { wait, keeper, timerCount } = await outage();
    const controller = new AbortController();
    const before = timerCount();
    const waiting = Array.from({ length: CROWD }, () => wait({ signal: controller.signal }));
    await turn();
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort(new Error('enough'));
    const reasons = new Set(
      (await outcomes(waiting)).map((o) => (o as PromiseRejectedResult).reason),
    );
    expect([...reasons]).toEqual([new Error('enough')]);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    expect(timerCount() - before).toBeLessThanOrEqual(1);
    await expect(wait({ signal: controller.signal })).rejects.toThrow('enough');
    await keeper.stop();
  });

  it('leaves without moving the others', async () => {
    const { world, wait, keeper, served } = await outage();
    const controllers = Array.from({ length: 50 }, () => new AbortController());
    const settled = outcomes(controllers.map(({ signal }) => wait({ signal })));
    await turn();
    controllers.forEach((controller, at) => at % 3 === 0 && controller.abort());
    world.isDown = false;
    await world.time.advance(5000);
    const made = (await settled).map(({ status }) => status === 'fulfilled');
    expect(made).toEqual(controllers.map((_, at) => at % 3 !== 0));
    expect(served).toEqual([...controllers.keys()].filter((at) => at % 3 !== 0));
    const left = controllers.map(({ signal }) => getEventListeners(signal, 'abort').length);
    expect(new Set(left)).toEqual(new Set([0]));
    await keeper.stop();
  });

  it("is not refused for another caller's fields", async () => {
    const { world, wait, keeper } = await outage();
    const settled = outcomes([wait(), wait({ fields: { wrong: 1 } }), wait()]);
    world.isDown = false;
    await world.time.advance(5000);
    expect(await settled).toMatchObject([
      { status: 'fulfilled' },
      { reason: { code: 'ARGUMENT_INVALID' } },
      { status: 'fulfilled' },
    ]);
    await keeper.stop();
  });
});

describe('callers in a thread that shares a lease', () => {
  async function thread() {
    const world = new World();
    const owner = holder(world, { reserveMs: 0 }, 0, WindowWords.shared());
    const shared = shareWindow(owner.window, { aheadMsMax: 1000, sequenceStart: 'zero' })!;
    const window = joinWindow(shared);
    const clock = window.anchored(world.time);
    const lease = new SharedLeaseKeeper({
      window,
      idClock: clock,
      timers: world.time,
      options: { startTimeoutMs: 1000 },
      onNews: () => undefined,
    });
    const generator = new SnowflakeGenerator(window, { clock });
    return { world, owner, lease, ...lineOn(world, window, generator) };
  }

  it('wake when the other thread receives a grant', async () => {
    const { owner, wait, count } = await thread();
    const waiting = Array.from({ length: 100 }, () => wait());
    await turn();
    expect(count.looks).toBe(1);
    await owner.keeper.start();
    // No timer moves here: the shared memory has the result.
    expect(new Set(await Promise.all(waiting)).size).toBe(100);
    await owner.keeper.stop();
  });

  it('are refused when the lease is released or their application closes', async () => {
    for (const end of ['owner', 'thread'] as const) {
      const { owner, lease, wait } = await thread();
      const waiting = [wait(), wait()];
      await turn();
      await (end === 'owner' ? owner.keeper : lease).stop();
      for (const outcome of await outcomes(waiting)) {
        expect(outcome).toMatchObject({ reason: { code: 'NOT_READY', retryable: false } });
      }
      await owner.keeper.stop();
    }
  });
});

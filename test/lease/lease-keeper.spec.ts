import { afterEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { startSnowflake } from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import type { SnowflakeError } from '../../lib/errors.js';
import { codeOf } from '../until.js';
import { process, World } from './world.js';

// The start with a worker ID whose earlier IDs are unknown. It waits for the clock, but no longer
// than a start may, however the clock moves.

afterEach(() => Logger.overrideLogger(true));

const AHEAD_MS = 1000;
const LIMIT_MS = 3000;

/** The result of a start, and its log lines. */
function started(time: SettableTime, clock = { now: () => time.now() }) {
  const said: string[] = [];
  const note = (text: string) => void said.push(text);
  Logger.overrideLogger({ log: note, warn: note, error: note });
  const starting = startSnowflake({
    support: 'static:7',
    aheadMsMax: AHEAD_MS,
    startTimeoutMs: LIMIT_MS,
    clock,
    timers: time,
  });
  let outcome: unknown;
  const heard = starting.then(
    async (snowflake) => {
      outcome = 'started';
      return snowflake.close();
    },
    (error: unknown) => (outcome = error),
  );
  return { said, heard, outcome: () => outcome };
}

const behind = (said: readonly string[]) => said.filter((text) => text.includes('set back or'));

describe('a static worker ID', () => {
  it('starts without a log line once the clock has passed all earlier IDs', async () => {
    const time = new SettableTime();
    const { said, heard, outcome } = started(time);
    await time.advance(AHEAD_MS - 1);
    expect(outcome()).toBeUndefined();
    await time.advance(1);
    await heard;
    expect([outcome(), behind(said)]).toEqual(['started', []]);
  });

  it('starts late if the clock was set back by less than a start may take', async () => {
    const time = new SettableTime();
    const { said, heard, outcome } = started(time);
    await time.advance(500);
    time.wallMs -= AHEAD_MS;
    await time.advance(2 * AHEAD_MS);
    await heard;
    expect([outcome(), behind(said)]).toEqual(['started', [expect.any(String)]]);
  });

  it.each([
    ['was set back', (time: SettableTime) => ({ now: () => time.now() })],
    ['stands still', (time: SettableTime) => ({ now: () => time.now() - time.passedMs })],
  ])('gives up in time if the clock %s', async (_what, clockOf) => {
    const time = new SettableTime();
    const { said, heard, outcome } = started(time, clockOf(time));
    await time.advance(1);
    time.wallMs -= 3_600_000;
    await time.advance(LIMIT_MS + 100);
    await heard;
    expect(outcome()).toMatchObject({ code: 'CLOCK_UNUSABLE', retryable: true });
    expect(behind(said)).toHaveLength(1);
  });
});

describe('the keeper', () => {
  it('refuses IDs before the start and after the shutdown', async () => {
    const world = new World();
    const { keeper, generator } = process(world);
    expect(codeOf(() => generator.nextId())).toBe('NOT_READY');
    await keeper.start();
    expect(generator.nextId()).toBeGreaterThan(0n);
    await keeper.stop();
    expect(codeOf(() => generator.nextId())).toBe('NOT_READY');
    expect(world.time.timerCount).toBe(0);
  });

  it('renews early even if no caller waited for its start', async () => {
    const world = new World();
    const { keeper, generator } = process(world);
    await keeper.refresh();
    // In a range without a start, every ID is in the second half.
    generator.nextId();
    await world.time.advance(100);
    expect(world.calls).toEqual(['acquire', 'renew']);
  });

  it('releases the worker ID with the time of the last ID, so that it is free at once', async () => {
    const world = new World();
    const first = process(world);
    await first.keeper.start();
    await world.time.advance(1000);
    const last = first.window.layout.parse(first.generator.nextId());
    await first.keeper.stop();
    expect(world.released).toEqual([last.timestampMs]);
    expect(world.registry.state!.ceilings.get(0)).toBe(last.timestampMs + 1);
  });

  it('releases an unused worker ID without a time', async () => {
    const world = new World();
    const { keeper } = process(world);
    await keeper.start();
    await keeper.stop();
    expect(world.released).toEqual([undefined]);
  });

  it('survives an outage: degraded, stretched, exhausted, and back', async () => {
    const world = new World();
    const { keeper, generator, states } = process(world, { reserveMs: 2 });
    await keeper.start();
    world.isDown = true;
    await keeper.refresh();
    expect(keeper.state).toBe('degraded');
    await world.time.advance(61_000);
    expect(keeper.state).toBe('stretched');
    const ids = new Set(generator.nextIds(4096 * 2));
    expect(ids.size).toBe(4096 * 2);
    expect(codeOf(() => generator.nextId())).toBe('LEASE_LOST');
    expect(keeper.state).toBe('exhausted');
    world.isDown = false;
    await world.time.advance(3000);
    expect(keeper.state).toBe('active');
    expect(ids.has(generator.nextId())).toBe(false);
    expect(states()).toEqual(['active', 'degraded', 'stretched', 'exhausted', 'active']);
  });

  it('keeps its range when it is fenced, and leases another worker ID after it', async () => {
    const world = new World();
    const { keeper, generator, window, states } = process(world);
    await keeper.start();
    const before = window.layout.parse(generator.nextId());
    const owner = world.registry.state!.holders.get(0)!;
    world.registry.state!.holders.set(0, {
      ...owner,
      token: 'somebody else',
      floorMs: world.registry.state!.ceilings.get(0)!,
    });
    await keeper.refresh();
    expect(states()).toEqual(['active', 'fenced', 'switching']);
    expect(window.layout.parse(generator.nextId()).workerId).toBe(before.workerId);
    await world.time.advance(60_000);
    const after = window.layout.parse(generator.nextId());
    expect(after.workerId).not.toBe(before.workerId);
    expect(keeper.state).toBe('active');
  });

  it('drops its lease at once when another process has a copy', async () => {
    const world = new World();
    const { keeper, generator, window, states, changes } = process(world);
    await keeper.start();
    const last = generator.nextId();
    world.isSlow = true;
    const owner = world.registry.state!.holders.get(0)!;
    world.registry.state!.holders.set(0, { ...owner, nonce: 'of the copy' });
    const refreshing = keeper.refresh();
    world.deliver();
    await world.time.advance(0);
    expect(codeOf(() => generator.nextId())).toBe('LEASE_LOST');
    world.isSlow = false;
    world.deliver();
    await refreshing;
    expect(states()).toEqual(['active', 'unassigned', 'active']);
    const reasons = changes.map(({ reason }) => reason);
    expect(reasons.join()).toContain('or a proxy repeats requests or answers');
    expect(window.layout.parse(generator.nextId()).workerId).not.toBe(0);
    expect(generator.nextId()).toBeGreaterThan(last);
  });

  it('drops its lease at once after a failover, and logs it', async () => {
    const world = new World();
    const { keeper, changes } = process(world);
    await keeper.start();
    const { era } = world.registry.state!;
    Object.assign(world.registry.state!, { era: era + 1, leftEra: era + 1 });
    await keeper.refresh();
    const reason = changes.at(1)?.reason;
    expect(reason).toMatch(/failed back to a server that another one had replaced/);
    expect(reason).not.toMatch(/copy of this process/);
    expect(keeper.lease?.workerId).not.toBe(0);
  });

  it('applies a late answer only to the lease of its request', async () => {
    const world = new World();
    const { keeper, window } = process(world);
    await keeper.start();
    const first = window.current!;
    world.isSlow = true;
    const refreshing = keeper.refresh();
    await world.time.advance(2000);
    await refreshing;
    expect(keeper.state).toBe('degraded');
    world.isSlow = false;
    const ceilingTick = first.ceilingTick;
    // The worker ID passes to a new lease before the answer arrives.
    const owner = world.registry.state!.holders.get(0)!;
    world.registry.state!.holders.set(0, {
      ...owner,
      token: 'somebody else',
      floorMs: world.registry.state!.ceilings.get(0)!,
    });
    await keeper.refresh();
    const second = keeper.lease!.asked;
    world.deliver();
    await world.time.advance(0);
    expect(keeper.lease!.asked).toEqual(second);
    expect(first.ceilingTick).toBe(ceilingTick);
  });

  it('leases one worker ID for any number of concurrent callers', async () => {
    const world = new World();
    const { keeper } = process(world);
    const starting = keeper.start();
    await Promise.all([starting, keeper.refresh()]);
    const { holders, ceilings } = world.registry.state!;
    expect(holders.size).toBe(1);
    holders.set(0, { ...holders.get(0)!, token: 'somebody else', floorMs: ceilings.get(0)! });
    world.isSlow = true;
    // Two renewals get the answer FENCED: the first too late, the second in time.
    const late = keeper.refresh();
    await world.time.advance(2000);
    await late;
    const inTime = keeper.refresh();
    world.deliver();
    await inTime;
    const joining = keeper.refresh();
    world.deliver();
    await joining;
    expect([...holders.keys()]).toEqual([0, 1]);
  });

  it('uses the time that a late answer grants to its own lease', async () => {
    const world = new World();
    const { keeper, window } = process(world);
    await keeper.start();
    await world.time.advance(5000);
    world.isSlow = true;
    const refreshing = keeper.refresh();
    await world.time.advance(2000);
    await refreshing;
    const before = window.current!.ceilingTick;
    world.deliver();
    await world.time.advance(0);
    expect(window.current!.ceilingTick).toBe(before + 5000);
    expect(keeper.state).toBe('active');
  });

  it('after a change of servers ends its range and continues after the quarantine', async () => {
    const world = new World();
    const { keeper, generator, window } = process(world);
    await keeper.start();
    const ceilingTick = window.current!.ceilingTick;
    world.server = 'two';
    await keeper.refresh();
    expect(keeper.state).toBe('active');
    await world.time.advance(100);
    expect(keeper.state).toBe('active');
    expect(window.current!.ceilingTick).toBe(ceilingTick);
    await world.time.advance(59_900);
    const tick = window.layout.parse(generator.nextId()).fields['timestamp']!;
    expect(tick).toBeGreaterThanOrEqual(ceilingTick);
  });

  it('serves at once from a fresh registry, ahead of the clock by at most one ttl', async () => {
    const world = new World({ isAbsent: true });
    const { keeper, generator, window } = process(world, { onFreshRegistry: 'runAhead' });
    const starting = keeper.start();
    await world.time.advance(200);
    await starting;
    const aheadMs = window.layout.parse(generator.nextId()).timestampMs - world.time.now();
    expect(aheadMs).toBeGreaterThan(0);
    expect(aheadMs).toBeLessThanOrEqual(60_000);
  });

  it("with 'wait' starts when the times are exact", async () => {
    const world = new World({ isAbsent: true });
    const { keeper, generator, window } = process(world, {
      onFreshRegistry: 'wait',
      startTimeoutMs: 90_000,
    });
    const startedMs = world.time.now();
    const starting = keeper.start();
    await world.time.advance(64_000);
    await starting;
    expect(world.time.now() - startedMs).toBeGreaterThanOrEqual(60_000);
    expect(window.layout.parse(generator.nextId()).timestampMs).toBe(world.time.now());
  });

  it('while it waits, calls the store as often as a holder renews', async () => {
    const world = new World({ isAbsent: true });
    const terms = { onFreshRegistry: 'wait', startTimeoutMs: 90_000 } as const;
    const { keeper } = process(world, { ...terms, refreshAliveIntervalMs: 1000 });
    void keeper.start().catch(() => undefined);
    await world.time.advance(10_500);
    expect(world.calls).toEqual(Array(11).fill('acquire'));
    await keeper.stop();
  });

  it('logs once why it waits, then fails with the reason', async () => {
    const world = new World();
    world.isDown = true;
    const { keeper, news } = process(world, { startTimeoutMs: 10_000 });
    const starting = keeper.start().catch((error: SnowflakeError) => error);
    await world.time.advance(15_000);
    const error = (await starting) as SnowflakeError;
    expect(error.code).toBe('STORE_UNAVAILABLE');
    expect(error.message).toMatch(/within 10000 ms.*ECONNREFUSED/);
    expect(news).toHaveLength(1);
  });

  it('calls once if it may take no time', async () => {
    const world = new World();
    world.isDown = true;
    const { keeper } = process(world, { startTimeoutMs: 0 });
    const starting = keeper.start().catch((error: SnowflakeError) => error);
    await world.time.advance(15_000);
    expect(await starting).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(world.calls).toHaveLength(1);
  });

  it('reports until when all worker IDs are taken, and leases one that is released', async () => {
    const world = new World();
    const holders = [0, 1, 2, 3].map(() => process(world));
    for (const { keeper } of holders) await keeper.start();
    const failing = process(world, { onNoWorkerFree: 'fail' });
    await expect(failing.keeper.start()).rejects.toMatchObject({
      code: 'NO_WORKER_FREE',
      details: { waitMs: 60_000 },
    });
    const waiting = process(world);
    const starting = waiting.keeper.start();
    await world.time.advance(3000);
    await holders[2]!.keeper.stop();
    await world.time.advance(3000);
    await starting;
    expect(waiting.keeper.lease?.workerId).toBe(2);
  });

  it("follows the store's clock when the host's is far off", async () => {
    const world = new World({ storeAheadMs: 3_600_000 });
    const { keeper, generator, window, news } = process(world);
    await keeper.start();
    const { timestampMs } = window.layout.parse(generator.nextId());
    expect(timestampMs).toBe(world.time.now() + 3_600_000);
    expect(news.join()).toContain('3600000 ms behind');
  });

  it("with 'reject' issues no ID while the clock is far off", async () => {
    const world = new World({ storeAheadMs: 3_600_000 });
    const failing = process(world, { onClockSkew: 'reject' });
    await expect(failing.keeper.start()).rejects.toMatchObject({ code: 'CLOCK_UNUSABLE' });
    world.storeAheadMs = 0;
    await world.time.advance(7_200_000);
    const { keeper, generator } = process(world, { onClockSkew: 'reject' });
    await keeper.start();
    generator.nextId();
    world.time.wallMs += 10_000;
    world.storeAheadMs = -10_000;
    await keeper.refresh();
    expect(codeOf(() => generator.nextId())).toBe('CLOCK_UNUSABLE');
    world.time.wallMs -= 10_000;
    world.storeAheadMs = 0;
    await keeper.refresh();
    expect(codeOf(() => generator.nextId())).toBe('none');
  });

  it('moves to another worker ID when host and store were set back by the same amount', async () => {
    const world = new World();
    const { keeper, generator, window, news } = process(world);
    await keeper.start();
    await world.time.advance(40_000);
    const before = window.layout.parse(generator.nextId());
    // The registry's last call was 40 s ago, so a clock 30 s back is still ahead of it.
    world.time.wallMs -= 30_000;
    await keeper.refresh();
    const after = window.layout.parse(generator.nextId());
    expect(after.workerId).not.toBe(before.workerId);
    expect(after.timestampMs).toBe(world.time.now());
    expect(news.join()).toContain('the clock was set back');
    expect(world.registry.state!.ceilings.get(before.workerId)).toBe(before.timestampMs + 1);
  });

  it.each(['anchor', 'reject'] as const)(
    "keeps its worker ID if only the store's clock was set back: %s",
    async (onClockSkew) => {
      const world = new World();
      const { keeper, generator, window, news } = process(world, { onClockSkew });
      await keeper.start();
      await world.time.advance(40_000);
      await keeper.refresh();
      const before = generator.nextId();
      world.storeAheadMs -= 30_000;
      await keeper.refresh();
      const after = generator.nextId();
      expect(after).toBeGreaterThan(before);
      expect(window.layout.parse(after).workerId).toBe(window.layout.parse(before).workerId);
      expect(news.join()).toContain('The registry is 30000 ms ahead of its store');
    },
  );

  it('leases again after a fork', async () => {
    const world = new World();
    const { keeper, states } = process(world);
    await keeper.start();
    Object.defineProperty(keeper.lease, 'pid', { value: -1 });
    await keeper.refresh();
    expect(states()).toEqual(['active', 'unassigned', 'active']);
    expect(keeper.lease?.workerId).toBe(1);
  });

  it('releases a worker ID that arrives while it stops', async () => {
    const world = new World();
    world.isSlow = true;
    const { keeper } = process(world);
    const starting = keeper.start();
    await world.time.advance(0);
    const stopping = keeper.stop();
    world.isSlow = false;
    world.deliver();
    await starting;
    await stopping;
    await world.time.advance(0);
    expect(world.calls).toEqual(['acquire', 'release']);
    expect(world.registry.state!.holders.size).toBe(0);
  });
});

/*
 * The keeper during concurrent events: an end during a switch, refused IDs during an outage.
 */
describe('the keeper', () => {
  it.each([
    ['before the answer of the other worker ID', ['end', 'answer']],
    ['in the same turn as the answer', ['answer', 'end']],
  ])('releases both worker IDs when it closes during a switch, %s', async (_case, order) => {
    const world = new World();
    const { keeper, generator, window } = process(world);
    await keeper.start();
    await world.time.advance(40_000);
    generator.nextId();
    world.time.wallMs -= 30_000;
    world.isSlow = true;
    const refreshing = keeper.refresh();
    // The renewal gets an answer, then the acquire of the other worker ID hangs.
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

  it('has IDs again within a second, however many calls fail in between', async () => {
    const world = new World();
    const { keeper, generator } = process(world);
    await keeper.start();
    generator.nextId();
    world.isDown = true;
    world.time.wallMs += 120_000;
    // The calls use up the sequence, and then try again every 5 ms.
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

/**
 * The status while renewals fail, with other events; errors of a support; and the choice between
 * clocks if one of them is wrong.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { LeaseAnswer } from '../../lib/lease/distributed-support.js';
import { runs } from '../until.js';
import { process as holder, World } from './world.js';

const SECOND = 1000;

const EVENTS = ['down', 'up', 'renew', 'ids', 'fence', 'wait', 'some', 'long', 'server'] as const;
type Event = (typeof EVENTS)[number];

/** The registry gives a holder's worker ID to another process. */
function fence(world: World): void {
  const { holders, ceilings } = world.registry.state!;
  for (const [workerId, owner] of holders) {
    const floorMs = ceilings.get(workerId)!;
    holders.set(workerId, { ...owner, token: 'another', floorMs });
  }
}

describe('while renewals fail', () => {
  it('an idle process that lost its registry and then Redis does not stay active', async () => {
    const world = new World();
    const { keeper, generator } = holder(world);
    await keeper.start();
    generator.nextId();
    fence(world);
    await keeper.refresh();
    expect(keeper.state).toBe('switching');
    world.isDown = true;
    await keeper.refresh();
    expect(keeper.state).toBe('degraded');
    // It enters the range after the old one, and no answer has arrived since.
    await world.time.advance(60 * SECOND);
    generator.nextId();
    expect(keeper.workerId).toBe(1);
    expect(keeper.state).toBe('stretched');
    world.isDown = false;
    await world.time.advance(5 * SECOND);
    expect(keeper.state).toBe('active');
    await keeper.stop();
  });

  it('a fenced process without another worker ID reports when only the reserve is left', async () => {
    const world = new World();
    const { keeper, generator, states } = holder(world);
    await keeper.start();
    generator.nextId();
    fence(world);
    world.isSlow = true;
    const refreshing = keeper.refresh();
    await world.time.advance(0);
    world.isDown = true;
    world.isSlow = false;
    world.deliver();
    await world.time.advance(62 * SECOND);
    expect(keeper.state).toBe('stretched');
    world.isDown = false;
    await world.time.advance(5 * SECOND);
    await refreshing;
    expect(states()).toEqual(['active', 'fenced', 'stretched', 'switching']);
    await keeper.stop();
  });

  it('no process reports active, whatever happens in between', async () => {
    const event = fc.constantFrom(...EVENTS);
    const beginning = fc.constantFrom<Event[]>([], ['some', 'fence', 'renew', 'down', 'renew']);
    const property = fc.asyncProperty(
      beginning,
      fc.array(event, { maxLength: 30 }),
      async (begun, more) => {
        const world = new World();
        const { keeper, generator } = holder(world, { reserveMs: 2 });
        await keeper.start();
        const acts: Record<Event, () => unknown> = {
          down: () => (world.isDown = true),
          up: () => (world.isDown = false),
          renew: () => void keeper.refresh(),
          ids: () => {
            try {
              generator.nextIds(5000);
            } catch {
              // A refusal is not part of this test.
            }
          },
          fence: () => fence(world),
          wait: () => world.time.advance(SECOND),
          some: () => world.time.advance(40 * SECOND),
          long: () => world.time.advance(70 * SECOND),
          server: () => (world.server += '*'),
        };
        for (const name of [...begun, ...more]) {
          await acts[name]();
          await world.time.advance(0);
          const { isFailing } = keeper.renewals;
          expect([name, keeper.state, isFailing]).not.toEqual([name, 'active', true]);
        }
        await keeper.stop();
      },
    );
    await fc.assert(property, { numRuns: runs(60) });
  });
});

describe('a faulty support', () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  beforeEach(() => void process.on('unhandledRejection', note));
  afterEach(() => void process.off('unhandledRejection', note));

  const turns = async () => {
    for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve));
  };

  /** Answers incorrectly from now on. */
  function wrong(answer: () => unknown) {
    const world = new World();
    const it = holder(world, { startTimeoutMs: 3 * SECOND });
    const break_ = (method: 'getNextWorkId' | 'refreshAlive') => {
      world[method] = answer as () => Promise<LeaseAnswer>;
    };
    return { world, ...it, break: break_ };
  }

  const WRONG: [string, () => unknown][] = [
    [
      'throws at once',
      () => {
        throw new TypeError('at once');
      },
    ],
    [
      'throws a string',
      () => {
        throw 'a text';
      },
    ],
    ['rejects', () => Promise.reject(new Error('later'))],
    ['answers nothing', () => undefined],
    ['returns a number', () => 7],
    ['returns an empty object', () => ({})],
    ['returns an unknown status', () => ({ status: 'fine' })],
    ['returns no times', () => ({ status: 'ok', workerId: 0 })],
    [
      'answers NaN',
      () => ({ status: 'ok', workerId: Number.NaN, floorMs: 0, ceilingMs: Infinity }),
    ],
    [
      'returns a worker ID of another layout',
      () => ({ status: 'ok', workerId: 9, floorMs: 0, ceilingMs: Infinity }),
    ],
    [
      'returns a string as worker ID',
      () => ({ status: 'ok', workerId: '1', floorMs: 0, ceilingMs: Infinity }),
    ],
    [
      'returns a ceiling that is no number',
      () => ({ status: 'ok', workerId: 0, floorMs: 0, ceilingMs: null }),
    ],
    ['returns a wait that is no number', () => ({ status: 'wait', waitMs: 'soon' })],
    [
      'returns half a mark',
      () => ({ status: 'ok', workerId: 0, floorMs: 0, ceilingMs: 9, mark: {} }),
    ],
  ];

  it.each(WRONG)('%s: the start fails with our error', async (_name, answer) => {
    const { world, keeper, break: breakIt } = wrong(answer);
    breakIt('getNextWorkId');
    const starting = keeper.start().catch((error: unknown) => error);
    await world.time.advance(20 * SECOND);
    expect(await starting).toMatchObject({ name: 'SnowflakeError', code: 'STORE_UNAVAILABLE' });
    await keeper.stop();
    await turns();
    expect(unhandled).toEqual([]);
    expect(world.time.timerCount).toBe(0);
  });

  it.each(WRONG)('%s: a held lease continues', async (_name, answer) => {
    const { world, keeper, generator, break: breakIt } = wrong(answer);
    await keeper.start();
    const { endMs } = keeper;
    breakIt('refreshAlive');
    await keeper.refresh();
    expect([keeper.state, keeper.endMs]).toEqual(['degraded', endMs]);
    expect(generator.nextId()).toBeGreaterThan(0n);
    await keeper.stop();
    await turns();
    expect(unhandled).toEqual([]);
    expect(world.time.timerCount).toBe(0);
  });

  it('a late nonsense answer, and a listener that throws, have no effect', async () => {
    const { world, keeper, generator, parts } = wrong(() => undefined);
    await keeper.start();
    let answer: (answer: unknown) => void = () => undefined;
    world.refreshAlive = () => new Promise((resolve) => (answer = resolve as typeof answer));
    for (const late of [undefined, { status: 'ok', workerId: 'x' }, { status: 'fenced' }]) {
      const refreshing = keeper.refresh();
      await world.time.advance(2 * SECOND);
      await refreshing;
      const listener = () => {
        throw new Error('the logger');
      };
      Object.assign(parts, { onChange: listener, onNews: listener });
      answer(late);
      await turns();
      expect(generator.nextId()).toBeGreaterThan(0n);
    }
    expect(keeper.state).toBe('switching');
    await keeper.stop();
    expect(unhandled).toEqual([]);
  });

  it('mentions a lease only if there is one', async () => {
    const world = new World();
    world.isSlow = true;
    const { keeper, changes } = holder(world, { startTimeoutMs: 3 * SECOND });
    const starting = keeper.start().catch((error: unknown) => error);
    await world.time.advance(20 * SECOND);
    const { message } = (await starting) as Error;
    expect(message).toMatch(/did not answer within 2000 ms\. The call is repeated\./);
    expect(message).not.toMatch(/range|lasts/);
    world.isSlow = false;
    const other = holder(world);
    await other.keeper.start();
    world.isSlow = true;
    const refreshing = other.keeper.refresh();
    await world.time.advance(2 * SECOND);
    await refreshing;
    expect(other.changes.at(-1)!.reason).toMatch(
      /The range already leased lasts; the call is repeat/,
    );
    expect(changes).toEqual([]);
    await Promise.all([keeper.stop(), other.keeper.stop(), world.time.advance(10 * SECOND)]);
  });

  it('logs a clock offset once, however the figure varies', async () => {
    const world = new World({ storeAheadMs: 3_600_000 });
    const { keeper, news } = holder(world);
    await keeper.start();
    for (let n = 0; n < 20; n++) {
      world.storeAheadMs += n % 2 === 0 ? 3 : -1;
      await keeper.refresh();
    }
    expect(news.filter((line) => line.includes('clock of this host'))).toHaveLength(1);
    // An operator corrects the host's clock, and it goes wrong again.
    world.time.wallMs += world.storeAheadMs;
    world.storeAheadMs = 0;
    await keeper.refresh();
    world.time.wallMs -= 3_600_000;
    world.storeAheadMs = 3_600_000;
    await keeper.refresh();
    const said = news.filter((line) => line.includes('clock of this host'));
    expect(said).toHaveLength(2);
    expect(said[0]).toContain('Set whichever is wrong (NTP).');
    expect(said[1]).toContain('It was set back by 3600000 ms.');
    await keeper.stop();
  });
});

/*
 * Overlapping ranges, which a registry grants only after a loss of data without the longest lease.
 * A process leaves such a range as soon as it detects this.
 */
const LONG = { ttlMs: 60_000 };
const SHORT = { ttlMs: 10_000 };

/** Only one worker ID is available. */
function alone<T extends { parts: object }>(one: T): T {
  Object.assign(one.parts, { workerIds: { min: 0, max: 0 } });
  return one;
}

describe('a holder of a long lease whose registry lost its data', () => {
  it('leaves its range as soon as another one was granted inside it', async () => {
    const world = new World();
    const old = holder(world, LONG);
    await old.keeper.start();
    const made = [old.generator.nextId()];
    // In a range without a start, its first ID is in the second half, so it renews.
    await world.time.advance(100);
    world.registry.state = undefined;
    const other = holder(world, SHORT);
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
    expect(old.changes[1]!.reason).toMatch(/inside the range held here. The registry lost data/);
    for (let n = 0; n < 1000; n++) {
      await world.time.advance(1);
      made.push(old.generator.nextId(), other.generator.nextId());
    }
    expect(old.window.current!.workerId).not.toBe(other.window.current!.workerId);
    expect(new Set(made).size).toBe(made.length);
  });

  it('keeps its range if the next one begins at its end', async () => {
    const world = new World();
    const old = alone(holder(world, SHORT));
    await old.keeper.start();
    const { endMs } = old.keeper;
    world.time.wallMs += 10_000;
    const other = alone(holder(world, SHORT));
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
  it('is ignored if its range begins inside the held one', async () => {
    const world = new World();
    const { keeper, window } = holder(world, SHORT);
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

  it('cannot make a lease endless, since no other holder was checked', async () => {
    const world = new World();
    const { keeper, parts } = holder(world, SHORT);
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

describe('a process with the correct time', () => {
  it("follows its host's clock while only the registry is ahead", async () => {
    const world = new World();
    const { keeper, generator, window, news } = holder(world, { onClockSkew: 'reject' });
    await keeper.start();
    generator.nextId();
    // A host with the same wrong clock as the store confirms that clock. Then both are corrected.
    world.storeAheadMs = 110_000;
    await holder(world, {}, world.storeAheadMs).keeper.start();
    world.storeAheadMs = 0;
    await keeper.refresh();
    const { timestampMs } = window.layout.parse(generator.nextId());
    expect(timestampMs).toBe(world.time.now());
    expect(news.join()).toContain('The registry is 110000 ms ahead of its store');
    expect(news.join()).not.toContain('clock of this host');
  });

  it("names the store's clock if only that one stepped ahead, and follows the host's", async () => {
    const world = new World();
    const { keeper, generator, window, news } = holder(world, { onClockSkew: 'reject' });
    await keeper.start();
    await world.time.advance(40_000);
    world.storeAheadMs += 3_600_000;
    await keeper.refresh();
    const { timestampMs } = window.layout.parse(generator.nextId());
    expect(timestampMs).toBeLessThanOrEqual(world.time.now());
    expect(news.join()).toMatch(
      /The clock of the store went \d+ ms ahead by itself and is not followed/,
    );
    expect(news.join()).not.toContain('clock of this host');
  });
});

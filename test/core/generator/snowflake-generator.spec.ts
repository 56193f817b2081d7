/**
 * The generator at its edges: one case each, with numbers.
 */
import { describe, expect, it } from '@jest/globals';
import { BitLayout, SnowflakeGenerator, LeaseWindow, layouts } from '../../../lib/core/index.js';
import type { GeneratorOptions } from '../../../lib/core/index.js';
import { codeOf } from '../../code-of.js';

const EPOCH_MS = 1_704_067_200_000;

function world(layout: BitLayout = layouts.snowflake(), options: GeneratorOptions = {}) {
  const clock = { ms: EPOCH_MS + 1000, now: () => clock.ms };
  const window = new LeaseWindow(layout);
  return {
    clock,
    window,
    generator: new SnowflakeGenerator(window, { clock, ...options }),
    layout,
  };
}

const ENDLESS = { workerId: 7, floorMs: -Infinity, ceilingMs: Infinity };

describe('the generator', () => {
  it('makes the ids of Twitter, and stays rising where Twitter throws', () => {
    const layout = layouts.twitter();
    const { clock, window, generator } = world(layout);
    window.grant({ ...ENDLESS, workerId: 0 });
    clock.ms = layout.epochMs + 1;
    expect(generator.nextIds(2)).toEqual([4_194_304n, 4_194_305n]);
    clock.ms = layout.epochMs;
    expect(generator.nextId()).toBe(4_194_306n);
  });

  it('refuses at the ceiling, which is exclusive, and goes on when it rises', () => {
    const { clock, window, generator } = world();
    const range = window.grant({ workerId: 1, floorMs: clock.ms, ceilingMs: clock.ms + 1 });
    expect(generator.nextIds(4096)).toHaveLength(4096);
    expect(codeOf(() => generator.nextId())).toBe('LEASE_LOST');
    clock.ms += 1;
    expect(codeOf(() => generator.nextId())).toBe('LEASE_LOST');
    window.raise(range, clock.ms + 1);
    expect(window.layout.parse(generator.nextId()).timestampMs).toBe(clock.ms);
  });

  it('holds back the reserve of the last range, and spends it by the sequence', () => {
    const layout = layouts.snowflake();
    const clock = { ms: EPOCH_MS + 1000, now: () => clock.ms };
    const window = new LeaseWindow(layout, 10);
    const generator = new SnowflakeGenerator(window, { clock });
    window.grant({ workerId: 1, floorMs: clock.ms, ceilingMs: clock.ms + 100 });
    clock.ms += 5000;
    const ids = generator.nextIds(4096 * 10);
    expect(layout.parse(ids[0]!).timestampMs).toBe(EPOCH_MS + 1090);
    expect(layout.parse(ids.at(-1)!).timestampMs).toBe(EPOCH_MS + 1099);
    expect(codeOf(() => generator.nextId())).toBe('LEASE_LOST');
  });

  it('runs ahead by aheadMsMax, then refuses while the clock stands still', () => {
    const { clock, window, generator, layout } = world(undefined, { aheadMsMax: 3 });
    window.grant(ENDLESS);
    const ids = generator.nextIds(4096 * 4);
    expect(layout.parse(ids.at(-1)!).timestampMs).toBe(clock.ms + 3);
    expect(codeOf(() => generator.nextId())).toBe('SEQUENCE_SPENT');
    clock.ms += 1;
    expect(generator.nextIds(4096)).toHaveLength(4096);
    expect(codeOf(() => generator.nextId())).toBe('SEQUENCE_SPENT');
    expect(generator.waitCount).toBe(2);
  });

  it('with aheadMsMax 0 never leaves the tick of the clock', () => {
    const { clock, window, generator } = world(undefined, { aheadMsMax: 0 });
    window.grant(ENDLESS);
    generator.nextIds(4096);
    expect(codeOf(() => generator.nextId())).toBe('SEQUENCE_SPENT');
    clock.ms += 1;
    expect(generator.nextIds(4096)).toHaveLength(4096);
  });

  it('is refilled by the progress of a clock that was set back an hour', () => {
    const { clock, window, generator } = world(undefined, { aheadMsMax: 2 });
    window.grant(ENDLESS);
    generator.nextIds(4096 * 3);
    clock.ms -= 3_600_000;
    expect(codeOf(() => generator.nextId())).toBe('SEQUENCE_SPENT');
    clock.ms += 2;
    expect(generator.nextIds(4096 * 2)).toHaveLength(8192);
    expect(generator.rollbackCount).toBe(1);
  });

  it('never waits in place for ticks of a second', () => {
    const { window, generator, layout } = world(layouts.baidu(), { aheadMsMax: 1000 });
    let reads = 0;
    const counting = new SnowflakeGenerator(window, {
      clock: { now: () => EPOCH_MS + (++reads, 5000) },
      aheadMsMax: 1000,
    });
    window.grant(ENDLESS);
    expect(generator.nextIds(1)).toHaveLength(1);
    counting.nextIds((layout.sequence.max + 1) * 2);
    reads = 0;
    expect(codeOf(() => counting.nextId())).toBe('SEQUENCE_SPENT');
    expect(reads).toBeLessThan(5);
  });

  it('ends with TIME_EXHAUSTED and makes no negative id', () => {
    const { clock, window, generator, layout } = world();
    window.grant(ENDLESS);
    clock.ms = layout.lastDate.getTime();
    expect(generator.nextIds(4096).at(-1)).toBe(
      layout.compose({
        timestampMs: clock.ms,
        workerId: 7,
        sequence: 4095,
      }),
    );
    expect(codeOf(() => generator.nextId())).toBe('TIME_EXHAUSTED');
    clock.ms += 1;
    expect(codeOf(() => generator.nextId())).toBe('TIME_EXHAUSTED');
  });

  it.each([EPOCH_MS - 1, 0, Number.NaN])('refuses a clock that reads %s', (ms) => {
    const { clock, window, generator } = world();
    window.grant(ENDLESS);
    clock.ms = ms;
    expect(codeOf(() => generator.nextId())).toBe('CLOCK_UNUSABLE');
    clock.ms = EPOCH_MS;
    expect(codeOf(() => generator.nextId())).toBe('none');
  });

  it('enters the next range behind the last id, and another worker id only one tick later', () => {
    const { clock, window, generator, layout } = world();
    window.grant({ workerId: 9, floorMs: clock.ms, ceilingMs: clock.ms + 10 });
    const last = generator.nextId();
    window.grant({ workerId: 2, floorMs: 0, ceilingMs: clock.ms + 1000 });
    clock.ms += 10;
    const next = generator.nextId();
    expect(next).toBeGreaterThan(last);
    expect(layout.parse(next)).toMatchObject({ workerId: 2, timestampMs: clock.ms });
  });

  it('goes back in time only where it was told to', () => {
    const { clock, window, generator, layout } = world(undefined, { aheadMsMax: 1000 });
    window.grant({ workerId: 9, floorMs: 0, ceilingMs: Infinity });
    generator.nextId();
    clock.ms -= 500;
    window.rewindTo({ workerId: 4, floorMs: 0, ceilingMs: Infinity });
    const ids = generator.nextIds(5000);
    expect(layout.parse(ids[0]!)).toMatchObject({ workerId: 4, timestampMs: clock.ms });
    expect(new Set(ids).size).toBe(5000);
  });

  it('fills call fields, and refuses a wrong one without spending an id', () => {
    const layout = new BitLayout({
      epoch: EPOCH_MS,
      fields: [
        ['timestamp', 39],
        ['room', 2],
        ['machine', 7],
        ['business', 4, 'call'],
        ['sequence', 7],
      ],
    });
    const { window, generator } = world(layout);
    window.grant({ ...ENDLESS, workerId: 300 });
    expect(codeOf(() => generator.nextId({ business: 16 }))).toBe('ARGUMENT_INVALID');
    expect(codeOf(() => generator.nextId({ busines: 1 }))).toBe('ARGUMENT_INVALID');
    expect(codeOf(() => generator.nextIds(2, { room: 1 }))).toBe('ARGUMENT_INVALID');
    expect(generator.issuedCount).toBe(0);
    const { fields, workerId, sequence } = layout.parse(generator.nextId({ business: 15 }));
    expect({ workerId, sequence }).toEqual({ workerId: 300, sequence: 0 });
    expect(fields).toMatchObject({ room: 2, machine: 44, business: 15 });
    expect(layout.parse(generator.nextId()).fields).toMatchObject({ business: 0, sequence: 1 });
  });

  it('makes numbers in 53 bits, and says why not in 63', () => {
    const { window, generator } = world(layouts.javascriptSafe());
    window.grant(ENDLESS);
    const id = generator.nextIdNumber();
    expect(Number.isSafeInteger(id)).toBe(true);
    expect(BigInt(id) + 1n).toBe(generator.nextId());
    const wide = world();
    wide.window.grant(ENDLESS);
    expect(codeOf(() => wide.generator.nextIdNumber())).toBe('CONFIG_INVALID');
  });

  it('waits in place for a bounded number of looks at a clock that stands still', () => {
    let reads = 0;
    const clock = { now: () => (reads++, EPOCH_MS + 1000) };
    const { window, generator } = world(undefined, { clock, aheadMsMax: 0 });
    window.grant(ENDLESS);
    generator.nextIds(4096);
    reads = 0;
    expect(codeOf(() => generator.nextId())).toBe('SEQUENCE_SPENT');
    // A tick of 1 ms, at 60 ns for each look; and no look at all where waiting is not wanted.
    expect(reads).toBeGreaterThan(16_000);
    expect(reads).toBeLessThan(17_000);
    reads = 0;
    expect(codeOf(() => generator.nextIdAtOnce())).toBe('SEQUENCE_SPENT');
    expect(reads).toBe(1);
    expect(generator.waitCount).toBe(2);
  });

  it('ends its wait in place as soon as the clock moves, and counts it once', () => {
    let looks = 0;
    const clock = { now: () => EPOCH_MS + 1000 + (looks++ > 100 ? 1 : 0) };
    const { window, generator, layout } = world(undefined, { clock, aheadMsMax: 0 });
    window.grant(ENDLESS);
    generator.nextIds(4096);
    expect(layout.parse(generator.nextId())).toMatchObject({
      timestampMs: EPOCH_MS + 1001,
      sequence: 0,
    });
    expect(looks).toBeLessThan(110);
    expect(generator.waitCount).toBe(1);
  });

  it.each([-1, 1.5, Number.NaN, Infinity, '3'])('refuses a batch of %p', (count) => {
    const { window, generator } = world();
    window.grant(ENDLESS);
    expect(codeOf(() => generator.nextIds(count as number))).toBe('ARGUMENT_INVALID');
    expect(generator.nextIds(0)).toEqual([]);
  });
});

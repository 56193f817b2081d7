/**
 * How far ids run ahead of the clock: behind a clock that was set back, below a floor, without an
 * end, alone and among threads.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  BitLayout,
  SnowflakeGenerator,
  LeaseWindow,
  joinSharedLease,
  layouts,
  type GeneratorOptions,
} from '../../../lib/core/index.js';
import { WindowWords } from '../../../lib/core/window/window-memory.js';
import { shareWindow } from '../../../lib/core/window/shared-lease.js';
import { codeOf } from '../../code-of.js';
import { runs } from '../../runs.js';

const START_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;
const layout = layouts.snowflake();
const ENDLESS = { workerId: 7, floorMs: -Infinity, ceilingMs: Infinity };

/** Goes on by a millisecond with every few looks at it, as a clock does in a busy loop. */
class BusyClock {
  ms = START_MS;
  private looks = 0;

  constructor(public looksPerMs = 3) {}

  now(): number {
    if (++this.looks % this.looksPerMs === 0) this.ms++;
    return this.ms;
  }
}

/** As `nextIds(count)`, by one generator or by several in turn. */
type Taker = (count: number) => bigint[];

function alone(options: GeneratorOptions, words = new WindowWords()) {
  // Threads look for every block, not for every tick.
  const clock = new BusyClock(words.shared ? 100 : 3);
  const window = new LeaseWindow(layout, 0, words);
  const generator = new SnowflakeGenerator(window, { ...options, clock });
  return { clock, window, take: ((count) => generator.nextIds(count)) as Taker };
}

function threads({ aheadMsMax }: GeneratorOptions) {
  const { clock, window } = alone({}, WindowWords.shared());
  const shared = shareWindow(window, { aheadMsMax, sequenceStart: 'zero' })!;
  const makers = [0, 1, 2].map(() => joinSharedLease(shared, clock));
  const take: Taker = (count) => {
    const ids: bigint[] = [];
    for (let n = 0; ids.length < count; n++) {
      ids.push(...makers[n % 3]!.nextIds(Math.min(100, count - ids.length)));
    }
    return ids;
  };
  return { clock, window, take };
}

/** Ids of 100 ms at full speed, and how long that took by the clock. */
function tookFor100Ms({ clock, take }: { clock: BusyClock; take: Taker }): number {
  const beganMs = clock.ms;
  const ids = take(409_600);
  expect(new Set(ids).size).toBe(409_600);
  return clock.ms - beganMs;
}

describe.each([
  ['alone', alone],
  ['among threads', threads],
])('with aheadMsMax 0, %s', (_name, world) => {
  it('a clock that was set back an hour goes on at full speed', () => {
    const it = world({ aheadMsMax: 0 });
    it.window.grant(ENDLESS);
    it.take(4096);
    it.clock.ms -= HOUR_MS;
    expect(tookFor100Ms(it)).toBeLessThan(200);
  });

  it('a floor a minute above the clock costs nothing', () => {
    const it = world({ aheadMsMax: 0 });
    it.window.grant({ workerId: 7, floorMs: START_MS + 60_000, ceilingMs: START_MS + 90_000 });
    expect(tookFor100Ms(it)).toBeLessThan(200);
  });

  it('credit that a floor gave is worth nothing where the clock has come up to it', () => {
    const { clock, window, take } = world({ aheadMsMax: 0 });
    window.grant({ workerId: 7, floorMs: START_MS + 1000, ceilingMs: Infinity });
    take(1);
    clock.looksPerMs = Infinity;
    clock.ms += 1010;
    let last = 0n;
    while (codeOf(() => ([last] = take(1) as [bigint])) === 'none');
    expect(layout.timestampMsOf(last)).toBe(clock.ms);
  });
});

describe('where nobody says how far', () => {
  it('ids run ahead by a second under a lease that ends', () => {
    const { clock, window, take } = alone({});
    clock.looksPerMs = Infinity;
    window.grant({ workerId: 7, floorMs: START_MS, ceilingMs: START_MS + 60_000 });
    expect(layout.timestampMsOf(take(4096 * 1001).at(-1)!)).toBe(START_MS + 1000);
    expect(codeOf(() => take(1))).toBe('SEQUENCE_SPENT');
  });

  it('no id is ahead of the clock under a lease without end', () => {
    const { clock, window, take } = alone({});
    clock.looksPerMs = Infinity;
    window.grant(ENDLESS);
    take(4096);
    expect(() => take(1)).toThrow(/do not run ahead of the clock here/);
  });

  it('a process started again with the number of the last one repeats nothing', () => {
    const clock = new BusyClock();
    const ids = [0, 1].flatMap(() => {
      clock.ms++;
      const window = new LeaseWindow(layout);
      window.grant(ENDLESS);
      return new SnowflakeGenerator(window, { clock }).nextIds(100_000);
    });
    expect(new Set(ids).size).toBe(200_000);
  });

  it('a range takes its own limit, whatever the one before it had', () => {
    const { clock, window, take } = alone({});
    clock.looksPerMs = Infinity;
    window.grant({ workerId: 7, floorMs: START_MS, ceilingMs: START_MS + 60_000 });
    take(1);
    window.rewindTo({ ...ENDLESS, workerId: 8 });
    take(4096);
    expect(codeOf(() => take(1))).toBe('SEQUENCE_SPENT');
  });
});

const burst = fc.record({ kind: fc.constant('ids' as const), by: fc.integer({ min: 1, max: 60 }) });
const pass = fc.record({
  kind: fc.constant('clock' as const),
  by: fc.integer({ min: 0, max: 40 }),
});
const floor = fc.record({
  kind: fc.constant('floor' as const),
  by: fc.integer({ min: -50, max: 90 }),
});
const weighted = fc.oneof(
  { weight: 5, arbitrary: burst },
  { weight: 4, arbitrary: pass },
  { weight: 1, arbitrary: floor },
);

describe('without rollbacks', () => {
  it.each([false, true])('ids are at most aheadMsMax ahead, shared memory: %s', (isShared) => {
    const small = new BitLayout({
      epoch: 0,
      fields: [
        ['timestamp', 41],
        ['worker', 10],
        ['sequence', 2],
      ],
    });
    const steps = fc.array(weighted, { minLength: 10, maxLength: 80 });
    const property = fc.property(fc.nat(20), steps, (aheadMsMax, taken) => {
      const clock = { ms: START_MS, now: () => clock.ms };
      const words = isShared ? WindowWords.shared() : new WindowWords();
      const window = new LeaseWindow(small, 0, words);
      const makers = (isShared ? [0, 1, 2] : [0]).map(
        () => new SnowflakeGenerator(window, { clock, aheadMsMax }),
      );
      // A floor above the clock takes the ids there at no price, and moves on with the clock.
      let leadMs = 0;
      let workerId = 0;
      const tooFar: object[] = [];
      const grant = (byMs: number) => {
        leadMs = Math.max(leadMs, byMs);
        const floorMs = clock.ms + byMs;
        window.rewindTo({ workerId: ++workerId, floorMs, ceilingMs: START_MS + HOUR_MS });
      };
      grant(0);
      for (const { kind, by } of taken) {
        if (kind === 'clock') clock.ms += by;
        else if (kind === 'floor') grant(by);
        for (let n = 0; kind === 'ids' && n < by; n++) {
          let id: bigint;
          try {
            id = makers[n % makers.length]!.nextIdAtOnce();
          } catch {
            break;
          }
          const aheadMs = small.timestampMsOf(id) - clock.ms;
          const most = leadMs === 0 ? aheadMsMax : leadMs + Math.max(1, aheadMsMax);
          if (aheadMs > most) tooFar.push({ aheadMs, most });
        }
      }
      expect(tooFar).toEqual([]);
    });
    fc.assert(property, { numRuns: runs(500) });
  });
});

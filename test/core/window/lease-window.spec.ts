/**
 * Several generators in one shared memory, as in the threads of a process. They run in one thread
 * here, so the test can try every order of steps. Real threads are in test/threads.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BitLayout, isSnowflakeError } from 'nestjs-snowflake';
import {
  joinSharedLease,
  layouts,
  LeaseWindow,
  type SharedLease,
  type SnowflakeError,
  SnowflakeGenerator,
} from '../../../lib/core/index.js';
import {
  forwardSignals,
  joinWindow,
  sharedLayout,
  shareWindow,
} from '../../../lib/core/window/shared-lease.js';
import { WindowWords } from '../../../lib/core/window/window-memory.js';
import { codeOf, runs } from '../../until.js';

describe('shared lease', () => {
  const START_MS = 1_800_000_000_000;
  const layout = layouts.snowflake();
  /** The signal that a thread sets when half of a range is used. */
  const HALF_USED = 2;
  const EVER = { floorMs: -Infinity, ceilingMs: Infinity };

  /** A lease in shared memory, with the generators that use it. */
  class Owner {
    nowMs = START_MS;
    readonly clock = { now: () => this.nowMs };
    readonly window: LeaseWindow;

    constructor(
      reserveMs = 0,
      private readonly aheadMsMax = 1000,
    ) {
      this.window = new LeaseWindow(layout, reserveMs, WindowWords.shared());
    }

    get shared(): SharedLease {
      return shareWindow(this.window, { aheadMsMax: this.aheadMsMax, sequenceStart: 'zero' })!;
    }

    join(): SnowflakeGenerator {
      return joinSharedLease(this.shared, this.clock);
    }

    close(): void {
      this.window.close(() => ({ retryable: false }) as SnowflakeError);
    }

    grant(workerId: number, fromMs: number, toMs: number) {
      return this.window.grant({
        workerId,
        floorMs: START_MS + fromMs,
        ceilingMs: START_MS + toMs,
      });
    }
  }

  describe('a shared lease', () => {
    it('continues in every thread after a new lease, and ends when it is closed', () => {
      const owner = new Owner();
      owner.grant(7, 0, 60_000);
      const maker = owner.join();
      maker.nextId();
      owner.window.vacate(() => ({ retryable: true }) as SnowflakeError);
      expect(() => maker.nextId()).toThrow(/No worker id is held yet.*Wait with nextIdAsync\(\)/);
      owner.grant(8, 0, 60_000);
      expect(layout.parse(maker.nextId()).workerId).toBe(8);
      expect(layout.parse(owner.join().nextId()).workerId).toBe(8);
      owner.close();
      expect(() => maker.nextId()).toThrow(/The lease was given back/);
    });

    it('has the layout of its holder, even with an epoch once meant in seconds', () => {
      const early = layouts.snowflake({ epoch: '1970-01-20T17:21:07.200Z' });
      const window = new LeaseWindow(early, 0, WindowWords.shared());
      const shared = shareWindow(window, { aheadMsMax: undefined, sequenceStart: 'zero' })!;
      expect(sharedLayout(shared).fingerprint).toBe(early.fingerprint);
    });

    it('gives each generator different IDs of one worker ID, and loses few at low rates', () => {
      const owner = new Owner();
      owner.grant(7, 0, 60_000);
      const makers = [owner.join(), owner.join(), owner.join()];
      const ids = Array.from({ length: 300 }, (_, n) => makers[n % 3]!.nextId());
      expect(new Set(ids).size).toBe(300);
      expect(layout.parse(ids.at(-1)!)).toMatchObject({ workerId: 7, timestampMs: START_MS });
      owner.nowMs++;
      const next = makers.map((maker) => layout.parse(maker.nextId()).sequence);
      expect(Math.max(...next)).toBeLessThan(8);
    });

    it('works for texts and batches, and increases in each generator', () => {
      const owner = new Owner();
      owner.grant(7, 0, 60_000);
      const [one, other] = [owner.join(), owner.join()];
      const mine: bigint[] = [];
      const theirs: bigint[] = [];
      for (let n = 0; n < 50; n++) {
        mine.push(...one.nextIds(37), BigInt(one.nextIdString()));
        theirs.push(...other.nextIdStrings(91).map(BigInt), other.nextId());
      }
      const rises = (ids: bigint[]) => ids.every((id, at) => at === 0 || id > ids[at - 1]!);
      expect([rises(mine), rises(theirs)]).toEqual([true, true]);
      expect(new Set([...mine, ...theirs]).size).toBe(mine.length + theirs.length);
    });

    it('follows a raised ceiling, the next range, and its end without a message', () => {
      const owner = new Owner();
      const range = owner.grant(1, 0, 10);
      const thread = owner.join();
      thread.nextId();
      owner.nowMs += 10;
      expect(codeOf(() => thread.nextId())).toBe('LEASE_LOST');
      owner.window.raise(range, START_MS + 20);
      expect(layout.parse(thread.nextId())).toMatchObject({
        workerId: 1,
        timestampMs: owner.nowMs,
      });
      owner.grant(2, 0, 40);
      owner.nowMs += 10;
      expect(layout.parse(thread.nextId()).workerId).toBe(2);
      owner.nowMs += 20;
      expect(codeOf(() => thread.nextId())).toBe('LEASE_LOST');
    });

    it('keeps the reserve of a range whose ceiling another thread raised', () => {
      const owner = new Owner(10);
      const range = owner.grant(1, 0, 100);
      const thread = owner.join();
      thread.nextId();
      owner.window.raise(range, START_MS + 1000);
      owner.nowMs += 500;
      expect(layout.parse(thread.nextId()).timestampMs).toBe(START_MS + 500);
      owner.nowMs += 5000;
      expect(layout.parse(thread.nextId()).timestampMs).toBe(START_MS + 990);
    });

    it('stops in every thread when the window is vacated, permanently after a release', () => {
      const owner = new Owner();
      owner.grant(1, 0, 100);
      const thread = owner.join();
      thread.nextIds(3);
      owner.window.vacate(() => ({ retryable: true }) as SnowflakeError);
      expect(codeOf(() => thread.nextId())).toBe('NOT_READY');
      owner.grant(2, 0, 100);
      expect(layout.parse(thread.nextId()).workerId).toBe(2);
      owner.close();
      expect(() => thread.nextId()).toThrow(/given back/);
    });

    it.each([1, 2, 3, 40])('stays closed to a thread that left it in range %s', (rangeCount) => {
      const owner = new Owner();
      for (let n = 1; n <= rangeCount; n++) owner.window.rewindTo({ workerId: n, ...EVER });
      const window = joinWindow(owner.shared);
      const thread = new SnowflakeGenerator(window, { clock: owner.clock });
      const ids = thread.nextIds(100);
      window.leave(() => Object.assign(new Error('left'), { code: 'NOT_READY' }) as SnowflakeError);
      for (let n = 0; n < 100; n++) expect(codeOf(() => thread.nextId())).toBe('NOT_READY');
      expect(codeOf(() => new SnowflakeGenerator(window).nextId())).toBe('NOT_READY');
      expect(ids).not.toContain(owner.join().nextId());
    });

    it('is renewed at half of its remaining time, even if a thread joins late', () => {
      const owner = new Owner();
      const { signals } = owner.window;
      const asksForRenewal = () => (signals.takeSignals() & HALF_USED) !== 0;
      const range = owner.grant(1, 0, 60_000);
      owner.nowMs += 40_000;
      owner.join().nextId();
      expect(asksForRenewal()).toBe(true);
      owner.nowMs += 600_000;
      owner.window.raise(range, owner.nowMs + 60_000);
      owner.join().nextId();
      signals.takeSignals();
      for (let n = 0; n < 20; n++) owner.join().nextId();
      expect(asksForRenewal()).toBe(false);
    });

    it('moves back in time only on rewindTo(), even in threads that were asleep', () => {
      const owner = new Owner();
      owner.grant(1, 0, 60_000);
      const [awake, asleep] = [owner.join(), owner.join()];
      owner.nowMs += 50_000;
      awake.nextId();
      asleep.nextId();
      owner.nowMs -= 50_000;
      owner.window.rewindTo({ workerId: 2, floorMs: START_MS, ceilingMs: START_MS + 1000 });
      expect(layout.parse(awake.nextId()).timestampMs).toBe(START_MS);
      owner.nowMs += 1000;
      owner.grant(3, 1000, 2000);
      expect(layout.parse(awake.nextId())).toMatchObject({ workerId: 3, timestampMs: owner.nowMs });
      expect(layout.parse(asleep.nextId())).toMatchObject({
        workerId: 3,
        timestampMs: owner.nowMs,
      });
    });

    it('runs ahead by aheadMsMax for all threads combined', () => {
      const owner = new Owner(0, 5);
      owner.grant(1, 0, 60_000);
      let made = 0;
      for (let n = 0; n < 20; n++) {
        const thread = owner.join();
        const take = () => {
          thread.nextIdAtOnce();
          made++;
        };
        while (codeOf(take) === 'none');
        expect(thread.waitCount).toBe(1);
      }
      // The tick of the clock and five more. Each thread may lose a block that it has not used up.
      expect(made).toBe(4096 * 6);
    });

    it('does not mistake a sleeping thread for a clock that moved back', () => {
      const owner = new Owner();
      owner.grant(1, 0, 600_000);
      const awake = owner.join();
      let isAsleep = true;
      const sleepy = joinSharedLease(owner.shared, {
        now: () => {
          const readMs = owner.nowMs;
          if (isAsleep) {
            owner.nowMs += 500;
            awake.nextId();
          }
          isAsleep = false;
          return readMs;
        },
      });
      sleepy.nextId();
      owner.nowMs -= 10_000;
      sleepy.nextId();
      awake.nextId();
      expect(sleepy.rollbackCount + awake.rollbackCount).toBe(1);
    });

    it("signals the lease holder like the holder's own generator", async () => {
      const owner = new Owner();
      const heard: string[] = [];
      owner.window.watch = {
        entered: ({ workerId }) => heard.push(`entered ${workerId}`),
        halfUsed: () => heard.push('half used'),
        exhausted: () => heard.push('exhausted'),
      };
      void forwardSignals(owner.window);
      owner.grant(4, 0, 10);
      const thread = owner.join();
      const hear = async (count: number) => {
        while (heard.length < count) await new Promise((resolve) => setImmediate(resolve));
      };
      thread.nextId();
      await hear(1);
      owner.nowMs += 6;
      thread.nextId();
      await hear(2);
      owner.nowMs += 6;
      expect(codeOf(() => thread.nextId())).toBe('LEASE_LOST');
      await hear(3);
      expect(heard).toEqual(['entered 4', 'half used', 'exhausted']);
      owner.close();
    });

    it('is data for another thread, unlike a generator and its lease window', () => {
      const owner = new Owner();
      owner.grant(1, 0, 100);
      const generator = new SnowflakeGenerator(owner.window);
      const copy = joinSharedLease(structuredClone(owner.shared), owner.clock);
      expect(copy.layout.fingerprint).toBe(layout.fingerprint);
      expect(copy.nextId()).not.toBe(owner.join().nextId());
      expect(() => structuredClone(owner.window)).toThrow(/clone/);
      expect(() => structuredClone(generator)).toThrow(/clone/);
    });

    it.each([
      undefined,
      null,
      {},
      { memory: new ArrayBuffer(8) },
      { memory: new SharedArrayBuffer(8192) },
      'static:7',
    ])('cannot be %p', (value) => {
      expect(codeOf(() => joinSharedLease(value as unknown as SharedLease))).toBe('CONFIG_INVALID');
    });
  });

  const step = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ kind: fc.constant('ids'), at: fc.nat(3), count: fc.nat(200) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('clock'), at: fc.nat(1), count: fc.nat(40) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('grant'), at: fc.nat(3), count: fc.nat(60) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('raise'), at: fc.nat(3), count: fc.nat(60) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('rewind'), at: fc.nat(3), count: fc.nat(60) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('vacate'), at: fc.nat(3), count: fc.nat(1) }),
    },
  );

  describe('a shared lease under random events', () => {
    it('generates no duplicate and no ID outside its range', () => {
      fc.assert(
        fc.property(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => {
          const owner = new Owner(5, 50);
          const threads = [0, 1, 2, 3].map(() => owner.join());
          const ends = new Map<number, number>();
          const granted: { workerId: number; fromMs: number; toMs: number }[] = [];
          let newest: ReturnType<Owner['grant']> | undefined;
          const ids: bigint[] = [];
          const range = (workerId: number, lengthMs: number) => {
            const fromMs = Math.max(owner.nowMs, ends.get(workerId) ?? 0);
            granted.push({ workerId, fromMs, toMs: fromMs + lengthMs });
            ends.set(workerId, fromMs + lengthMs);
            return { workerId, floorMs: fromMs, ceilingMs: fromMs + lengthMs };
          };
          const acts: Record<string, (at: number, count: number) => void> = {
            ids: (at, count) => {
              for (let n = 0; n < count; n++) {
                try {
                  ids.push(threads[(at + (n % 7 === 0 ? 1 : 0)) % 4]!.nextIdAtOnce());
                } catch {
                  return;
                }
              }
            },
            clock: (at, count) => (owner.nowMs += at === 0 ? count : -count),
            grant: (at, count) => (newest = owner.window.grant(range(at, count))),
            raise: (_at, count) => {
              const last = granted.at(-1);
              if (last === undefined || newest === undefined) return;
              last.toMs += count;
              ends.set(last.workerId, last.toMs);
              owner.window.raise(newest, last.toMs);
            },
            rewind: (at, count) => (newest = owner.window.rewindTo(range(at, count))),
            vacate: () => {
              newest = undefined;
              owner.window.vacate(() => ({ retryable: true }) as SnowflakeError);
            },
          };
          for (const { kind, at, count } of steps) acts[kind]!(at, count);
          expect(new Set(ids).size).toBe(ids.length);
          const isOwned = (id: bigint) => {
            const { workerId, timestampMs } = layout.parse(id);
            return granted.some(
              ({ fromMs, toMs, ...of }) =>
                of.workerId === workerId && timestampMs >= fromMs && timestampMs < toMs,
            );
          };
          expect(ids.filter((id) => !isOwned(id))).toEqual([]);
        }),
        { numRuns: runs(300) },
      );
    });

    it('has one current range in every lease window on the same memory', () => {
      const owner = new Owner();
      const windows = [owner.window, joinWindow(owner.shared), joinWindow(owner.shared)];
      const numbers = () => windows.map((window) => window.current?.number);
      expect(numbers()).toEqual([undefined, undefined, undefined]);
      // More entries than the memory holds at once.
      for (let n = 1; n <= 40; n++) owner.grant(n, n, n + 1);
      expect(new Set(numbers()).size).toBe(1);
      expect(windows[1]!.current).toMatchObject({ workerId: windows[0]!.current!.workerId });
      owner.window.rewindTo({ workerId: 3, floorMs: 0, ceilingMs: Infinity });
      expect(numbers()).toEqual([41, 41, 41]);
      expect(windows.map((window) => window.endMs)).toEqual([Infinity, Infinity, Infinity]);
    });
  });
});

/*
 * The remaining IDs of a range, which need no further call of the store.
 */
describe('remaining IDs', () => {
  const START_MS = Date.parse('2026-01-01T00:00:00Z');
  const RESERVE_MS = 10;

  function inUse(layout: BitLayout = layouts.snowflake()) {
    const time = { ms: START_MS };
    const window = new LeaseWindow(layout, RESERVE_MS);
    const clock = { now: () => time.ms };
    const generator = new SnowflakeGenerator(window, { clock, aheadMsMax: 3_600_000 });
    const range = { workerId: 7, floorMs: START_MS, ceilingMs: START_MS + 100 };
    return { time, window, generator, range };
  }

  function usedUp(generator: SnowflakeGenerator): number {
    for (let count = 0; ; count++) {
      try {
        generator.nextId();
      } catch (error) {
        if (isSnowflakeError(error) && error.code === 'LEASE_LOST') return count;
        throw error;
      }
    }
  }

  describe('the number of remaining IDs', () => {
    it.each([
      ['before the first ID', 0, 0, 100],
      ['after a while without IDs', 50, 0, 50],
      ['when only the reserve remains', 95, 0, RESERVE_MS],
      ['long after the end, with an unused reserve', 5000, 0, RESERVE_MS],
      ['when IDs run ahead of the clock', 0, 4096 * 30, 70],
      ['in the middle of the reserve', 5000, 4096 * 4, RESERVE_MS - 4],
    ])('is exact %s', (_when, afterMs, made, ticks) => {
      const { time, window, generator, range } = inUse();
      window.grant(range);
      time.ms += afterMs;
      generator.nextIds(made);
      expect(generator.idsLeft).toBe(ticks * 4096);
      expect(usedUp(generator)).toBe(ticks * 4096);
      expect(generator.idsLeft).toBe(0);
    });

    it('is not underestimated in the middle of a tick', () => {
      const { window, generator, range } = inUse();
      window.grant(range);
      generator.nextIds(100);
      const said = generator.idsLeft!;
      expect(said).toBe(99 * 4096);
      expect(usedUp(generator)).toBe(said + 4096 - 100);
    });

    it('is unknown without a range, and without an end', () => {
      const { window, generator } = inUse();
      expect(generator.idsLeft).toBeUndefined();
      window.grant({ workerId: 7, floorMs: -Infinity, ceilingMs: Infinity });
      expect(generator.idsLeft).toBeUndefined();
    });
  });
});

/**
 * The ticks of a job that runs once in a fleet, on memory locks whose time the test sets.
 */
import { describe, expect, it } from '@jest/globals';
import type { CronRun } from '../../lib/nest/lock/index.js';
import { scheduleOf } from '../../lib/cron/schedule.js';
import { pause } from '../../lib/time/timers.js';
import { every, Fleet, MINUTE } from './cron-fleet.js';

describe("a fleet's job", () => {
  it('runs each tick once, in any process', async () => {
    const fleet = new Fleet();
    const jobs = ['a', 'b', 'c'].map((by) => fleet.begun(by));
    await fleet.pass(0);
    expect(fleet.ticks).toEqual([]);
    await fleet.pass(5 * MINUTE + 1000);
    expect(fleet.ticks).toEqual([1, 2, 3, 4, 5]);
    const tokens = fleet.ran.map(({ token }) => token);
    expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)));
    for (const job of jobs) expect(job.status).toMatchObject({ overdueMs: 0, isRunning: false });
  });

  it('requests the lock at each tick, even if another process held it before', async () => {
    const fleet = new Fleet();
    const first = fleet.begun('a', { schedule: every(1000) });
    fleet.begun('b', { schedule: every(1000) });
    await fleet.pass(3000);
    void first.close();
    await fleet.pass(2000);
    expect(fleet.ran.map(({ at }) => at / 1000)).toEqual([1, 2, 3, 4, 5]);
  });

  it.each([
    ['goes back', (ms: number) => ms - MINUTE],
    ['stands still', (ms: number) => ms],
    ['is over', () => undefined],
    ['is due in each millisecond', (ms: number) => ms + 1],
  ])('calls the store at most ten times a second, with a schedule that %s', async (text, next) => {
    const fleet = new Fleet();
    let askedCount = 0;
    const acquire = fleet.store.acquire.bind(fleet.store);
    fleet.store.acquire = (request) => (askedCount++, acquire(request));
    const job = fleet.begun('a', { schedule: { text, next }, lateMs: 0 });
    await fleet.pass(1500);
    expect(askedCount).toBeGreaterThanOrEqual(1);
    expect(askedCount).toBeLessThanOrEqual(16);
    expect(job.status.schedule).toBe(text);
  });

  it.each(['0 * * * *', '*/15 2 * * *', '30 2 * * *'])(
    'late in the minutes before a double hour asks seldom and does each tick: %s',
    async (expression) => {
      const change = Date.parse('2027-10-31T01:00:00Z');
      const fleet = new Fleet({ storeMs: 0 }, change - 30 * MINUTE);
      let askedCount = 0;
      const acquire = fleet.store.acquire.bind(fleet.store);
      fleet.store.acquire = (request) => (askedCount++, acquire(request));
      const terms = { schedule: scheduleOf(expression, 'Europe/Berlin'), lateMs: 90 * MINUTE };
      const first = fleet.begun('a', terms);
      await fleet.pass(1000);
      void first.close();
      // Another process begins while ticks from before the change are overdue.
      await fleet.time.advance(40 * MINUTE);
      fleet.begun('b', terms);
      await fleet.pass(90 * MINUTE);
      const due: number[] = [];
      for (let at = terms.schedule.next(fleet.startMs)!; at <= fleet.time.now();) {
        due.push(at);
        at = terms.schedule.next(at)!;
      }
      expect(fleet.ran.map(({ at }) => at + fleet.startMs)).toEqual(due);
      expect(askedCount).toBeLessThan(10 + 2 * due.length);
    },
  );

  it('runs a tick that arrives just before the last one ends', async () => {
    const fleet = new Fleet();
    fleet.begun('a', {
      run: async (run) => {
        fleet.note('a', run);
        if (fleet.ran.length === 1) await pause(fleet.time, 90_000);
      },
    });
    await fleet.pass(3 * MINUTE + 1000);
    expect(fleet.ticks).toEqual([1, 2, 3]);
  });

  it('takes over from a dead process within the ttl, with a higher token', async () => {
    const fleet = new Fleet();
    fleet.beginsAndDies('dead');
    await fleet.pass(MINUTE);
    expect(fleet.ran.map(({ by }) => by)).toEqual(['dead']);
    const alive = fleet.begun('alive');
    await fleet.pass(12_000);
    expect(fleet.ran.map(({ by, at }) => [by, at])).toEqual([
      ['dead', MINUTE],
      ['alive', MINUTE],
    ]);
    expect(fleet.ran[1]!.token > fleet.ran[0]!.token).toBe(true);
    expect(alive.status.runCounts).toMatchObject({ done: 1, lost: 1 });
    const [gone] = fleet.kinds('gone');
    expect(gone).toMatchObject({ job: 'report', run: { by: 'dead', outcome: 'lost' } });
    const [last, before] = (await fleet.record()).runs;
    expect([last!.outcome, before!.outcome]).toEqual(['done', 'lost']);
  });

  it('gives up a tick that killed three processes, and runs the next one', async () => {
    const fleet = new Fleet();
    const schedule = every(20 * MINUTE);
    for (const by of ['a', 'b', 'c', 'd']) fleet.beginsAndDies(by, { schedule });
    await fleet.pass(20 * MINUTE - (fleet.time.now() % (20 * MINUTE)) + 5 * MINUTE);
    expect(fleet.ran).toHaveLength(3);
    const { runs, settledMs } = await fleet.record();
    expect(runs.map(({ outcome }) => outcome)).toEqual(['given-up', 'lost', 'lost']);
    expect(settledMs).toBe(runs[0]!.tickMs);
    fleet.begun('alive', { schedule });
    await fleet.pass(20 * MINUTE);
    expect((await fleet.record()).runs.some(({ outcome }) => outcome === 'done')).toBe(true);
  });

  it('reports a run that is given up', async () => {
    const fleet = new Fleet();
    fleet.beginsAndDies('dead', { attempts: 1 });
    await fleet.pass(MINUTE);
    const alive = fleet.begun('alive', { attempts: 1 });
    await fleet.pass(12_000);
    expect(fleet.ticks).toEqual([1]);
    expect(fleet.kinds('gone')).toMatchObject([{ run: { outcome: 'given-up' } }]);
    expect(alive.status.runCounts).toMatchObject({ done: 0, lost: 0, 'given-up': 1 });
  });

  it('settles the tick of a failed run, and logs it', async () => {
    const fleet = new Fleet();
    const error = new Error('no paper');
    fleet.begun('a', {
      run: (run) => {
        fleet.note('a', run);
        throw error;
      },
    });
    await fleet.pass(MINUTE + 30_000);
    expect(fleet.ticks).toEqual([1]);
    expect(fleet.events.at(-1)).toMatchObject({ kind: 'ended', outcome: 'failed', error });
    expect((await fleet.record()).runs[0]!.outcome).toBe('failed');
  });

  it('gives up a run that takes too long, and does not start it again', async () => {
    const fleet = new Fleet();
    const signals: AbortSignal[] = [];
    const hangs = {
      holdAtMostMs: 90_000,
      run: (run: CronRun) => {
        fleet.note('a', run);
        signals.push(run.signal);
        return fleet.ran.length === 1 ? new Promise(() => {}) : undefined;
      },
    };
    fleet.begun('a', hangs);
    fleet.begun('b', hangs);
    await fleet.pass(2 * MINUTE);
    expect(fleet.ticks).toEqual([1]);
    await fleet.pass(50_000);
    expect(fleet.ticks).toEqual([1, 2]);
    expect(signals[0]!.aborted).toBe(true);
    expect((await fleet.record()).runs.at(-1)!.outcome).toBe('too-long');
  });

  it('settles skipped ticks, and records them', async () => {
    const fleet = new Fleet();
    const skips = { missed: 'skip', lateMs: 30_000, schedule: every(1_200_000) } as const;
    const first = fleet.begun('a', skips);
    await fleet.pass(1000);
    void first.close();
    await fleet.pass(4 * 1_200_000 - (fleet.time.now() % 1_200_000) + MINUTE);
    const job = fleet.begun('b', skips);
    await fleet.pass(1000);
    expect(fleet.ticks).toEqual([]);
    const { settledMs, runs } = await fleet.record();
    expect(runs).toMatchObject([{ outcome: 'skipped', by: 'b', tickMs: settledMs }]);
    const { skippedCount } = runs[0]!;
    expect(fleet.events.at(-1)).toMatchObject({ kind: 'skipped', tickMs: settledMs, skippedCount });
    expect(job.status).toMatchObject({ skippedCount: skippedCount + 1, overdueMs: 0, settledMs });
    expect(job.status.dueMs).toBe(settledMs + 1_200_000);
    // No tick remains that could be skipped again.
    fleet.begun('c', skips);
    await fleet.pass(1000);
    expect((await fleet.record()).runs).toHaveLength(1);
  });

  it('after a loss of data runs the last tick, and records the skipped ones', async () => {
    const fleet = new Fleet();
    let isAway = false;
    const late = fleet.locks();
    const acquire = late.acquire.bind(late);
    late.acquire = (...asked) => (isAway ? new Promise(() => {}) : acquire(...asked));
    const job = fleet.begun('a');
    fleet.begun('b', { locks: late });
    await fleet.pass(MINUTE + 30_000);
    isAway = true;
    await fleet.pass(3 * MINUTE);
    expect(fleet.ticks).toEqual([1, 2, 3, 4]);
    void job.close();
    fleet.forget();
    isAway = false;
    const other = fleet.begun('c', { locks: late });
    await fleet.pass(MINUTE);
    expect(fleet.ticks).toEqual([1, 2, 3, 4, 5]);
    void other.close();
    fleet.forget();
    const known = fleet.kinds('forgotten').length;
    fleet.begun('d');
    await fleet.pass(MINUTE);
    expect([fleet.ticks.at(-1), fleet.kinds('forgotten').length]).toEqual([6, known]);
  });

  it.each([
    // A schedule with enough slack for the store's quiet time loses no tick.
    [60_000, 60_000, 0, 0],
    [60_000, 1000, 0, 0],
    // A job of every second has no slack, so only its last tick is known to be open.
    [1000, 60_000, 10, 13],
  ])('waits for the quiet time: every %s ms, late up to %s', async (ms, lateMs, least, most) => {
    const fleet = new Fleet();
    const terms = { schedule: every(ms), lateMs };
    fleet.begun('a', terms);
    fleet.begun('b', terms);
    await fleet.pass(MINUTE + 48_500);
    const before = fleet.ran.length;
    fleet.forget();
    // Real stores grant no lock for 12 s.
    const acquire = fleet.store.acquire.bind(fleet.store);
    const quietUntilMs = fleet.time.now() + 12_000;
    fleet.store.acquire = async (request) => {
      const waitMs = quietUntilMs - fleet.time.now();
      return waitMs > 0 ? { status: 'wait', waitMs } : acquire(request);
    };
    await fleet.pass(20_000);
    const [first] = (await fleet.record()).runs.toReversed();
    expect(fleet.ran.length).toBeGreaterThan(before);
    expect(first!.outcome).toBe('done');
    expect(first!.skippedCount).toBeGreaterThanOrEqual(least);
    expect(first!.skippedCount).toBeLessThanOrEqual(most);
    const ticks = fleet.ran.map(({ at }) => at);
    expect(new Set(ticks).size).toBe(ticks.length);
  });

  it('reports what is due, what runs, and how runs ended', async () => {
    const fleet = new Fleet();
    const hangs = {
      holdAtMostMs: 90_000,
      run: ({ tick }: CronRun) => {
        if (tick.getTime() > fleet.startMs + MINUTE) return new Promise(() => {});
        throw new Error('no paper');
      },
    };
    const job = fleet.begun('a', hangs);
    expect(job.status.dueMs).toBe(fleet.startMs + MINUTE);
    await fleet.pass(MINUTE + 1000);
    expect(job.status).toMatchObject({ runningMs: undefined, runCounts: { failed: 1, done: 0 } });
    await fleet.pass(fleet.startMs + 2 * MINUTE - fleet.time.now());
    await fleet.pass(80_000);
    expect(job.status.runningMs).toBe(80_000);
    expect(job.status).toMatchObject({ isRunning: true, dueMs: fleet.startMs + 2 * MINUTE });
    expect(job.status.overdueMs).toBe(80_000);
    void job.close();
    await fleet.pass(20_000);
    expect(job.status.runCounts).toMatchObject({ failed: 1, 'too-long': 1 });
  });
});

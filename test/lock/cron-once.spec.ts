/**
 * A job that runs once in a fleet: what its processes do at a tick, on locks in memory whose time
 * the test moves.
 */
import { describe, expect, it } from '@jest/globals';
import { MemoryLocks, type MemoryRows } from '../../lib/index.js';
import { OnceJob, type CronEvent, type OnceJobParts } from '../../lib/cron/cron-once.js';
import { newRecord, recordIn, recordText, type Schedule } from '../../lib/cron/cron-record.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { SettableTime } from '../../lib/testing/index.js';
import { pause, turn } from '../../lib/time/timers.js';
import { DistributedLock, type CronRun } from '../../lib/nest/lock/index.js';

const every = (ms: number): Schedule => ({
  text: `every ${ms} ms`,
  next: (afterMs) => (Math.floor(afterMs / ms) + 1) * ms,
});

/** Processes of a fleet on one store of locks, on one clock. */
class Fleet {
  readonly time = new SettableTime();
  readonly store: LockStore = new MemoryLocks({ clock: this.time });
  readonly ran: { readonly at: number; readonly by: string; readonly token: bigint }[] = [];
  readonly events: CronEvent[] = [];
  readonly startMs = Math.floor(this.time.now() / 60_000) * 60_000;

  process(by: string, more: Partial<OnceJobParts> = {}) {
    const { time } = this;
    const ports = { clock: time, monotonic: { now: () => time.passedMs }, timers: time };
    const locks = new DistributedLock(this.store, { ...ports, random: () => 0.5 });
    return new OnceJob({
      locks,
      clock: time,
      timers: time,
      random: () => 0.5,
      job: 'report',
      lock: 'cron:report',
      by,
      schedule: every(60_000),
      lateMs: 60_000,
      missed: 'once',
      holdAtMostMs: 3_600_000,
      run: (run) => this.note(by, run),
      notify: (event) => void this.events.push(event),
      ...more,
    });
  }

  note(by: string, { tick, token }: CronRun): void {
    this.ran.push({ at: tick.getTime() - this.startMs, by, token });
  }

  /** Its lock is not extended, and its run never ends. */
  processThatDies(by: string, more: Partial<OnceJobParts> = {}): OnceJob {
    const stopped = new SettableTime(this.time.now());
    const ports = { clock: stopped, monotonic: stopped, timers: stopped };
    const locks = new DistributedLock(this.store, ports);
    const run = (one: CronRun) => {
      this.note(by, one);
      return new Promise(() => {});
    };
    return this.process(by, { locks, run, ...more });
  }

  /** All data is lost, also the note that has the record. */
  forget(): void {
    const rowsOf = (store: LockStore) => Reflect.get(store, 'rows') as MemoryRows;
    rowsOf(this.store).rows = rowsOf(new MemoryLocks({ clock: this.time })).rows;
  }

  async record() {
    const [note] = await this.store.notes!();
    return recordIn(note!.note)!;
  }

  async pass(ms: number): Promise<void> {
    await this.time.advance(ms);
    for (let count = 0; count < 20; count++) await turn();
  }

  /** Lets all of them look, until none has anything left to do. */
  async looked(jobs: readonly OnceJob[]): Promise<void> {
    const state = { isOver: false };
    void Promise.all(jobs.map((job) => job.look())).then(() => (state.isOver = true));
    for (let count = 0; count < 100 && !state.isOver; count++) await this.pass(500);
    if (!state.isOver) throw new Error('They still look.');
  }

  get ticks(): number[] {
    return this.ran.map(({ at }) => at / 60_000);
  }
}

describe('a job of a fleet', () => {
  it('does each tick once, whoever asks and however often', async () => {
    const fleet = new Fleet();
    const jobs = ['a', 'b', 'c'].map((by) => fleet.process(by));
    await fleet.looked(jobs);
    expect(fleet.ticks).toEqual([]);
    for (let at = 1; at <= 5; at++) {
      await fleet.pass(60_000);
      await fleet.looked([...jobs, ...jobs]);
    }
    expect(fleet.ticks.length).toBeGreaterThanOrEqual(5);
    expect(fleet.ticks).toEqual(fleet.ticks.map((_, at) => at + 1));
    const tokens = fleet.ran.map(({ token }) => token);
    expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(new Set(tokens).size).toBe(tokens.length);
    await fleet.looked(jobs);
    for (const job of jobs) expect(job.status).toMatchObject({ overdueMs: 0, isRunning: false });
  });

  it('does a tick that comes while the last one is about to end', async () => {
    const fleet = new Fleet();
    const job = fleet.process('a', {
      run: async (run) => {
        fleet.note('a', run);
        if (fleet.ran.length > 1) return;
        await fleet.pass(60_000);
        void job.look();
      },
    });
    await fleet.looked([job]);
    await fleet.pass(60_000);
    await fleet.looked([job]);
    expect(fleet.ticks).toEqual([1, 2]);
  });

  it('keeps no tick that comes while it is at an earlier one, however late it is', async () => {
    const fleet = new Fleet();
    let end = (): void => undefined;
    const job = fleet.process('a', { run: () => new Promise<void>((resolve) => (end = resolve)) });
    await fleet.looked([job]);
    await fleet.pass(60_000);
    const over: string[] = [];
    void job.look().then(() => over.push('first'));
    await fleet.pass(0);
    expect(job.status.isRunning).toBe(true);
    void job.look().then(() => over.push('second'));
    await fleet.pass(0);
    expect(over).toEqual(['second']);
    end();
    await fleet.pass(0);
    expect(over).toEqual(['second', 'first']);
  });

  it('takes over from a process that is gone, within the ttl, with a higher token', async () => {
    const fleet = new Fleet();
    const alive = fleet.process('alive');
    await fleet.looked([alive]);
    const killed = fleet.processThatDies('dead');
    await fleet.pass(60_000);
    void killed.look();
    await fleet.pass(0);
    expect(fleet.ran.map(({ by }) => by)).toEqual(['dead']);
    const startedMs = fleet.time.now();
    await fleet.looked([alive]);
    expect(fleet.ran.map(({ by, at }) => [by, at])).toEqual([
      ['dead', 60_000],
      ['alive', 60_000],
    ]);
    expect(fleet.time.now() - startedMs).toBeLessThan(12_000);
    expect(fleet.ran[1]!.token > fleet.ran[0]!.token).toBe(true);
    expect(alive.status.runCounts).toMatchObject({ done: 1, lost: 1 });
    const takenOver = fleet.events.find(({ kind }) => kind === 'taken-over');
    expect(takenOver).toMatchObject({ job: 'report', from: 'dead' });
    const [last, before] = (await fleet.record()).runs;
    expect([last!.outcome, before!.outcome]).toEqual(['done', 'lost']);
  });

  it('settles the tick of a run that failed, and says so', async () => {
    const fleet = new Fleet();
    const error = new Error('no paper');
    const job = fleet.process('a', {
      run: (run) => {
        fleet.note('a', run);
        throw error;
      },
    });
    await fleet.looked([job]);
    await fleet.pass(60_000);
    await fleet.looked([job]);
    await fleet.looked([job]);
    expect(fleet.ticks).toEqual([1]);
    expect(fleet.events.at(-1)).toMatchObject({ kind: 'ended', outcome: 'failed', error });
    expect((await fleet.record()).runs[0]!.outcome).toBe('failed');
  });

  it('gives up a run that takes too long, and does not begin it again', async () => {
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
    const jobs = [fleet.process('a', hangs), fleet.process('b', hangs)];
    await fleet.looked(jobs);
    await fleet.pass(60_000);
    for (const job of jobs) void job.look();
    await fleet.pass(60_000);
    expect(fleet.ticks).toEqual([1]);
    await fleet.pass(50_000);
    await fleet.looked(jobs);
    expect(fleet.ticks.slice(0, 2)).toEqual([1, 2]);
    expect(new Set(fleet.ticks).size).toBe(fleet.ticks.length);
    expect(signals[0]!.aborted).toBe(true);
    expect((await fleet.record()).runs.at(-1)!.outcome).toBe('too-long');
  });

  it.each([
    ['once', [1, 20]],
    ['skip', [1]],
  ] as const)('after no process was there, by missed: %s', async (missed, ticks) => {
    const fleet = new Fleet();
    const daily = { missed, lateMs: 30_000, schedule: every(1_200_000) };
    const first = fleet.process('a', { missed });
    await fleet.looked([first]);
    await fleet.pass(60_000);
    await fleet.looked([first]);
    first.close();
    await fleet.pass(1_200_000);
    await fleet.looked([fleet.process('b', daily), fleet.process('c', daily)]);
    expect(fleet.ticks).toEqual([...ticks]);
  });

  it('settles ticks that are left out, and its record says so', async () => {
    const fleet = new Fleet();
    const skips = { missed: 'skip', lateMs: 30_000, schedule: every(1_200_000) } as const;
    await fleet.looked([fleet.process('a', skips)]);
    await fleet.pass(4 * 1_200_000 - (fleet.time.now() % 1_200_000) + 60_000);
    const job = fleet.process('b', skips);
    await fleet.looked([job]);
    expect(fleet.ticks).toEqual([]);
    const { settledMs, runs } = await fleet.record();
    expect(runs).toMatchObject([{ outcome: 'skipped', by: 'b', tickMs: settledMs }]);
    const { skippedCount } = runs[0]!;
    expect(fleet.events.at(-1)).toMatchObject({ kind: 'skipped', tickMs: settledMs, skippedCount });
    expect(job.status).toMatchObject({ skippedCount: skippedCount + 1, overdueMs: 0, settledMs });
    expect(job.status.dueMs).toBe(settledMs + 1_200_000);
    // None is left to be left out again.
    await fleet.looked([job, fleet.process('c', skips)]);
    expect((await fleet.record()).runs).toHaveLength(1);
  });

  it('after a loss of data does the last tick, and the record says what it left out', async () => {
    const fleet = new Fleet();
    const [job, late] = [fleet.process('a'), fleet.process('b')];
    await fleet.looked([job, late]);
    await fleet.pass(60_000);
    await fleet.looked([job, late]);
    for (let minute = 2; minute <= 4; minute++) {
      await fleet.pass(60_000);
      await fleet.looked([job]);
    }
    const done = [1, 2, 3, 4];
    expect(fleet.ticks).toEqual(done);
    fleet.forget();
    await fleet.pass(60_000);
    await fleet.looked([late]);
    expect(fleet.ticks).toEqual([...done, 5]);
    expect(fleet.events).toContainEqual({ kind: 'forgotten', job: 'report', skippedCount: 3 });
    expect((await fleet.record()).runs).toMatchObject([{ outcome: 'done', skippedCount: 3 }]);
    await fleet.looked([job]);
    expect(fleet.ticks).toEqual([...done, 5]);
  });

  it.each([
    // One that has room for the quiet time of the store loses nothing by it.
    [60_000, 60_000, 0],
    [60_000, 1000, 0],
    // One of each second has none: only the last of its ticks is known to be open.
    [1000, 60_000, 11],
  ])('waits out the quiet time: every %s ms, late up to %s ms', async (ms, lateMs, leftOut) => {
    const fleet = new Fleet();
    const terms = { schedule: every(ms), lateMs };
    const jobs = [fleet.process('a', terms), fleet.process('b', terms)];
    await fleet.looked(jobs);
    await fleet.pass(60_000);
    await fleet.looked(jobs);
    const before = new Set(fleet.ticks);
    fleet.forget();
    // No lock is granted for 12 s, by real stores.
    const acquire = fleet.store.acquire.bind(fleet.store);
    const quietUntilMs = fleet.time.now() + 12_000;
    fleet.store.acquire = async (request) => {
      const waitMs = quietUntilMs - fleet.time.now();
      return waitMs > 0 ? { status: 'wait', waitMs } : acquire(request);
    };
    await fleet.pass(60_000 - (fleet.time.now() % 60_000));
    await fleet.looked(jobs);
    const after = fleet.ticks.filter((tick) => !before.has(tick));
    const [first] = (await fleet.record()).runs.toReversed();
    expect(after.length).toBeGreaterThan(0);
    expect([first!.outcome, first!.skippedCount >= leftOut]).toEqual(['done', true]);
    expect(ms < 60_000 || first!.skippedCount === 0).toBe(true);
  });

  it('says when it is due, what runs, and how runs ended', async () => {
    const fleet = new Fleet();
    const hangs = {
      holdAtMostMs: 90_000,
      run: ({ tick }: CronRun) => {
        if (tick.getTime() > fleet.startMs + 60_000) return new Promise(() => {});
        throw new Error('no paper');
      },
    };
    const job = fleet.process('a', hangs);
    expect(job.status.dueMs).toBe(fleet.startMs + 60_000);
    await fleet.looked([job]);
    await fleet.pass(60_000);
    await fleet.looked([job]);
    expect(job.status).toMatchObject({ runningMs: undefined, runCounts: { failed: 1, done: 0 } });
    await fleet.pass(fleet.startMs + 120_000 - fleet.time.now());
    void job.look();
    await fleet.pass(0);
    await fleet.pass(80_000);
    expect(job.status.runningMs).toBe(80_000);
    expect(job.status).toMatchObject({ isRunning: true, dueMs: fleet.startMs + 120_000 });
    expect(job.status.overdueMs).toBe(80_000);
    job.close();
    await fleet.pass(20_000);
    expect(job.status.runCounts).toMatchObject({ failed: 1, 'too-long': 1 });
  });

  it.each([3_600_000, -3_600_000])(
    'goes by the clock of the store, its own is off by %s ms',
    async (offMs) => {
      const fleet = new Fleet();
      const job = fleet.process('off', { clock: { now: () => fleet.time.now() + offMs } });
      void job.look();
      await fleet.pass(0);
      await fleet.pass(30_000);
      const looks = job.look();
      await fleet.pass(0);
      expect(fleet.ticks).toEqual([]);
      // A clock that is ahead wakes it no more: it knows when the store's will be there.
      await fleet.pass(32_000);
      if (offMs < 0) void job.look();
      await fleet.pass(0);
      expect(fleet.ticks).toEqual([1]);
      job.close();
      await looks;
    },
  );

  it('does not begin a run whose lock was lost while the process stood still', async () => {
    const fleet = new Fleet();
    const stopped = new SettableTime(fleet.time.now());
    const ports = { clock: stopped, monotonic: stopped, timers: stopped };
    const locks = new DistributedLock(fleet.store, ports);
    const [job, other] = [fleet.process('a', { locks }), fleet.process('b')];
    await fleet.looked([other]);
    await fleet.pass(60_000);
    const extend = fleet.store.extend.bind(fleet.store);
    fleet.store.extend = async (request) => {
      const answer = await extend(request);
      // It wakes with the answer in its hands, when the time of its lock is over.
      if (request.note?.includes('"running"') === true) stopped.wallMs += 11_000;
      return answer;
    };
    void job.look();
    await fleet.pass(0);
    job.close();
    expect(fleet.ticks).toEqual([]);
    fleet.store.extend = extend;
    await fleet.looked([other]);
    expect(fleet.ran.map(({ by, at }) => [by, at / 60_000])).toEqual([['b', 1]]);
  });

  it('writes the end of a run when the store is back, so that nobody does it again', async () => {
    const fleet = new Fleet();
    const [job, other] = [fleet.process('a'), fleet.process('b')];
    await fleet.looked([job, other]);
    await fleet.pass(60_000);
    const extend = fleet.store.extend.bind(fleet.store);
    let failureCount = 0;
    fleet.store.extend = async (request) => {
      const isEnd = request.note?.includes('"done"') === true;
      if (isEnd && failureCount++ < 3) throw new Error('The store is away.');
      return extend(request);
    };
    await fleet.looked([job]);
    await fleet.looked([other]);
    expect([failureCount > 3, fleet.ticks]).toEqual([true, [1]]);
  });

  it('goes on after a run that hangs and has lost its lock', async () => {
    const fleet = new Fleet();
    const lost = fleet.processThatDies('a', { holdAtMostMs: 90_000 });
    const alive = fleet.process('b');
    await fleet.looked([alive]);
    await fleet.pass(60_000);
    void lost.look();
    await fleet.pass(0);
    expect(lost.status.isRunning).toBe(true);
    await fleet.pass(100_000);
    expect(fleet.ran.map(({ by, at }) => [by, at / 60_000])).toEqual([
      ['a', 1],
      ['a', 2],
    ]);
    lost.close();
  });

  it('says that its record is ahead of the clock of the store, and runs nothing', async () => {
    const fleet = new Fleet();
    const job = fleet.process('a');
    await fleet.looked([job]);
    const held = await new DistributedLock(fleet.store).acquire('cron:report');
    await held.writeNote(recordText(newRecord('', fleet.time.now() + 3_600_000)));
    await held.release();
    await fleet.pass(60_000);
    await fleet.looked([job]);
    expect(fleet.ticks).toEqual([]);
    expect(fleet.events.at(-1)).toMatchObject({ kind: 'ahead', job: 'report' });
  });

  it('reports a schedule that has no further tick, and does not fail by it', async () => {
    const fleet = new Fleet();
    const next = () => {
      throw new Error('No execution date was found in the next 8 years.');
    };
    const job = fleet.process('a', { schedule: { text: 'never', next } });
    await fleet.looked([job]);
    expect(fleet.events).toMatchObject([{ kind: 'unavailable', job: 'report' }]);
  });

  it('begins nothing after it was closed', async () => {
    const fleet = new Fleet();
    const [job, other] = [fleet.process('a'), fleet.process('b')];
    await fleet.looked([job]);
    await fleet.pass(60_000);
    other.close();
    await fleet.looked([other]);
    expect(fleet.ticks).toEqual([]);
  });

  it('does what it can of twenty jobs where the store is slower than they ask', async () => {
    const fleet = new Fleet();
    const { time, store } = fleet;
    const calls = { count: 0, last: Promise.resolve() };
    // One connection: each call takes 40 ms, one after another, also of those who gave up.
    const inTurn = <Q, A>(ask: (request: Q) => Promise<A>) => {
      return (request: Q): Promise<A> => {
        calls.count++;
        const own = calls.last.then(() => pause(time, 40)).then(() => ask(request));
        calls.last = own.then(() => void calls.count--);
        return own;
      };
    };
    const face: LockStore = {
      location: store.location,
      lossWindowMs: store.lossWindowMs,
      acquire: inTurn((request) => store.acquire(request)),
      extend: inTurn((request) => store.extend(request)),
      release: inTurn((request) => store.release(request)),
    };
    const ports = { clock: time, monotonic: { now: () => time.passedMs }, timers: time };
    const terms = { ...ports, random: () => 0.5, ttlMs: 3000, callTimeoutMs: 1000 };
    const locks = new DistributedLock(face, terms);
    const jobs = Array.from({ length: 20 }, (_, at) =>
      fleet.process('a', { locks, job: `${at}`, lock: `cron:${at}`, schedule: every(1000) }),
    );
    for (let second = 0; second < 20; second++) {
      for (const job of jobs) void job.look();
      for (let count = 0; count < 25; count++) {
        await time.advance(40);
        for (let turns = 0; turns < 4; turns++) await turn();
      }
    }
    // A run takes four calls, so that it could do 125.
    expect(fleet.ran.length).toBeGreaterThan(40);
    expect(calls.count).toBeLessThan(64);
  });
});

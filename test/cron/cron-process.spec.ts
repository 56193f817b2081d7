/**
 * A process with a job that runs once in a fleet: its clock, its store, its runs, and its shutdown.
 */
import { describe, expect, it } from '@jest/globals';
import { recordText } from '../../lib/cron/cron-record.js';
import type { LockGrant, LockStore } from '../../lib/lock/lock-store.js';
import { DistributedLock, type CronRun } from '../../lib/nest/lock/index.js';
import { SettableTime } from '../../lib/testing/index.js';
import { pause, turn } from '../../lib/time/timers.js';
import { every, Fleet, MINUTE } from './cron-fleet.js';

describe("a job's clocks", () => {
  it("do not start it early if the store's clock is an hour ahead, which is logged", async () => {
    const fleet = new Fleet({ storeMs: 3_600_000 });
    fleet.begun('a', {
      schedule: every(1000),
      run: (run) => {
        expect(run.tick.getTime()).toBeLessThanOrEqual(fleet.time.now() + 1000);
        fleet.note('a', run);
      },
    });
    await fleet.pass(4500);
    expect(fleet.ran.length).toBeGreaterThanOrEqual(4);
    // The store keeps the lock for a while after its clock is correct, and no tick is skipped.
    fleet.off.storeMs = 0;
    await fleet.pass(50_000);
    const ticks = fleet.ran.map(({ at }) => at / 1000);
    expect(ticks.length).toBeGreaterThan(40);
    expect(ticks).toEqual(ticks.map((_, at) => at + 1));
  });

  it.each([3_600_000, -3_600_000])("delay it if the host's clock is off by %s", async (offMs) => {
    const fleet = new Fleet();
    const off = { now: () => fleet.time.now() + offMs };
    const first = fleet.begun('first');
    await fleet.pass(1000);
    void first.close();
    const job = fleet.begun('off', { clock: off });
    await fleet.pass(MINUTE + 1000);
    expect(fleet.ticks).toEqual(offMs > 0 ? [1] : []);
    // A process with a correct clock runs the ticks that the other process leaves.
    fleet.begun('right');
    await fleet.pass(2 * MINUTE);
    expect(fleet.ticks).toEqual([1, 2, 3]);
    void job.close();
  });

  it('are correct after a paused caller has held back the clock of locks', async () => {
    const fleet = new Fleet();
    await fleet.pass(1000);
    const held = await fleet.locks().acquire('other');
    await held.release();
    await fleet.pass(20_000);
    const asleep = { wallMs: 0, nowMs: 1 };
    const slept = {
      lock: 'other',
      holder: 'x',
      label: 'x',
      ttlMs: 1000,
      longestMs: 1000,
      have: 0n,
    };
    const answer = await fleet.store.acquire({ ...slept, clocks: asleep });
    expect(answer).toMatchObject({ status: 'ok' });
    const { nowMs, timeMs } = answer as Required<LockGrant>;
    expect(timeMs - nowMs).toBeGreaterThan(10_000);
    fleet.begun('a');
    await fleet.pass(MINUTE - 20_000);
    expect(fleet.ticks).toEqual([1]);
  });

  it('are both behind its record, which is logged', async () => {
    const fleet = new Fleet();
    const held = await fleet.locks().acquire('cron:report');
    const settledMs = fleet.time.now() + 3_600_000;
    const { text: schedule } = every(MINUTE);
    await held.writeNote(recordText({ schedule, application: 'shop', settledMs, runs: [] }));
    await held.release();
    fleet.begun('a');
    await fleet.pass(3 * MINUTE);
    expect(fleet.ticks).toEqual([]);
    expect(fleet.events).toMatchObject([{ kind: 'ahead', job: 'report', settledMs }]);
  });
});

describe("a job's process", () => {
  it('does not start a run whose lock was lost during a pause', async () => {
    const fleet = new Fleet();
    const stopped = new SettableTime();
    const extend = fleet.store.extend.bind(fleet.store);
    fleet.store.extend = async (request) => {
      const answer = await extend(request);
      // The process wakes with the response after its lock has expired.
      if (request.note?.includes('"running"') === true) await stopped.advance(11_000);
      return answer;
    };
    const job = fleet.begun('a', { locks: fleet.locks(stopped) });
    await fleet.pass(MINUTE);
    void job.close();
    expect(fleet.ticks).toEqual([]);
    fleet.store.extend = extend;
    fleet.begun('b');
    await fleet.pass(12_000);
    expect(fleet.ran.map(({ by, at }) => [by, at / MINUTE])).toEqual([['b', 1]]);
  });

  it('writes the end of a run when the store is back, so that it is not repeated', async () => {
    const fleet = new Fleet();
    const extend = fleet.store.extend.bind(fleet.store);
    let failureCount = 0;
    fleet.store.extend = async (request) => {
      const isEnd = request.note?.includes('"done"') === true;
      if (isEnd && failureCount++ < 3) throw new Error('The store is away.');
      return extend(request);
    };
    fleet.begun('a');
    fleet.begun('b');
    await fleet.pass(MINUTE + 30_000);
    expect([failureCount > 3, fleet.ticks]).toEqual([true, [1]]);
  });

  it('continues after a run that hangs and has lost its lock', async () => {
    const fleet = new Fleet();
    const lost = fleet.beginsAndDies('a', { holdAtMostMs: 90_000 });
    await fleet.pass(MINUTE);
    expect(lost.status.isRunning).toBe(true);
    await fleet.pass(100_000);
    expect(fleet.ran.map(({ by, at }) => [by, at / MINUTE])).toEqual([
      ['a', 1],
      ['a', 2],
    ]);
    void lost.close();
  });

  it('logs each outage of the store once, and runs when it is back', async () => {
    const fleet = new Fleet();
    const acquire = fleet.store.acquire.bind(fleet.store);
    let askedCount = 0;
    const refuse = () => {
      askedCount++;
      return Promise.reject(new Error('The store is away.'));
    };
    fleet.store.acquire = refuse;
    fleet.begun('a');
    await fleet.pass(MINUTE + 10_000);
    expect(askedCount).toBeGreaterThan(3);
    expect(fleet.kinds('unavailable')).toHaveLength(1);
    fleet.store.acquire = acquire;
    await fleet.pass(5000);
    expect(fleet.ticks).toEqual([1]);
    fleet.store.acquire = refuse;
    await fleet.pass(2 * MINUTE);
    expect(fleet.kinds('unavailable')).toHaveLength(2);
  });

  it('logs once that another application has a job of the same name', async () => {
    const fleet = new Fleet();
    const first = fleet.begun('a');
    await fleet.pass(MINUTE + 1000);
    void first.close();
    const other = fleet.begun('b', { application: 'mail' });
    await fleet.pass(3 * MINUTE);
    const shared = { kind: 'shared', job: 'report', application: 'shop' };
    expect(fleet.kinds('shared')).toEqual([shared]);
    expect(other.status.sharedWith).toBe('shop');
    expect((await fleet.record()).application).toBe('mail');
    // The job continues, because an application may have a new name.
    expect(fleet.ticks).toEqual([1, 2, 3, 4]);
  });

  it('passes a run its context, without a way to overwrite the record', async () => {
    const fleet = new Fleet();
    const runs: CronRun[] = [];
    fleet.begun('a', { run: (run) => void runs.push(run) });
    await fleet.pass(MINUTE + 1000);
    const names = 'assertHeld attempt closing leftMs signal skippedCount tick token'.split(' ');
    expect(Object.keys(runs[0]!).toSorted()).toEqual(names);
    expect(runs[0]!.attempt).toBe(1);
    expect((await fleet.record()).runs[0]!.outcome).toBe('done');
  });

  it('runs the job on demand between its ticks, and never two runs at once', async () => {
    const fleet = new Fleet();
    let end = (): void => undefined;
    const run = (one: CronRun) => {
      fleet.note('a', one);
      return new Promise<void>((resolve) => (end = resolve));
    };
    const job = fleet.begun('a', { run });
    await fleet.pass(30_000);
    const now = job.runNow();
    await fleet.pass(40_000);
    // The tick waits for the manual run.
    expect(fleet.ticks).toEqual([0.5]);
    const isHeld = async (asked: Promise<void>) => {
      const code = asked.catch((error: { code: string }) => error.code);
      await fleet.pass(2000);
      expect(await code).toBe('LOCK_HELD');
    };
    await isHeld(fleet.process('b').runNow());
    end();
    await now;
    await fleet.pass(10_000);
    expect(fleet.ticks).toEqual([0.5, 1]);
    await isHeld(job.runNow());
    end();
    await fleet.pass(1000);
    const failing = fleet.process('c', { run: () => Promise.reject(new Error('no paper')) });
    await expect(failing.runNow()).rejects.toThrow('no paper');
    const { runs } = await fleet.record();
    expect(runs.map(({ outcome }) => outcome)).toEqual(['done']);
  });

  it('runs as many of twenty jobs as a slow store allows', async () => {
    const fleet = new Fleet();
    const { time, store } = fleet;
    const calls = { count: 0, last: Promise.resolve() };
    // One connection: each call takes 40 ms in turn, including calls whose callers timed out.
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
    for (let at = 0; at < 20; at++) {
      const own = { job: `${at}`, lock: `cron:${at}`, schedule: every(1000) };
      fleet.begun('a', { locks, ...own });
    }
    for (let step = 0; step < 500; step++) {
      await time.advance(40);
      for (let turns = 0; turns < 4; turns++) await turn();
    }
    // A run takes four calls, so at most 125 runs are possible.
    expect(fleet.ran.length).toBeGreaterThan(40);
    expect(calls.count).toBeLessThan(64);
  });
});

describe('a shutdown', () => {
  const untilTold = ({ closing }: CronRun) =>
    new Promise<void>((_, reject) => {
      closing.addEventListener('abort', () => reject(closing.reason as Error));
    });

  it('starts nothing afterwards', async () => {
    const fleet = new Fleet();
    const job = fleet.begun('a');
    await fleet.pass(1000);
    void job.close();
    await fleet.pass(2 * MINUTE);
    expect([fleet.ticks, fleet.time.timerCount]).toEqual([[], 0]);
  });

  it('aborts a run, and the next process repeats it at once', async () => {
    const fleet = new Fleet();
    const first = fleet.begun('a', { run: untilTold });
    await fleet.pass(MINUTE + 1000);
    void first.close();
    await fleet.pass(0);
    const ended = { kind: 'ended', outcome: 'interrupted', error: { code: 'NOT_READY' } };
    expect(fleet.events.at(-1)).toMatchObject(ended);
    const attempts: number[] = [];
    fleet.begun('b', { run: ({ attempt }) => void attempts.push(attempt) });
    await fleet.pass(500);
    expect(attempts).toEqual([1]);
    const { runs } = await fleet.record();
    expect(runs.map(({ outcome }) => outcome)).toEqual(['done', 'interrupted']);
  });

  it('records the end of a run that it did not wait for', async () => {
    const fleet = new Fleet();
    const dying = fleet.beginsAndDies('a');
    await fleet.pass(MINUTE);
    void dying.close();
    await fleet.pass(0);
    expect((await fleet.record()).runs[0]).toMatchObject({ outcome: 'running', isClosing: true });
    fleet.begun('b');
    await fleet.pass(12_000);
    expect(fleet.kinds('gone')).toMatchObject([{ run: { outcome: 'interrupted' } }]);
    expect(fleet.ran.map(({ by }) => by)).toEqual(['a', 'b']);
  });

  it('never overwrites the end of a run', async () => {
    const fleet = new Fleet();
    let end = (): void => undefined;
    const job = fleet.begun('a', { run: () => new Promise<void>((resolve) => (end = resolve)) });
    await fleet.pass(MINUTE);
    const extend = fleet.store.extend.bind(fleet.store);
    // The first request gets the last response.
    fleet.store.extend = async (request) => {
      if (request.note?.includes('isClosing') === true) await pause(fleet.time, 1000);
      return extend(request);
    };
    const release = fleet.store.release.bind(fleet.store);
    fleet.store.release = async (request) => {
      await pause(fleet.time, 1500);
      return release(request);
    };
    void job.close();
    end();
    await fleet.pass(5000);
    expect((await fleet.record()).runs[0]!.outcome).toBe('done');
  });

  it('aborts the signal of a run when its time is over', async () => {
    const fleet = new Fleet();
    const signals: AbortSignal[] = [];
    const job = fleet.begun('a', {
      run: ({ signal }) => (signals.push(signal), new Promise(() => {})),
    });
    await fleet.pass(MINUTE);
    void job.close();
    await fleet.pass(0);
    expect(signals[0]!.aborted).toBe(false);
    job.end();
    expect(signals[0]!.reason).toMatchObject({ code: 'NOT_READY' });
  });

  it('during the write of a run does not start the run', async () => {
    const fleet = new Fleet();
    const job = fleet.begun('a');
    const extend = fleet.store.extend.bind(fleet.store);
    fleet.store.extend = async (request) => {
      if (request.note?.includes('"running"') === true) void job.close();
      return extend(request);
    };
    await fleet.pass(MINUTE + 1000);
    expect(fleet.ticks).toEqual([]);
    expect((await fleet.record()).runs[0]!.outcome).toBe('interrupted');
  });
});

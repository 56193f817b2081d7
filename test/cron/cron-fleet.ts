/**
 * A fleet of processes with a job that runs once, on memory locks whose time a test sets.
 */
import { MemoryLocks, type MemoryRows } from '../../lib/index.js';
import { OnceJob, type CronEvent, type OnceJobParts } from '../../lib/cron/cron-once.js';
import { recordIn } from '../../lib/cron/cron-record.js';
import type { Schedule } from '../../lib/cron/schedule.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { DistributedLock, type CronRun } from '../../lib/nest/lock/index.js';
import { SettableTime } from '../../lib/testing/index.js';
import { turn } from '../../lib/time/timers.js';

export const MINUTE = 60_000;

export const every = (ms: number): Schedule => ({
  text: `every ${ms} ms`,
  next: (afterMs) => (Math.floor(afterMs / ms) + 1) * ms,
});

/** Processes of a fleet on one lock store and one clock. */
export class Fleet {
  readonly time: SettableTime;
  readonly store: LockStore;
  readonly ran: { readonly at: number; readonly by: string; readonly token: bigint }[] = [];
  readonly events: CronEvent[] = [];
  readonly startMs: number;

  /** @param off the error of the store's clock @param atMs the start time */
  constructor(
    readonly off = { storeMs: 0 },
    atMs?: number,
  ) {
    this.time = new SettableTime(atMs);
    this.startMs = Math.floor(this.time.now() / MINUTE) * MINUTE;
    this.store = new MemoryLocks({ clock: { now: () => this.time.now() + off.storeMs } });
  }

  /** @param own the timers of a paused process, whose elapsed time is added */
  locks(own?: SettableTime, store = this.store): DistributedLock {
    const { time } = this;
    const addedMs = () => own?.passedMs ?? 0;
    return new DistributedLock(store, {
      clock: { now: () => time.now() + addedMs() },
      monotonic: { now: () => time.passedMs + addedMs() },
      timers: own ?? time,
      random: () => 0.5,
    });
  }

  process(by: string, more: Partial<OnceJobParts> = {}) {
    return new OnceJob({
      locks: this.locks(),
      clock: this.time,
      timers: this.time,
      random: () => 0.5,
      job: 'report',
      lock: 'cron:report',
      by,
      application: 'shop',
      schedule: every(MINUTE),
      lateMs: MINUTE,
      missed: 'once',
      attempts: 3,
      holdAtMostMs: 3_600_000,
      run: (run) => this.note(by, run),
      notify: (event) => void this.events.push(event),
      ...more,
    });
  }

  /** A process that works from now on. */
  begun(by: string, more: Partial<OnceJobParts> = {}): OnceJob {
    const job = this.process(by, more);
    void job.begin();
    return job;
  }

  note(by: string, { tick, token }: CronRun): void {
    this.ran.push({ at: tick.getTime() - this.startMs, by, token });
  }

  /** Its lock is not renewed, and its run never ends. */
  beginsAndDies(by: string, more: Partial<OnceJobParts> = {}): OnceJob {
    const stopped = new SettableTime();
    const run = (one: CronRun) => {
      this.note(by, one);
      return new Promise(() => {});
    };
    return this.begun(by, { locks: this.locks(stopped), run, ...more });
  }

  /** Loses all data, including the note with the record. */
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

  get ticks(): number[] {
    return this.ran.map(({ at }) => at / MINUTE);
  }

  kinds(kind: CronEvent['kind']): CronEvent[] {
    return this.events.filter((event) => event.kind === kind);
  }
}

/**
 * `@CronOnce` in Nest applications that share their locks in memory, with time that the test moves.
 * The start refuses every invalid declaration.
 */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, Logger, Module, Scope, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { CronEvent } from '../../lib/cron/cron-once.js';
import { recordIn } from '../../lib/cron/cron-record.js';
import { MemoryLocks } from '../../lib/index.js';
import { CronLog } from '../../lib/nest/lock/cron-log.js';
import { lockOfJob } from '../../lib/nest/lock/cron-once.js';
import {
  CronJobs,
  CronOnce,
  DistributedLock,
  LockModule,
  type CronModuleOptions,
  type CronRun,
} from '../../lib/nest/lock/index.js';
import { SettableTime } from '../../lib/testing/index.js';
import { turn } from '../../lib/time/timers.js';

const MINUTE = 60_000;

type Without<E> = E extends unknown ? Omit<E, 'job'> : never;
type CronEventOf = Without<CronEvent>;
/** A run whose process has died. */
const GONE = { tickMs: 0, startedAtMs: 1, tookMs: 9, token: 5n, by: 'app 7', skippedCount: 0 };

/** What the module of an application contains. */
interface Given {
  readonly providers?: readonly object[];
  readonly modules?: readonly object[];
  readonly cron?: CronModuleOptions;
  readonly application?: string;
}

const open: INestApplicationContext[] = [];

class Apps {
  readonly time = new SettableTime(Date.UTC(2026, 5, 1, 2, 59));
  readonly store = new MemoryLocks({ clock: this.time });

  async start({ providers = [], modules = [], cron = {}, application = 'shop' }: Given) {
    const { time } = this;
    const ports = { clock: time, monotonic: { now: () => time.passedMs }, timers: time };
    class App {}
    const locks = LockModule.forRootAsync({
      useFactory: async () => ({ locks: this.store, application, cron, ...ports }),
    });
    Module({ imports: [locks, ...(modules as [])], providers: [...(providers as [])] })(App);
    const options = { logger: false, abortOnError: false } as const;
    const app = await NestFactory.createApplicationContext(App, options);
    open.push(app);
    return app;
  }

  async pass(ms: number): Promise<void> {
    await this.time.advance(ms);
    for (let count = 0; count < 20; count++) await turn();
  }
}

/** Starts an application and returns its configuration errors. */
async function faultsOf(given: Given): Promise<string> {
  return new Apps().start(given).then(
    () => 'started',
    (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
  );
}

afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(open.splice(0).map((app) => app.close()));
});

describe('@CronOnce', () => {
  it('runs each tick once in three applications that share their locks', async () => {
    const apps = new Apps();
    const ran: CronRun[] = [];
    @Injectable()
    class Reports {
      readonly word = 'this';
      @CronOnce('* * * * *', { timeZone: 'Europe/Berlin' })
      async each(run: CronRun): Promise<void> {
        expect(this.word).toBe('this');
        ran.push(run);
      }
    }
    const all = [];
    for (let at = 0; at < 3; at++) all.push(await apps.start({ providers: [Reports] }));
    await apps.pass(3 * MINUTE + 1000);
    const ticks = ran.map(({ tick }) => tick.toJSON().slice(11, 16));
    expect(ticks).toEqual(['03:00', '03:01', '03:02']);
    expect(ran[1]!.token > ran[0]!.token).toBe(true);
    const [noted] = await all[0]!.get(DistributedLock).notes();
    expect(noted!.lock).toBe('cron:Reports.each');
    expect(recordIn(noted!.note)!.schedule).toBe('* * * * * Europe/Berlin');
    const [status] = all[0]!.get(CronJobs).status();
    expect(status).toMatchObject({ job: 'Reports.each', isRunning: false, sharedWith: undefined });
    const closed = Promise.all(open.splice(0).map((app) => app.close()));
    await apps.pass(2 * MINUTE);
    await closed;
    expect(ran).toHaveLength(3);
  });

  it('uses UTC if no time zone is set, and warns if the process has another zone', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const zone = jest.spyOn(Intl.DateTimeFormat.prototype, 'resolvedOptions');
    const apps = new Apps();
    const ran: string[] = [];
    class Reports {
      @CronOnce('0 3 * * *')
      nightly({ tick }: CronRun): void {
        ran.push(tick.toJSON());
      }
    }
    zone.mockReturnValue({ timeZone: 'Asia/Tokyo' } as Intl.ResolvedDateTimeFormatOptions);
    await apps.start({ providers: [Reports] });
    zone.mockReturnValue({ timeZone: 'UTC' } as Intl.ResolvedDateTimeFormatOptions);
    await apps.start({ providers: [Reports] });
    await apps.pass(2 * MINUTE);
    expect(ran).toEqual(['2026-06-01T03:00:00.000Z']);
    const all = warn.mock.calls.map(([text]) => String(text));
    const said = all.filter((text) => text.includes('by UTC'));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain("cron: { timeZone: 'Asia/Tokyo' }");
  });

  it('uses the time zone of the module, its own zone or an offset', async () => {
    class Reports {
      @CronOnce('0 3 * * *')
      one(): void {}
      @CronOnce('0 3 * * *', { timeZone: 'Asia/Tokyo' })
      two(): void {}
      @CronOnce('0 3 * * *', { utcOffset: -60 })
      three(): void {}
    }
    const cron = { timeZone: 'Europe/Berlin' };
    const app = await new Apps().start({ providers: [Reports], cron });
    const zones = app.get(CronJobs).status();
    expect(zones.map(({ job, schedule }) => `${job} ${schedule}`)).toEqual([
      'Reports.one 0 3 * * * Europe/Berlin',
      'Reports.three 0 3 * * * UTC-60 min',
      'Reports.two 0 3 * * * Asia/Tokyo',
    ]);
  });

  it('does not change direct calls of the method', async () => {
    class Reports {
      @CronOnce('0 3 * * *')
      async nightly(run?: Partial<CronRun>): Promise<string> {
        return `the report of ${run?.tick?.toISOString() ?? 'no time'}`;
      }
    }
    expect(await new Reports().nightly()).toBe('the report of no time');
    const app = await new Apps().start({ providers: [Reports] });
    expect(await app.get(Reports).nightly({ tick: new Date(0) })).toMatch(/1970/);
    expect(await app.get(Reports).nightly()).toBe('the report of no time');
  });

  it('names an inherited job after the class of the object', async () => {
    class Base {
      @CronOnce('0 3 * * *')
      nightly(): void {}
    }
    class Sales extends Base {}
    class Stock extends Base {}
    const app = await new Apps().start({ providers: [Sales, Stock] });
    const jobs = app.get(CronJobs).status();
    expect(jobs.map(({ job }) => job)).toEqual(['Sales.nightly', 'Stock.nightly']);
  });

  it('accepts several decorators on a method if they have names', async () => {
    class Reports {
      @CronOnce('0 4 * * *', { name: 'second' })
      @CronOnce('0 3 * * *')
      nightly(): void {}
    }
    const app = await new Apps().start({ providers: [Reports] });
    const jobs = app.get(CronJobs).status();
    expect(jobs.map(({ job }) => job)).toEqual(['Reports.nightly', 'second']);
  });

  it('runs one job for a provider with two names', async () => {
    class Reports {
      @CronOnce('0 3 * * *')
      nightly(): void {}
    }
    const providers = [Reports, { provide: 'alias', useExisting: Reports }];
    const app = await new Apps().start({ providers });
    expect(app.get(CronJobs).status()).toHaveLength(1);
  });

  it('keeps the metadata of other decorators on the method', () => {
    const Mark = (target: object, name: string | symbol, descriptor: PropertyDescriptor) =>
      Reflect.defineMetadata('mark', 'kept', descriptor.value as object);
    class Reports {
      @CronOnce('0 3 * * *')
      @Mark
      async nightly(): Promise<void> {}
    }
    const method = Object.getOwnPropertyDescriptor(Reports.prototype, 'nightly')!.value as object;
    expect(Reflect.getMetadata('mark', method)).toBe('kept');
  });

  it('gives the lock a valid name, however long the name of the job is', () => {
    for (const job of ['Reports.nightly', 'x'.repeat(123), 'y'.repeat(500), 'a|b c:d']) {
      expect(lockOfJob(job)).toMatch(/^cron:[^\s|]+$/);
      expect(lockOfJob(job).length).toBeLessThanOrEqual(128);
    }
  });
});

describe('a run that hangs', () => {
  it.each([
    ['* * * * * *', 5],
    ['* * * * *', 10],
    ['0 3 * * *', 24 * 60],
  ])('of the schedule %s is given up after %s minutes by default', async (schedule, minutes) => {
    const apps = new Apps();
    const app = await apps.start({});
    const jobs = app.get(CronJobs);
    // Only the first run hangs, because the next one starts when the hanging run is given up.
    const runs = [new Promise<void>(() => {})];
    jobs.add('hangs', schedule, () => runs.pop());
    const tooLong = () => jobs.status()[0]!.runCounts['too-long'];
    await apps.pass(2 * MINUTE);
    const begunMs = apps.time.now() - jobs.status()[0]!.runningMs!;
    await apps.pass(begunMs + minutes * MINUTE - 1000 - apps.time.now());
    expect(tooLong()).toBe(0);
    await apps.pass(5000);
    expect(tooLong()).toBe(1);
  });
});

describe('the configuration of jobs', () => {
  class Reports {
    readonly ran: string[] = [];

    @CronOnce('0 3 * * *', { timeZone: 'Asia/Tokyo' })
    nightly(): void {
      this.ran.push('nightly');
    }

    @CronOnce({ name: 'cleanup' })
    cleanup(): void {
      this.ran.push('cleanup');
    }
  }

  it('overrides the decorator, even after injection, except for undefined values', async () => {
    const jobs = { 'Reports.nightly': { schedule: '0 4 * * *', timeZone: undefined } };
    const cron = { jobs: { ...jobs, cleanup: '* * * * *' } };
    const app = await new Apps().start({ providers: [Reports], cron });
    const status = app.get(CronJobs).status();
    expect(status.map(({ schedule }) => schedule)).toEqual([
      '0 4 * * * Asia/Tokyo',
      '* * * * * UTC',
    ]);
  });

  it('can disable a job, which is then not validated', async () => {
    class Wrong {
      @CronOnce('no schedule', { disabled: true, timeZone: 'Mars/Base' })
      never(): void {}
    }
    const cron = { jobs: { cleanup: false as const, 'Reports.nightly': undefined } };
    const app = await new Apps().start({ providers: [Reports, Wrong], cron });
    const status = app.get(CronJobs).status();
    expect(status.map(({ job }) => job)).toEqual(['Reports.nightly']);
  });

  it('runs no job on schedule if `enabled` is false, but still runs jobs on demand', async () => {
    const apps = new Apps();
    const cron = { enabled: false, jobs: { cleanup: '* * * * *' } };
    const app = await apps.start({ providers: [Reports], cron });
    await apps.pass(3 * MINUTE);
    expect(app.get(Reports).ran).toEqual([]);
    expect(app.get(CronJobs).status()).toEqual([]);
    await app.get(CronJobs).runNow('cleanup');
    expect(app.get(Reports).ran).toEqual(['cleanup']);
  });
});

describe('CronJobs', () => {
  it('adds a job, replaces the job of the same name, and removes it', async () => {
    const apps = new Apps();
    const app = await apps.start({});
    const jobs = app.get(CronJobs);
    const ran: string[] = [];
    const run = ({ tick }: CronRun) => void ran.push(tick.toJSON().slice(11, 16));
    jobs.add('mails', '* * * * *', run);
    jobs.add('mails', '* * * * *', run);
    await apps.pass(2 * MINUTE + 1000);
    expect(ran).toEqual(['03:00', '03:01']);
    jobs.add('mails', '*/5 * * * *', run, { timeZone: 'Europe/Berlin' });
    await apps.pass(6 * MINUTE);
    expect(ran).toEqual(['03:00', '03:01', '03:05']);
    jobs.remove('mails');
    await apps.pass(6 * MINUTE);
    expect([ran.length, jobs.status()]).toEqual([3, []]);
    const refused = { code: 'ARGUMENT_INVALID' };
    expect(() => jobs.add('', '* * * * *', run)).toThrow(expect.objectContaining(refused));
    expect(() => jobs.add('x', 'L', run)).toThrow('5 or 6 parts');
    await expect(jobs.runNow('mails')).rejects.toMatchObject(refused);
  });

  it('runs a job immediately, and throws the error of the job', async () => {
    const app = await new Apps().start({});
    const jobs = app.get(CronJobs);
    jobs.add('mails', '0 3 * * *', () => Promise.reject(new Error('no paper')));
    await expect(jobs.runNow('mails')).rejects.toThrow('no paper');
    const [record] = await jobs.records();
    expect(record).toMatchObject({ job: 'mails', runs: [], nextMs: Date.UTC(2026, 5, 1, 3) });
  });
});

describe('an invalid job configuration', () => {
  it('is refused at the start, together with all others', async () => {
    const wrong = { utcOffset: 60, timeZone: 'UTC', disabled: 'no', every: 3 } as object;
    class Reports {
      @CronOnce('* * * * *', wrong)
      each(): void {}
      @CronOnce('* * * * *', { name: 'one', attempts: 0 })
      first(): void {}
      @CronOnce('* * * * *', { name: 'two', holdAtMostMs: 5 })
      second(): void {}
      @CronOnce('* * * * *', { name: 'same' })
      third(): void {}
      @CronOnce('* * * * *', { name: 'same' })
      fourth(): void {}
      @CronOnce('0 0 L * *')
      fifth(): void {}
      @CronOnce('0 0 30 2 *')
      sixth(): void {}
      @CronOnce('0 0 * * *', { timeZone: 'Mars/Base' })
      seventh(): void {}
      @CronOnce({ name: 'bare' })
      eighth(): void {}
      @CronOnce('0 0 * * *')
      static ninth(): void {}
    }
    const cron = { enabled: 1, jobs: { barr: false }, job: {} } as object;
    const failure = await faultsOf({ providers: [Reports], cron });
    expect(failure).toMatch(/^CONFIG_INVALID/);
    for (const part of [
      '@CronOnce on Reports.each of App: ',
      '`timeZone` or `utcOffset`, got both',
      '`disabled`',
      '`every`',
      '`attempts`',
      '`holdAtMostMs`',
      '"same" is the job of Reports.third of App as well',
      'Reports.fifth of App: Expected the day of the month',
      '"0 0 30 2 * ',
      'is never due',
      '"Mars/Base"',
      'Reports.eighth of App: It has no schedule',
      'Reports.ninth: A static method',
      '`cron.enabled`',
      '`cron.jobs` has "barr", and no job is called so. Did you mean bare?',
      '`job`',
    ]) {
      expect(failure).toContain(part);
    }
  });

  it.each([null, 'nightly'])('may be a job map that is no object: %s', async (jobs) => {
    const failure = await faultsOf({ providers: [], cron: { jobs } as object });
    expect(failure).toMatch(/Expected `cron.jobs` to be an object, got [^\n]*$/);
  });

  it('may be an unknown time zone of the module', async () => {
    expect(await faultsOf({ cron: { timeZone: 'Venus/Base' } })).toContain('"Venus/Base"');
  });

  it('may be a class that two modules provide, and the error names both', async () => {
    class Reports {
      @CronOnce('0 3 * * *')
      nightly(): void {}
    }
    class One {}
    class Two {}
    for (const module of [One, Two]) Module({ providers: [Reports] })(module);
    const failure = await faultsOf({ modules: [One, Two] });
    expect(failure).toMatch(/Reports.nightly of Two: .*Reports.nightly of One as well/);
    expect(failure).toContain('Provide the class in one module');
  });

  it.each([
    ['with request scope', { scope: Scope.REQUEST }],
    ['with transient scope', { scope: Scope.TRANSIENT }],
  ])('may be a provider %s', async (_, scope) => {
    @Injectable(scope)
    class Reports {
      @CronOnce('0 3 * * *')
      nightly(): void {}
    }
    expect(await faultsOf({ providers: [Reports] })).toMatch(/Reports.nightly of App: Its class/);
  });

  it('may be a minified class name, unless the job has its own name', async () => {
    class R {
      @CronOnce('0 3 * * *')
      nightly(): void {}
      @CronOnce('0 3 * * *', { name: 'named' })
      named(): void {}
    }
    const failure = await faultsOf({ providers: [R] });
    expect(failure).toContain('@CronOnce on R.nightly of App: Its class has a name');
    expect(failure).not.toContain('R.named');
  });

  it('may lack LockModule, which Nest itself reports', async () => {
    class Reports {
      @CronOnce('0 3 * * *')
      nightly(): void {}
    }
    class App {}
    Module({ providers: [Reports] })(App);
    const options = { logger: false, abortOnError: false } as const;
    const starts = NestFactory.createApplicationContext(App, options);
    await expect(starts).rejects.toThrow(/CronJobs/);
  });
});

describe('the log of jobs', () => {
  it('has an error if another application uses the same job name', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const apps = new Apps();
    class Tasks {
      @CronOnce('* * * * *')
      handleCron(): void {}
    }
    await apps.start({ providers: [Tasks] });
    await apps.pass(2 * MINUTE);
    const other = await apps.start({ providers: [Tasks], application: 'mail' });
    await apps.pass(5 * MINUTE);
    const said = error.mock.calls.map(([text]) => String(text));
    const ofOther = said.filter((text) => text.includes('the application shop as well'));
    expect(ofOther).toHaveLength(1);
    expect(ofOther[0]).toMatch(/`namespace`.*`name`/s);
    const [status] = other.get(CronJobs).status();
    expect(status!.sharedWith).toBe('shop');
  });

  it('has the error of each failed run, and later runs continue', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const apps = new Apps();
    class Reports {
      @CronOnce('* * * * *')
      each(): never {
        throw new Error('no paper');
      }
    }
    const app = await apps.start({ providers: [Reports] });
    await apps.pass(2 * MINUTE + 1000);
    expect(error.mock.calls.map(([one]) => (one as Error).message)).toEqual([
      'no paper',
      'no paper',
    ]);
    expect(app.get(CronJobs).status()[0]!.runCounts).toMatchObject({ failed: 2, done: 0 });
  });

  it.each<[CronEventOf, 'error' | 'warn' | undefined, RegExp]>([
    [{ kind: 'began', tickMs: 0, skippedCount: 0 }, undefined, /^$/],
    [{ kind: 'began', tickMs: 0, skippedCount: 7 }, 'warn', /^mails was late: 7 ticks/],
    [{ kind: 'ended', tickMs: 0, tookMs: 5, outcome: 'done' }, undefined, /^$/],
    [{ kind: 'ended', tickMs: 0, tookMs: 5, outcome: 'too-long' }, 'error', /ran for 5 ms/],
    [{ kind: 'gone', run: { ...GONE, outcome: 'lost' } }, 'warn', /app 7 is gone.*higher token/],
    [{ kind: 'gone', run: { ...GONE, outcome: 'given-up' } }, 'error', /`runNow` does it/],
    [{ kind: 'gone', run: { ...GONE, outcome: 'too-long' } }, 'error', /took 9 ms/],
    [{ kind: 'gone', run: { ...GONE, outcome: 'interrupted' } }, 'warn', /was shut down/],
    [
      { kind: 'skipped', tickMs: 0, skippedCount: 3 },
      'warn',
      /too late for its tick of 1970.*3 earlier ticks/,
    ],
    [{ kind: 'forgotten', skippedCount: 4 }, 'warn', /lost the record of mails.*4 ticks/],
    [{ kind: 'shared', application: 'shop' }, 'error', /application shop as well/],
    [{ kind: 'ahead', settledMs: 8.7e15, nowMs: 1000 }, 'warn', /8700000000000000/],
    [{ kind: 'unavailable', error: new Error('no way') }, 'warn', /waits for its lock.*no way/],
  ])('reports the event %j at level %s, with what to do', (event, level, text) => {
    const said = { error: '', warn: '' };
    for (const name of ['error', 'warn'] as const) {
      const note = (line: unknown) => void (said[name] += String(line));
      jest.spyOn(Logger.prototype, name).mockImplementation(note);
    }
    new CronLog().note({ job: 'mails', ...event } as CronEvent);
    expect(level === undefined ? `${said.error}${said.warn}` : said[level]).toMatch(text);
    expect([said.error !== '', said.warn !== '']).toEqual([level === 'error', level === 'warn']);
  });
});

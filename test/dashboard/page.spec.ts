/**
 * The page in a real Chromium: its content, and how it follows changes.
 */
import { hostname } from 'node:os';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplication, Type } from '@nestjs/common';
import { IdMaker, layouts, MemoryLocks, SnowflakeModule } from 'nestjs-snowflake';
import {
  CronOnce,
  DistributedLock,
  LockModule,
  type CronRun,
  type LockStore,
} from 'nestjs-snowflake/lock';
import { SettableTime } from 'nestjs-snowflake/testing';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import type { LocksAnswer, StateAnswer } from '../../lib/dashboard/answers.js';
import { LIBRARY_VERSION } from '../../lib/time/process-identity.js';
import { StoreThatFails } from '../metrics/measured-app.js';
import { startBrowser, Visit } from './browser.js';
import { leaseAs, LowestFirst, showApp, type ShownAppOptions } from './shown-app.js';

describe('page', () => {
  let browser: Browser;
  let app: INestApplication | undefined;
  let visit: Visit;
  let time: SettableTime;
  beforeEach(() => {
    time = new SettableTime();
  });
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    await visit.close();
    await app?.close();
  });

  async function look(
    options: ShownAppOptions = {},
    path = '/snowflake',
    viewer: BrowserContextOptions = {},
  ): Promise<Visit> {
    const { support = new LowestFirst({ clock: time }), workerId } = options.snowflake ?? {};
    const from = workerId === undefined ? { support } : { workerId };
    const snowflake = { ...from, clock: time, timers: time };
    const format = await showApp({ ...options, snowflake });
    app = format.app;
    visit = await Visit.open(browser, format.url + path, viewer);
    return visit;
  }

  /** Advances the time of the application, and lets the page poll until it has this text. */
  async function later(ms: number, where: string, text: string | RegExp): Promise<void> {
    await visit.settled();
    await time.advance(ms);
    await visit.comesToSay(where, text);
  }

  describe('the page', () => {
    it('shows the state of this process', async () => {
      await look();
      app!.get(IdMaker).nextIds(1234);
      await later(2000, '.card', /ids made\s+1,234/);
      expect(await visit.texts('.badge')).toEqual(['generates ids']);
      const [card] = await visit.texts('.card');
      expect(card).toContain(`${hostname()} · pid ${process.pid}`);
      expect(card).toMatch(/worker id\s+0\s+state\s+active\s+lease left\s+58 s/);
      expect(card).toMatch(/ids per second\s+617/);
      expect(await visit.texts('.axis')).toEqual(['1,000\n0']);
      expect(await visit.texts('.chart .scale')).toEqual(['2 min ago\nnow']);
      const line = visit.page.locator('polyline');
      expect(await line.getAttribute('points')).toBe('120.0,7.7');
      expect(card).toContain('the memory of this process');
    });

    it('uses Chinese in a Chinese browser, except for names and messages', async () => {
      const support = new LowestFirst({ clock: time });
      await leaseAs(support, { host: 'No lock is held.', pid: 5, application: 'held here' });
      await look({ snowflake: { support } }, '/snowflake#382366441078288384', { locale: 'zh-CN' });
      await visit.says('.card', /每秒 id 数\s/);
      await visit.says('.badge', '正在生成 id');
      await visit.says('#fleet', /进程\s+2\s+应用\s+2\s/);
      await leaseAs(support, { host: 'late', pid: 33 });
      await later(2000, '#changes', 'Worker id 2 加入：shop（主机 late，pid 33）。');
      expect((await visit.rows())[0]!.slice(2, 4)).toEqual(['held here', 'No lock is held.']);
      const texts = await visit.page.evaluate<string[]>(
        `[...document.querySelectorAll('body *')].filter(
        (one) => !one.matches('script, noscript, option') && !one.closest('#table, .forms')
      ).flatMap(({ childNodes }) => [...childNodes].filter(({ nodeType }) => nodeType === 3)
      ).map(({ textContent }) => textContent.trim())`,
      );
      const isChinese = (text: string) => /\p{sc=Han}/u.test(text);
      const english = texts.filter(
        (text) => /[a-z]{2} [a-z]{2}/.test(text.replace('worker id', '')) && !isChinese(text),
      );
      // The names of the store and of its registry, which is random.
      expect(english.filter((text) => !/^(the )?memory /.test(text))).toEqual([]);
      expect(await visit.page.getAttribute('html', 'lang')).toBe('zh-CN');
    });

    it('shows the holder of each worker ID, and each join and leave while the page is open', async () => {
      const support = new LowestFirst({ clock: time });
      await leaseAs(support, { host: 'a', pid: 11 });
      await time.advance(30_000);
      await look({ snowflake: { support } });
      await visit.says('#legend', '2 held');
      const own = [`${hostname()}`, String(process.pid)];
      expect(await visit.rows()).toEqual([
        ['0', 'held', 'shop', 'a', '11', '', '30 s', '30 s'],
        ['1', 'held, this process', 'shop', ...own, LIBRARY_VERSION, '0 ms', '1 min'],
      ]);
      const joined = await leaseAs(support, { host: 'late', pid: 33, application: 'mail' });
      await later(2000, '#changes', 'Worker id 2 joined: mail on late, pid 33.');
      expect((await visit.rows())[2]!.slice(0, 5)).toEqual(['2', 'held', 'mail', 'late', '33']);
      expect(await visit.texts('#legend li')).toEqual(['3 held', '1,021 free']);
      // Neighbors share one cell of 16 worker IDs.
      const [held] = await visit.page.locator('#map rect.held').all();
      expect(await held!.getAttribute('height')).toBe(String((48 * 3) / 16));
      const figures = (await visit.texts('#fleet')).join();
      expect(figures).toMatch(/processes\s+3\s+applications\s+2\s/);
      expect(figures).toMatch(/versions of the library\s+1\.\d\S+, unknown/);
      expect(figures).toMatch(/in use\s+3 of 1,024\s+longest held\s+32 s\s+newest\s+2 s/);
      expect(figures).toMatch(/first to end\s+28 s/);
      await joined.leave();
      await later(2000, '#changes', 'Worker id 2 left: mail on late, pid 33.');
      expect(await visit.rows()).toHaveLength(2);
      expect(await visit.texts('#legend li')).toEqual(['2 held', '1,022 free']);
    });

    it('shows a lease that expired because its holder crashed', async () => {
      const support = new LowestFirst({ clock: time });
      await leaseAs(support, { host: 'gone', pid: 5 });
      await look({ snowflake: { support } });
      await visit.says('#legend', '2 held');
      const news = 'Worker id 0 was lost: shop on gone, pid 5 did not renew it';
      await later(61_000, '#changes', news);
      expect(await visit.texts('#legend li')).toEqual(['1 held', '1 ended', '1,022 free']);
      expect((await visit.rows())[0]!.slice(0, 2)).toEqual(['0', 'ended']);
    });

    it('shows a store failure, keeps the list, and recovers', async () => {
      const support = new StoreThatFails({ clock: time });
      await look({ snowflake: { support } });
      await visit.says('#legend', '1 held');
      support.isAway = true;
      const problem = 'list of holders could not be read. connection refused';
      await later(2000, '#workers-problem', problem);
      expect(await visit.rows()).toHaveLength(1);
      await later(10_000, '.badge', 'still generates ids');
      await visit.says('#verdict', 'The lease could not be renewed');
      const said = await visit.page.locator('body').innerText();
      expect(said.match(/The lease could not be renewed/g)).toHaveLength(1);
      const runbooks = visit.page.getByRole('link', { name: 'Open the runbook' });
      expect(await runbooks.getAttribute('href')).toMatch(/\/runbooks\.md#degraded$/);
      await visit.says('#changes', 'active to degraded.');
      await later(60_000, '.card', /state\s+stretched/);
      // The reserve of 10 s, which the clock no longer uses up.
      await visit.says('.card', /lasts without the store\s+40,960,000 ids\s/);
      app!.get(IdMaker).nextIds(40_960);
      const left = /lasts without the store\s+40,9\d\d,\d\d\d ids: \d+ min( \d+ s)? at this rate/;
      await later(2000, '.card', left);
      const ids = new BigUint64Array(4_096_000);
      const useUp = () => {
        for (;;) app!.get(IdMaker).fill(ids);
      };
      expect(useUp).toThrow('used up');
      await later(1000, '.badge', 'generates no ids');
      support.isAway = false;
      await later(10_000, '.badge', /generates ids$/);
      await visit.says('#changes', 'to active');
      expect(await runbooks.count()).toBe(0);
      expect((await visit.texts('.card')).join()).not.toContain('lasts without the store');
      expect(await visit.page.locator('#workers-problem').isVisible()).toBe(false);
    });

    it('is marked as outdated after the application stops or denies access', async () => {
      let isAllowed = true;
      await look({ dashboard: { guards: [{ canActivate: () => isAllowed }] } });
      isAllowed = false;
      await visit.comesToSay('#connection', 'may no longer see this page (403). Sign in');
      isAllowed = true;
      await visit.comesToSay('#connection', 'Live from');
      expect(await visit.texts('.badge')).toEqual(['generates ids']);
      expect(await visit.page.locator('.card.old').count()).toBe(0);
      await app!.close();
      app = undefined;
      await visit.comesToSay(
        '#connection',
        'The application does not answer. The data shown is old.',
      );
      expect(await visit.texts('.badge')).toEqual(['no answer']);
      expect(await visit.page.locator('.card.old .badge.down').count()).toBe(1);
      expect(await visit.page.locator('.badge.up').count()).toBe(0);
      await visit.says('.card', /last answer at \d\d:\d\d:\d\d, \d+ (m?s|min) ago/);
      expect(await visit.page.title()).toBe('⚠ Snowflake');
      // The browser itself reports failed requests.
      const failed = /Failed to load resource: .*(403|ERR_CONNECTION_REFUSED)/;
      expect(visit.complaints.filter((text) => !failed.test(text))).toEqual([]);
      visit.complaints.length = 0;
    });

    it('shows the available facts with a static worker ID', async () => {
      await look({ snowflake: { workerId: 7 } });
      await visit.says('#workers-problem', 'There is no store');
      expect(await visit.rows()).toEqual([
        [
          '7',
          'fixed, this process',
          'shop',
          hostname(),
          String(process.pid),
          LIBRARY_VERSION,
          '',
          'no end',
        ],
      ]);
      expect(await visit.texts('#legend li')).toEqual(['1 fixed', 'others: unknown']);
      await visit.says('.card', /lease left\s+no end\s+worker id from\s+the configuration/);
      await visit.says('#layout', '2024-01-01 to 2093-09-06');
    });

    it('shows each generator of the application when a user selects it', async () => {
      const orders = { name: 'orders', layout: layouts.sonyflake(), workerId: 70 };
      await look({ more: { imports: [SnowflakeModule.forRoot(orders)] } });
      await visit.says('#legend', '1 held');
      await visit.page.getByLabel('generator').selectOption('orders');
      await visit.says('#legend', '1 fixed');
      expect((await visit.rows())[0]!.slice(0, 2)).toEqual(['70', 'fixed, this process']);
      await visit.says('#layout', 't39-s8-w16/10ms');
      await visit.page.getByLabel('generator').selectOption('default');
      await visit.says('#legend', '1 held');
    });

    it('displays names from elsewhere as plain text', async () => {
      const support = new LowestFirst({ clock: time });
      const host = '<img src=x onerror=alert(1)>';
      await leaseAs(support, { host, pid: 1, application: '<script>alert(2)</script>' });
      await look({ snowflake: { support } });
      await visit.says('tbody', host);
      expect(await visit.page.locator('#table script, #table img').count()).toBe(0);
    });

    it.each(['/snowflake/', '/snowflake', '/snowflake?from=a-link'])(
      'works at %s',
      async (path) => {
        await look({}, path);
        await visit.says('#legend', '1 held');
        expect(await visit.rows()).toHaveLength(1);
      },
    );

    it('pauses requests while hidden, and resumes at once when visible', async () => {
      await look();
      await visit.says('#legend', '1 held');
      const asked: string[] = [];
      visit.page.on('request', (request) => asked.push(request.url()));
      const setHidden = (isHidden: boolean) =>
        visit.page.evaluate(`
        Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} });
        document.dispatchEvent(new Event('visibilitychange'));
      `);
      await setHidden(true);
      await visit.settled();
      asked.length = 0;
      for (let times = 0; times < 5; times++) await visit.askAgain();
      expect(asked).toEqual([]);
      const answered = visit.page.waitForResponse(/state/);
      await setHidden(false);
      await answered;
    });
  });
});

/*
 * Locks on the page, in a real Chromium: each holder, the operations of this process, and the page
 * if the lock store does not respond.
 */
describe('locks', () => {
  let browser: Browser;
  let app: INestApplication;
  let visit: Visit | undefined;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    await visit?.close();
    visit = undefined;
    await app.close();
  });

  interface ServedJobs {
    readonly providers?: Type[];
    readonly ticks?: boolean;
  }

  /** A store that can fail, for the application and for another process. */
  async function serve({ providers = [], ticks = false }: ServedJobs = {}) {
    const time = new SettableTime();
    // Nest schedules follow the clock of the host.
    const options = { ttlMs: 1000, ...(!ticks && { clock: time, monotonic: time, timers: time }) };
    const memory = new MemoryLocks(ticks ? {} : { clock: time });
    const away = { isAway: false };
    const unlessAway = <A extends unknown[], T>(call: (...args: A) => Promise<T>) => {
      return async (...args: A): Promise<T> => {
        if (away.isAway) throw new Error('connection refused by redis://:secret@host');
        return call(...args);
      };
    };
    const locks: LockStore = {
      location: 'the memory of this test',
      lossWindowMs: 0,
      acquire: unlessAway((request) => memory.acquire(request)),
      extend: unlessAway((request) => memory.extend(request)),
      release: unlessAway((request) => memory.release(request)),
      locks: unlessAway(() => memory.locks()),
      notes: unlessAway(() => memory.notes()),
    };
    const more = { imports: [LockModule.forRoot({ locks, ...options })], providers };
    const format = await showApp({ more });
    app = format.app;
    const other = new DistributedLock(memory, { ...options, application: 'mail' });
    return { url: `${format.url}/snowflake`, time, away, other, own: app.get(DistributedLock) };
  }

  const rows = () =>
    visit!.page.evaluate<string[][]>(
      `[...document.querySelectorAll('#lock-table tbody tr')].map((row) =>
      [...row.children].map((cell) => cell.innerText))`,
    );

  describe('jobs on the page', () => {
    const ofJobs = () =>
      visit!.page.evaluate<string[][]>(
        `[...document.querySelectorAll('#job-table tbody tr')].map((row) =>
        [row.className, ...[...row.children].map((cell) => cell.innerText)])`,
      );

    it('show time, process, and result of each run, and stay if the store fails', async () => {
      let isFailing = false;
      class Reports {
        @CronOnce('* * * * * *', { name: 'each second', timeZone: 'UTC' })
        async each(_run: CronRun): Promise<void> {
          if (isFailing) throw new Error('no paper');
        }

        @CronOnce('0 3 1 1 *', { name: 'yearly', timeZone: 'UTC' })
        async yearly(): Promise<void> {}
      }
      const { url, away } = await serve({ providers: [Reports], ticks: true });
      visit = await Visit.open(browser, url);
      await visit.comesToSay('#job-table', /each second.*done in/s);
      await visit.comesToSay('#job-table', /yearly/);
      const [each, yearly] = (await ofJobs()) as [string[], string[]];
      expect(each.slice(0, 3)).toEqual(['held', 'each second', '* * * * * * UTC']);
      expect(each[6]).toMatch(new RegExp(` ${process.pid} `));
      expect(yearly[3]).toBe('none yet');
      const year = new Date().getUTCFullYear() + 1;
      expect(yearly.at(-1)).toBe(`1 Jan ${year}, 03:00:00 UTC`);
      isFailing = true;
      await visit.comesToSay('#job-table', /each second.*failed in/s);
      expect((await ofJobs())[0]![0]).toBe('ended');
      away.isAway = true;
      await visit.comesToSay('#jobs-problem', 'could not be read. connection refused by');
      expect((await visit.texts('#jobs-problem')).join()).not.toContain('secret');
      expect(await ofJobs()).toHaveLength(2);
      away.isAway = false;
      isFailing = false;
      await visit.comesToSay('#job-table', /each second.*done in/s);
      expect(await visit.texts('#jobs-problem')).toEqual(['']);
    });

    it('include those of other applications; the section is hidden without jobs', async () => {
      const { url, other } = await serve();
      visit = await Visit.open(browser, url);
      await visit.comesToSay('#locks', 'No lock is held.');
      await visit.settled();
      expect(await visit.page.locator('#jobs').isVisible()).toBe(false);
      const held = await other.acquire('cron:theirs');
      const run = { tickMs: 0, startedAtMs: 1000, tookMs: 0, outcome: 'skipped', skippedCount: 3 };
      const runs = [{ ...run, token: '1', by: 'mail' }];
      await held.writeNote(
        JSON.stringify({
          version: '2',
          schedule: '\u001b[31m',
          application: '',
          settledMs: 0,
          runs,
        }),
      );
      await held.release();
      await visit.comesToSay('#job-table', 'skipped, 3 before left out');
      const [theirs] = (await ofJobs()) as [string[]];
      expect(theirs.slice(0, 2)).toEqual(['held', 'theirs']);
      expect(theirs[2]).not.toContain('\u001b');
      expect(theirs.at(-1)).toBe('');
    });
  });

  describe('locks on the page', () => {
    it('appear and disappear with holder and token; own operations are counted', async () => {
      const { url, time, other, own } = await serve();
      visit = await Visit.open(browser, url);
      await visit.comesToSay('#locks', 'No lock is held.');
      const mine = (await own.tryAcquire('order:1'))!;
      const theirs = (await other.tryAcquire('order:2'))!;
      expect(await own.tryAcquire('order:2')).toBeUndefined();
      await other.using('job', { holdAtLeastMs: 60_000 }, async () => undefined);
      const waiting = own.tryAcquire('order:2', { waitMs: 60_000 });
      await visit.comesToSay('#locks', 'order:2');
      const [job, first, second] = (await rows()) as [string[], string[], string[]];
      expect(job.slice(0, 2)).toEqual(['job', 'kept']);
      expect(first.slice(0, 2)).toEqual(['order:1', 'held, this process']);
      expect(first[3]).toBe(String(mine.token));
      expect(second.slice(0, 2)).toEqual(['order:2', 'held']);
      expect(second[2]).toMatch(new RegExp(` ${process.pid} mail$`));
      const terms = (await visit.texts('#lock-terms')).join();
      expect(terms).toMatch(/kept in\s+the memory of this test/);
      expect(terms).toMatch(
        /held here\s+1 lock\s+waited for here\s+1 caller\s+got\s+1\s+refused\s+1/,
      );
      await theirs.release();
      await time.advance(2000);
      await (await waiting)!.release();
      await mine.release();
      await visit.comesToSay('#lock-terms', /held here\s+0 locks/);
      await visit.comesToSay('#lock-table', /^(?!.*order:)/s);
      expect(await rows()).toHaveLength(1);
    });

    it('stay, marked as outdated, if the store fails; lost locks are counted', async () => {
      const { url, time, away, own } = await serve();
      const held = await own.tryAcquire('order:1');
      visit = await Visit.open(browser, url);
      await visit.comesToSay('#lock-table', 'order:1');
      away.isAway = true;
      await time.advance(1500);
      await visit.comesToSay('#locks-problem', 'could not be read. connection refused by');
      await visit.comesToSay('#lock-terms', /lost\s+1$/);
      expect((await visit.texts('#locks-problem')).join()).toMatch(/This list is from [\d:]+\.$/);
      expect((await visit.texts('#locks-problem')).join()).not.toContain('secret');
      expect(await rows()).toHaveLength(1);
      away.isAway = false;
      await visit.comesToSay('#locks', 'No lock is held.');
      expect(await visit.texts('#locks-problem')).toEqual(['']);
      // Keeps a reference: a collected lock is released, not lost.
      expect(held).toBeDefined();
    });

    it('are neither shown nor requested if the application has none', async () => {
      const format = await showApp();
      app = format.app;
      const state = (await (await fetch(`${format.url}/snowflake/state`)).json()) as StateAnswer;
      expect(state.hasLocks).toBe(false);
      const answer = (await (await fetch(`${format.url}/snowflake/locks`)).json()) as LocksAnswer;
      expect(answer).toEqual({ locks: [] });
      expect(await (await fetch(`${format.url}/snowflake/jobs`)).json()).toEqual({ jobs: [] });
      visit = await Visit.open(browser, `${format.url}/snowflake`);
      const asked: string[] = [];
      visit.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      await visit.askAgain();
      await visit.settled();
      expect(asked.filter((path) => /\/(locks|jobs)$/.test(path))).toEqual([]);
      expect(await visit.page.locator('#locks').isVisible()).toBe(false);
    });
  });
});

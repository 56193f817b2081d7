/**
 * The accessible page: no axe-core violations, on a desktop in light colors and on a phone in dark
 * colors, with the keyboard alone, and without layout shifts.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { BitLayout, layouts, MemoryLocks, MemorySupport } from 'nestjs-snowflake';
import { DistributedLock, LockModule } from 'nestjs-snowflake/lock';
import { SettableTime } from 'nestjs-snowflake/testing';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { until } from '../until.js';
import { axed, startBrowser, Visit } from './browser.js';
import { leaseAs, showApp } from './shown-app.js';

describe('access', () => {
  const DESK = { viewport: { width: 1280, height: 900 } };
  const PHONE = { viewport: { width: 320, height: 640 }, isMobile: true, hasTouch: true };
  const LONG_NAME = 'a-very-long-name-of-a-host-without-any-place-to-break-it.example.internal';

  const LONG_LAYOUT = new BitLayout({
    fields: [
      ['timestamp', 39],
      ['continentOfTheDatacenter', 3],
      ['availabilityZone', 3],
      ['rackInTheRoom', 4],
      ['sequence', 8],
      ['numberOfTheShard', 3, 'call'],
      ['kindOfTheRow', 3, 'call'],
    ],
  });

  let browser: Browser;
  let app: INestApplication;
  let visit: Visit;
  let time: SettableTime;
  let support: MemorySupport;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    await visit.close();
    await app.close();
  });

  /** Another holder's worker ID, a long name, a kept worker ID, and two jobs. */
  async function heldLocks() {
    const locks = new MemoryLocks({ clock: time });
    const terms = { label: LONG_NAME, ttlMs: 86_000_000, longestMs: 86_000_000, have: 0n };
    for (const lock of ['order:7', `order:${LONG_NAME}`, 'job']) {
      await locks.acquire({ ...terms, lock, holder: lock });
    }
    await locks.release({ lock: 'job', holder: 'job', keepMs: 86_000_000 });
    for (const outcome of ['done', 'lost']) {
      const job = await new DistributedLock(locks).acquire(`cron:${outcome}`);
      const run = { tickMs: 0, startedAtMs: 0, tookMs: 0, skippedCount: 0, token: '1' };
      const runs = [{ ...run, outcome, by: LONG_NAME }];
      const own = { schedule: '* * * * * UTC', application: 'shop' };
      const record = { version: '2', ...own, settledMs: 0, runs };
      await job.writeNote(JSON.stringify(record));
      await job.release();
    }
    return LockModule.forRoot({ locks });
  }

  /** Every state and color is on the page. */
  async function look(
    viewer: BrowserContextOptions,
    layout: BitLayout = layouts.snowflake(),
  ): Promise<void> {
    time = new SettableTime();
    support = new MemorySupport({ clock: time });
    const { fingerprint } = layout;
    await leaseAs(support, { host: 'crashed', pid: 1, ttlMs: 10_000, fingerprint });
    await time.advance(11_000);
    for (const host of ['b', 'a', LONG_NAME]) await leaseAs(support, { host, pid: 2, fingerprint });
    const left = await leaseAs(support, { host: 'left', pid: 3, fingerprint });
    await left.leave(time.now() + 9999);
    const snowflake = {
      support,
      layout,
      clock: time,
      timers: time,
    };
    const format = await showApp({ snowflake, more: { imports: [await heldLocks()] } });
    app = format.app;
    visit = await Visit.open(browser, `${format.url}/snowflake#382366441078288384`, viewer);
    await visit.says('#legend', '1 resting');
    await visit.says('.id', '382366441078288384');
    await visit.comesToSay('#locks', 'kept');
    await visit.comesToSay('#jobs', 'lost in');
    await leaseAs(support, { host: 'late', pid: 9, fingerprint });
    await time.advance(1000);
    await visit.comesToSay('#changes', 'joined');
  }

  async function violations(): Promise<string[]> {
    // The page waits on its own timers.
    await visit.page.clock.resume();
    const found = await axed(visit.page);
    expect(found.passed).toBeGreaterThan(20);
    return found.violations.map(
      ({ id, target, failureSummary }) => `${id} at ${String(target)}: ${failureSummary}`,
    );
  }

  const widths = () =>
    visit.page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );

  describe.each([
    ['a desktop, in light colors', { ...DESK, colorScheme: 'light' }],
    ['a phone, in dark colors', { ...PHONE, colorScheme: 'dark' }],
  ] as const)('on %s', (_where, viewer) => {
    it('axe finds nothing', async () => {
      await look(viewer);
      expect(await violations()).toEqual([]);
      await visit.page.locator('summary').click();
      await visit.page.getByLabel('id', { exact: true }).fill('none');
      await visit.comesToSay('#id-problem', 'Expected an id');
      expect(await violations()).toEqual([]);
    });

    it.each([
      ['the default layout', layouts.snowflake()],
      ['a layout of many long fields', LONG_LAYOUT],
    ])('no element needs horizontal scrolling for %s', async (_which, layout) => {
      await look(viewer, layout);
      const [content, view] = await widths();
      expect(content).toBeLessThanOrEqual(view);
    });

    it('this process comes first, then the fleet, the reader, and the layout', async () => {
      await look(viewer);
      const tops = await visit.page.evaluate<number[]>(
        `['processes', 'workers', 'id-form', 'layout'].map(
        (id) => document.getElementById(id).getBoundingClientRect().top,
      )`,
      );
      const [process, workers, reader, layout] = tops as [number, number, number, number];
      expect(process).toBeLessThan(workers);
      expect(workers).toBeLessThan(Math.min(reader, layout));
      // On a desktop these are side by side.
      expect(reader).toBeLessThanOrEqual(layout);
    });

    it('the reader is in view after a link to an ID', async () => {
      await look(viewer);
      const [top, height] = await visit.page.evaluate<[number, number]>(
        `[document.getElementById('id-title').getBoundingClientRect().top, innerHeight]`,
      );
      expect(top).toBeLessThan(height);
      expect(top).toBeGreaterThanOrEqual(-5);
    });

    it('a screen reader finds a table with rows, headers, and order', async () => {
      await look(viewer);
      const table = visit.page.getByRole('table', { name: 'Who holds which worker id' });
      expect(await table.getByRole('row').count()).toBe(8);
      const header = table.getByRole('columnheader', { name: 'host' });
      expect(await header.getAttribute('aria-sort')).toBe('none');
      await header.getByRole('button').click();
      expect(await header.getAttribute('aria-sort')).toBe('ascending');
    });
  });

  describe('with the keyboard', () => {
    const focused = () =>
      visit.page.evaluate<string>(
        `(({ id, textContent, localName }) => id || localName + ' ' + textContent)(
        document.activeElement
      )`,
      );

    it('focus visits every control in reading order', async () => {
      await look(DESK);
      const stops: string[] = [];
      for (let stop = 0; stop < 20; stop++) {
        await visit.page.keyboard.press('Tab');
        const stopped = await focused();
        if (stopped.startsWith('body')) break;
        stops.push(stopped);
      }
      expect(stops).toEqual([
        'a Skip to the worker ids',
        expect.stringMatching(/^div .* joined/),
        'filter',
        'button worker id',
        'button state',
        'button application',
        'button host',
        'button pid',
        'button version',
        'button age',
        'button time to ceiling',
        'id-text',
        'id-form-of-text',
        'summary Other text forms',
      ]);
    });

    it('the link at the top skips to the worker IDs', async () => {
      await look(DESK);
      await visit.page.keyboard.press('Tab');
      await visit.page.keyboard.press('Enter');
      await visit.page.keyboard.press('Tab');
      expect(await focused()).toBe('filter');
    });

    it('the table can be sorted and searched, and keeps the focus', async () => {
      await look(DESK);
      const hosts = async () => (await visit.rows()).map((row) => row[3]);
      await visit.page.getByRole('button', { name: 'host' }).focus();
      await visit.page.keyboard.press('Enter');
      const rising = await hosts();
      const order = new Intl.Collator();
      expect(rising).toEqual(rising.toSorted((a, b) => order.compare(a!, b!)));
      expect(rising).toHaveLength(7);
      await time.advance(1000);
      await visit.comesToSay('#table', 'late');
      expect(await focused()).toBe('button host');
      await visit.page.keyboard.press('Enter');
      expect(await hosts()).toEqual(rising.toReversed());
      await visit.page.getByLabel('find').fill('LATE');
      expect(await hosts()).toEqual(['late']);
      await visit.page.getByLabel('find').fill('nobody has this');
      expect(await hosts()).toEqual([]);
      await visit.says('#table', 'No worker id matches.');
    });
  });

  describe('with a screen reader', () => {
    it('changes are announced, and unchanged content is not repeated', async () => {
      await look(DESK);
      const log = visit.page.getByRole('log');
      expect(await log.innerText()).toContain('joined');
      await visit.page.evaluate(`
      globalThis.touched = [];
      const everything = { childList: true, characterData: true, attributes: true, subtree: true };
      new MutationObserver((all) =>
        globalThis.touched.push(...all.map(({ target }) => target.nodeName)),
      ).observe(document.body, everything);
    `);
      await visit.askAgain();
      await visit.settled();
      await visit.askAgain();
      await visit.settled();
      // The time of the application is paused, so only the next point of the rate is new.
      const touched = await visit.page.evaluate<string[]>('globalThis.touched');
      expect(touched.filter((name) => name !== 'polyline')).toEqual([]);
    });
  });
});

/*
 * What a page of another origin can read in a real Chromium from an application that allows CORS
 * for every origin. Over plain HTTP, Chromium sends no Sec-Fetch headers.
 */
describe('other origins', () => {
  /** Every host name resolves to this server. Chromium trusts 127.0.0.1 itself like HTTPS. */
  const ARGS = ['--host-resolver-rules=MAP * 127.0.0.1'];

  let browser: Browser;
  let apps: INestApplication[] = [];
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: process.env['CHROMIUM']!, args: ARGS });
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    await Promise.all(apps.map((app) => app.close()));
    apps = [];
  });

  /** The requests of the page that reached the application. */
  interface Asked {
    readonly url: string;
    readonly headers: Readonly<Record<string, string | undefined>>;
  }

  async function serve(asked: Asked[] = []): Promise<string> {
    const { app, url } = await showApp({
      prepare: (made) => {
        made.enableCors({ origin: true, credentials: true });
        made.use(({ url: path, headers }: Asked, _response: unknown, next: () => void) => {
          asked.push({ url: path, headers });
          next();
        });
      },
    });
    apps.push(app);
    return new URL(url).port;
  }

  const read = (page: Page, url: string, headers: object = {}) =>
    page.evaluate<string>(
      `fetch(${JSON.stringify(url)}, { headers: ${JSON.stringify(headers)} })
      .then((answer) => answer.status + '')
      .catch(String)`,
    );

  describe('over plain HTTP', () => {
    it('the page works, and another origin cannot read it', async () => {
      const asked: Asked[] = [];
      const port = await serve(asked);
      const visit = await Visit.open(browser, `http://shop.test:${port}/snowflake`);
      await visit.says('#legend', '1 held');
      expect(visit.complaints.splice(0)).toEqual([expect.stringContaining('Opener-Policy')]);
      await visit.close();
      // Otherwise the next lines would prove nothing.
      expect(asked.filter(({ headers }) => headers['sec-fetch-site'] !== undefined)).toEqual([]);

      const page = await browser.newPage();
      await page.goto(`http://evil.test:${await serve()}/elsewhere`);
      for (const path of ['', '/state', '/workers', '/id?text=1']) {
        const url = `http://shop.test:${port}/snowflake${path}`;
        expect(await read(page, url)).toBe('403');
        const forwarded = { 'x-forwarded-host': new URL(page.url()).host };
        expect(await read(page, url, forwarded)).toBe('403');
      }
      const sent = asked.find(({ headers }) => headers['x-forwarded-host'] !== undefined);
      expect(sent?.headers['sec-fetch-site']).toBeUndefined();
      await page.close();
    });
  });
});

/*
 * Properties of a visit that page tests need on a busy machine: late responses, and route handlers
 * that still run when their page closes.
 */
describe('a page visit', () => {
  /** Polls every second and gives up after ten seconds, both by the time of the page. */
  const PAGE = `<!doctype html><link rel="icon" href="data:,">
  <p id="connection" class="live">Live from</p>
  <p id="answers">0</p><p id="faults">0</p><script>
  const count = (id) => (document.getElementById(id).textContent++);
  const ask = () =>
    fetch('/answer', { signal: AbortSignal.timeout(10_000) })
      .then((response) => response.text())
      .then(() => count('answers'), () => count('faults'))
      .then(() => setTimeout(ask, 1000));
  ask();
</script>`;

  let browser: Browser;
  let server: Server;
  let url: string;
  const waiting: (() => void)[] = [];

  beforeAll(async () => {
    browser = await startBrowser();
    server = createServer(({ url: asked }, response) => {
      if (asked === '/answer') waiting.push(() => response.end('answer'));
      else response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await browser.close();
    server.closeAllConnections();
    server.close();
  });

  describe('a visit', () => {
    it('waits for a slow response', async () => {
      const visit = await Visit.open(browser, url);
      const said = visit.comesToSay('#answers', '1');
      await until(() => waiting.length > 0);
      // Each of these reads could have advanced the time of the page by 3 s.
      const looks = async () => (await visit.texts('#answers')).join();
      for (let times = 0; times < 50; times++) expect(await looks()).toBe('0');
      waiting.pop()!();
      await said;
      expect(await visit.texts('#faults')).toEqual(['0']);
      await visit.close();
    });

    it('closes without an error while a route handler runs', async () => {
      const visit = await Visit.open(browser, url);
      let isFetched = false;
      let isOver = false;
      let goOn = () => {};
      const closed = new Promise<void>((resolve) => (goOn = resolve));
      await visit.page.route('**/answer', async (route) => {
        const response = await route.fetch();
        isFetched = true;
        await closed;
        isOver = true;
        await route.fulfill({ response, body: await response.text() });
      });
      waiting.splice(0).forEach((answer) => answer());
      await until(async () => {
        waiting.splice(0).forEach((answer) => answer());
        if (!isFetched) await visit.askAgain();
        return isFetched;
      });
      await visit.close();
      goOn();
      await until(() => isOver);
      // An error of the handler would fail this test after the current turn.
      await new Promise((resolve) => setImmediate(resolve));
      expect(visit.complaints).toEqual([]);
    });
  });
});

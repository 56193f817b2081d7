/**
 * The page for everybody: no violation that axe-core knows, on a desk in light colours and on a
 * phone in dark ones; by keyboard alone; without moving under the reader.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { BitLayout, MemoryLocks, MemorySupport, layouts } from 'nestjs-snowflake';
import { LockModule } from 'nestjs-snowflake/lock';
import { SettableTime } from 'nestjs-snowflake/testing';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { axed } from './axe.js';
import { Visit, startBrowser } from './browser.js';
import { leaseAs, showApp } from './shown-app.js';

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
  // An application waits for the connections that a browser keeps open.
  await visit.close();
  await app.close();
});

/** One that another process holds, one of a long name, and one that is kept. */
async function heldLocks() {
  const locks = new MemoryLocks({ clock: time });
  const terms = { label: LONG_NAME, ttlMs: 86_000_000, longestMs: 86_000_000, have: 0n };
  for (const lock of ['order:7', `order:${LONG_NAME}`, 'job']) {
    await locks.acquire({ ...terms, lock, holder: lock });
  }
  await locks.release({ lock: 'job', holder: 'job', keepMs: 86_000_000 });
  return LockModule.forRoot({ locks });
}

/** With every state and colour that there is on the page. */
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
  await leaseAs(support, { host: 'late', pid: 9, fingerprint });
  await time.advance(1000);
  await visit.comesToSay('#changes', 'joined');
}

async function violations(): Promise<string[]> {
  // It waits by the timers of the page.
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
  ['a desk, in light colours', { ...DESK, colorScheme: 'light' }],
  ['a phone, in dark colours', { ...PHONE, colorScheme: 'dark' }],
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
  ])('nothing has to be scrolled sideways for %s', async (_which, layout) => {
    await look(viewer, layout);
    const [content, view] = await widths();
    expect(content).toBeLessThanOrEqual(view);
  });

  it('this process comes first, then the fleet, then the reader and the layout', async () => {
    await look(viewer);
    const tops = await visit.page.evaluate<number[]>(
      `['processes', 'workers', 'id-form', 'layout'].map(
        (id) => document.getElementById(id).getBoundingClientRect().top,
      )`,
    );
    const [process, workers, reader, layout] = tops as [number, number, number, number];
    expect(process).toBeLessThan(workers);
    expect(workers).toBeLessThan(Math.min(reader, layout));
    // On a desk the two stand side by side.
    expect(reader).toBeLessThanOrEqual(layout);
  });

  it('who follows a link to an id sees it', async () => {
    await look(viewer);
    const [top, height] = await visit.page.evaluate<[number, number]>(
      `[document.getElementById('id-title').getBoundingClientRect().top, innerHeight]`,
    );
    expect(top).toBeLessThan(height);
    expect(top).toBeGreaterThanOrEqual(-5);
  });

  it('the table is one to a screen reader, with rows, headers and order', async () => {
    await look(viewer);
    const table = visit.page.getByRole('table', { name: 'Who holds which worker id' });
    expect(await table.getByRole('row').count()).toBe(8);
    const header = table.getByRole('columnheader', { name: 'host' });
    expect(await header.getAttribute('aria-sort')).toBe('none');
    await header.getByRole('button').click();
    expect(await header.getAttribute('aria-sort')).toBe('ascending');
  });
});

describe('by keyboard', () => {
  const focused = () =>
    visit.page.evaluate<string>(
      `(({ id, textContent, localName }) => id || localName + ' ' + textContent)(
        document.activeElement
      )`,
    );

  it('everything is reached in the order it is read', async () => {
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
      'button age',
      'button time to ceiling',
      'id-text',
      'id-form-of-text',
      'summary Other text forms',
    ]);
  });

  it('the link at the top skips to the worker ids', async () => {
    await look(DESK);
    await visit.page.keyboard.press('Tab');
    await visit.page.keyboard.press('Enter');
    await visit.page.keyboard.press('Tab');
    expect(await focused()).toBe('filter');
  });

  it('the table is sorted either way and searched, and focus stays where it is', async () => {
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

describe('to a screen reader', () => {
  it('changes are announced, and what stays the same is not said again', async () => {
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
    // Time stands still for the application: nothing it answers is new but the rate's next point.
    const touched = await visit.page.evaluate<string[]>('globalThis.touched');
    expect(touched.filter((name) => name !== 'polyline')).toEqual([]);
  });
});

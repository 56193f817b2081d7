/**
 * The site in a real browser: every page answers, nothing is loaded from elsewhere, the search
 * finds, the playground computes with the real core, and axe has nothing to say.
 */
import { readdirSync } from 'node:fs';
import type { Server } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import axe from 'axe-core';
import { layouts, publicIds } from 'nestjs-snowflake/core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { startBrowser } from '../dashboard/browser.js';
import { builtSite, serve } from './built-site.js';

const DESK = { viewport: { width: 1280, height: 900 } };
const PHONE = { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true };
const AXED = [
  '/',
  '/reference/options.html',
  '/playground.html',
  '/zh/',
  '/zh/concepts/lease.html',
];
const ID = '382366441078288384';

let folder: string;
let url: string;
let server: Server;
let browser: Browser;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  folder = await builtSite();
  ({ url, server } = await serve(folder));
  browser = await startBrowser();
});
afterAll(async () => {
  await browser.close();
  server.close();
});
afterEach(async () => {
  await page.context().close();
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
});

/** Everything that a page complains about, and every question to somebody else, is collected. */
async function open(path: string, viewer: BrowserContextOptions = DESK): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...viewer });
  page = await context.newPage();
  complaints = [];
  page.on('console', (message) => {
    if (message.type() !== 'log') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (origin !== url && protocol !== 'data:') complaints.push(`asked ${request.url()}`);
  });
  await page.goto(`${url}${path}`, { waitUntil: 'networkidle' });
  return page;
}

/** The pages that the sidebar of this one lists. */
async function sidebarOf(path: string): Promise<string[]> {
  await open(path);
  const hrefs = await page
    .locator('#VPSidebarNav a')
    .evaluateAll((links) =>
      links.map((link) => (link as unknown as { pathname: string }).pathname.slice(1)),
    );
  await page.context().close();
  return hrefs;
}

const section = (name: string) => page.getByRole('region', { name });

describe('the site', () => {
  it('has every document, and each can be reached from the sidebar', async () => {
    const made = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const documents = readdirSync('docs', { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.md'))
      .map((path) => path.replace('README.md', 'index.md').replace(/\.md$/, '.html'));
    expect(made).toEqual(expect.arrayContaining(documents));
    const hrefs = [...(await sidebarOf('/start.html')), ...(await sidebarOf('/zh/start.html'))];
    const unlisted = documents.filter((path) => !hrefs.includes(path));
    const entries = ['index.html', 'start.html'];
    expect(unlisted.toSorted()).toEqual([...entries, ...entries.map((path) => `zh/${path}`)]);
  });

  it('greets with what it is, and where to begin', async () => {
    await open('/');
    expect(await page.locator('main').innerText()).toContain('never issued twice');
    await page.getByRole('main').getByRole('link', { name: 'Start', exact: true }).click();
    await page.waitForURL('**/start.html');
  });

  it('finds what somebody looks for', async () => {
    await open('/start.html');
    await page.keyboard.press('/');
    await page.locator('#localsearch-input').fill('failoverWindowMs');
    await page.locator('.result').first().waitFor();
    expect(await page.locator('.results').innerText()).toMatch(/Redis/);
  });
});

describe('in Chinese', () => {
  it('is reached from the English page of the same name, and back', async () => {
    await open('/concepts/lease.html');
    await page.getByRole('button', { name: 'Change language' }).hover();
    await page.getByRole('link', { name: '简体中文' }).first().click();
    await page.waitForURL('**/zh/concepts/lease.html');
    expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');
    expect(await page.locator('h1').innerText()).toContain('租约');
    expect(await page.locator('.VPDocFooter').innerText()).toContain('下一页');
    await page.getByRole('button', { name: '切换语言' }).hover();
    await page.getByRole('link', { name: 'English' }).first().click();
    await page.waitForURL(`${url}/concepts/lease.html`);
  });

  it('finds a word, on Chinese pages', async () => {
    await open('/zh/');
    await page.keyboard.press('/');
    await page.locator('#localsearch-input').fill('隔离期');
    await page.locator('.result').first().waitFor();
    expect(await page.locator('.results').innerText()).toContain('Redis 丢失数据时');
    const hrefs = await page
      .locator('.result')
      .evaluateAll((links) =>
        links.map((link) => (link as unknown as { pathname: string }).pathname),
      );
    expect(hrefs.filter((href) => !href.startsWith('/zh/'))).toEqual([]);
  });

  it('shows no gap where a line ends in the source', async () => {
    await open('/zh/concepts/lease.html');
    expect(await page.locator('main').innerText()).not.toMatch(/[，。；：、] [^ ]/u);
  });

  it('keeps a page that is in English only', async () => {
    await open('/zh/internals/proof.html');
    expect(await page.locator('blockquote').first().innerText()).toBe('本页只有英文。');
    expect(await page.locator('#VPSidebarNav').innerText()).toContain('故障模式');
  });
});

describe('the playground', () => {
  it('reads an id, and says which layouts it could be of', async () => {
    await open('/playground.html');
    const box = section('Read an id');
    await box.getByLabel('Id', { exact: true }).fill('1427970479175499776');
    await box.getByRole('button', { name: 'twitter' }).click();
    expect(await box.getByRole('row', { name: /timestamp/ }).innerText()).toContain(
      '2021-08-18T12:27:47.301Z',
    );
    await box.getByLabel('Id', { exact: true }).fill('no id');
    expect(await box.getByRole('alert').innerText()).toContain('no id');
  });

  it('composes a layout by keyboard', async () => {
    await open('/playground.html');
    const box = section('Compose a layout');
    await box.getByRole('slider', { name: 'Bits of worker' }).press('ArrowLeft');
    expect(await box.locator('code').innerText()).toContain("['worker', 9],\n    ['sequence', 13]");
    await box.getByRole('slider', { name: 'Bits of timestamp' }).press('End');
    expect(await box.getByRole('slider').first().getAttribute('aria-valuenow')).toBe('47');
    const border = await box.getByRole('slider').first().boundingBox();
    await page.mouse.move(border!.x + 5, border!.y + 5);
    await page.mouse.down();
    await page.mouse.move(border!.x - 150, border!.y + 5, { steps: 5 });
    await page.mouse.up();
    const bits = Number(await box.getByRole('slider').first().getAttribute('aria-valuenow'));
    expect(bits).toBeLessThan(45);
    expect(bits).toBeGreaterThanOrEqual(28);
  });

  it('makes ids that differ, with the generator of a service', async () => {
    await open('/playground.html');
    const box = section('Make ids');
    await box.getByLabel('Worker id').fill('9');
    const made = new Set<string>();
    for (let n = 0; n < 2; n++) {
      await box.getByRole('button', { name: 'Make' }).click();
      for (const id of (await box.locator('code').innerText()).split('\n')) made.add(id);
    }
    expect(made.size).toBe(10);
    const layout = layouts.snowflake();
    expect([...made].map((id) => layout.parse(id).workerId)).toEqual(Array(10).fill(9));
  });

  it('gives the ids of a span of time, and public ids', async () => {
    await open('/playground.html');
    const { first, last } = layouts
      .snowflake()
      .idRange(new Date('2026-03-01T00:00Z'), new Date('2026-03-31T23:59Z'));
    expect(await section('Ids between two dates').locator('code').innerText()).toContain(
      `BETWEEN ${first} AND ${last}`,
    );
    const key = '000102030405060708090a0b0c0d0e0f';
    expect(await section('Public ids').locator('[data-test=public]').innerText()).toBe(
      publicIds({ prefix: 'ord', key }).encode(BigInt(ID)),
    );
  });
});

describe.each([
  ['a desk', DESK],
  ['a phone', PHONE],
])('on %s', (_device, viewer) => {
  it.each(['light', 'dark'] as const)('axe finds nothing in %s colours', async (colorScheme) => {
    for (const path of AXED) {
      await open(path, { ...viewer, colorScheme });
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
      const found = violations.map(({ id, nodes }) => [path, id, nodes.map(({ html }) => html)]);
      expect(found).toEqual([]);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect([path, width]).toEqual([path, viewer.viewport.width]);
    }
  });
});

/**
 * The site in a real browser: every page answers, nothing is loaded from elsewhere, the search
 * finds, the playground computes with the real core, and axe has nothing to say.
 */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { layouts, publicIds } from 'nestjs-snowflake/core';
import type { Page } from 'playwright-core';
import { BrowsedSite, VIEWERS } from './browsed-site.js';

const AXED = ['/', '/reference/options.html', '/playground.html'];
const ID = '382366441078288384';

const site = new BrowsedSite();
const section = (page: Page, name: string) => page.getByRole('region', { name });

/** The pages that the sidebar of this one lists. */
async function sidebarOf(path: string): Promise<string[]> {
  const page = await site.open(path);
  return page
    .locator('#VPSidebarNav a')
    .evaluateAll((links) =>
      links.map((link) => (link as unknown as { pathname: string }).pathname.slice(1)),
    );
}

describe('the site', () => {
  it('has every document, and each can be reached from the sidebar', async () => {
    const made = readdirSync(site.folder, { recursive: true, encoding: 'utf8' });
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
    const page = await site.open('/');
    expect(await page.locator('main').innerText()).toContain('never issued twice');
    await page.getByRole('main').getByRole('link', { name: 'Start', exact: true }).click();
    await page.waitForURL('**/start.html');
  });

  it('finds what somebody looks for', async () => {
    const page = await site.open('/start.html');
    await page.keyboard.press('/');
    await page.locator('#localsearch-input').fill('failoverWindowMs');
    await page.locator('.result').first().waitFor();
    expect(await page.locator('.results').innerText()).toMatch(/Redis/);
  });
});

describe('the playground', () => {
  it('reads an id, and says which layouts it could be of', async () => {
    const page = await site.open('/playground.html');
    const box = section(page, 'Read an id');
    await box.getByLabel('Id', { exact: true }).fill('1427970479175499776');
    await box.getByRole('button', { name: 'twitter' }).click();
    expect(await box.getByRole('row', { name: /timestamp/ }).innerText()).toContain(
      '2021-08-18T12:27:47.301Z',
    );
    await box.getByLabel('Id', { exact: true }).fill('no id');
    expect(await box.getByRole('alert').innerText()).toContain('no id');
  });

  it('composes a layout by keyboard', async () => {
    const page = await site.open('/playground.html');
    const box = section(page, 'Compose a layout');
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
    const page = await site.open('/playground.html');
    const box = section(page, 'Make ids');
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
    const page = await site.open('/playground.html');
    const { first, last } = layouts
      .snowflake()
      .idRange(new Date('2026-03-01T00:00Z'), new Date('2026-03-31T23:59Z'));
    expect(await section(page, 'Ids between two dates').locator('code').innerText()).toContain(
      `BETWEEN ${first} AND ${last}`,
    );
    const key = '000102030405060708090a0b0c0d0e0f';
    expect(await section(page, 'Public ids').locator('[data-test=public]').innerText()).toBe(
      publicIds({ prefix: 'ord', key }).encode(BigInt(ID)),
    );
  });
});

it.each(VIEWERS)('axe finds nothing %s', async (_name, viewer) => {
  expect(await site.faultsOf(AXED, viewer)).toEqual([]);
});

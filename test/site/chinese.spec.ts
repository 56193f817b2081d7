/**
 * The Chinese half of the site in a real browser.
 */
import { describe, expect, it } from '@jest/globals';
import { BrowsedSite, DESK, PHONE } from './browsed-site.js';

const AXED = ['/zh/', '/zh/concepts/lease.html'];

const site = new BrowsedSite();

describe('a Chinese page', () => {
  it('is reached from the English page of the same name, and back', async () => {
    const page = await site.open('/concepts/lease.html');
    await page.getByRole('button', { name: 'Change language' }).hover();
    await page.getByRole('link', { name: '简体中文' }).first().click();
    await page.waitForURL('**/zh/concepts/lease.html');
    await page.locator('html[lang=zh-CN]').waitFor({ state: 'attached' });
    expect(await page.locator('h1').innerText()).toContain('租约');
    expect(await page.locator('.VPDocFooter').innerText()).toContain('下一页');
    await page.getByRole('button', { name: '切换语言' }).hover();
    await page.getByRole('link', { name: 'English' }).first().click();
    await page.waitForURL(`${site.url}/concepts/lease.html`);
  });

  it('finds a word, on Chinese pages', async () => {
    const page = await site.open('/zh/');
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
    const page = await site.open('/zh/concepts/lease.html');
    expect(await page.locator('main').innerText()).not.toMatch(/[，。；：、] [^ ]/u);
  });

  it('keeps a page that is in English only', async () => {
    const page = await site.open('/zh/internals/proof.html');
    expect(await page.locator('blockquote').first().innerText()).toBe('本页只有英文。');
    expect(await page.locator('#VPSidebarNav').innerText()).toContain('故障模式');
  });
});

describe.each([
  ['a desk', DESK],
  ['a phone', PHONE],
])('on %s', (_device, viewer) => {
  it.each(['light', 'dark'] as const)('axe finds nothing in %s colours', async (colorScheme) => {
    expect(await site.faultsOf(AXED, { ...viewer, colorScheme })).toEqual([]);
  });
});

/**
 * The Chinese half of the site in a real browser: its pages, its search, the theme, and the
 * playground. Only code names match the English pages.
 */
import { describe, expect, it } from '@jest/globals';
import { layouts, textForms } from 'nestjs-snowflake/core';
import type { Page } from 'playwright-core';
import { BrowsedSite, DESK, PHONE, VIEWERS } from './browsed-site.js';

const AXED = ['/zh/', '/zh/concepts/lease.html', '/zh/playground.html'];
/** Text that is English on both sites: code names, and words without a translation. */
const NAMES = [
  ...Object.keys(layouts),
  ...Object.keys(textForms),
  'timestamp',
  'worker',
  'sequence',
  'github',
];

/** Labels and tooltips on the whole page. */
const LABELS = `Array.from(
  document.querySelectorAll('[aria-label], [title], [placeholder], .visually-hidden'),
  (one) => ['aria-label', 'title', 'placeholder'].map((name) => one.getAttribute(name) ?? '')
    .concat(one.matches('.visually-hidden') ? one.textContent : ''),
).flat()`;
/** The text of the playground, without code and one-word results. */
const WRITTEN = `(() => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector('.playground'), 4);
  while (walker.nextNode()) {
    const { textContent, parentElement } = walker.currentNode;
    const isWord = !textContent.trim().includes(' ');
    if (!parentElement.closest(isWord ? 'code, dd' : 'code')) found.push(textContent);
  }
  return found;
})()`;

/** Without `worker id`, which is a Chinese term too. */
function isEnglish(text: string): boolean {
  const words = text.replaceAll(/worker id/gi, '');
  if (/[a-z]{2,} [a-z]{2,}/i.test(words)) return true;
  return /[a-z]{3,}/i.test(words) && !/\p{sc=Han}/u.test(words) && !NAMES.includes(words);
}

async function englishOn(page: Page, ...collectors: string[]): Promise<string[]> {
  const said: string[] = [];
  for (const collector of collectors) said.push(...(await page.evaluate<string[]>(collector)));
  return [...new Set(said.map((text) => text.trim()).filter(isEnglish))];
}

const site = new BrowsedSite();

describe('a Chinese page', () => {
  it('links to the English page of the same name, and back', async () => {
    const page = await site.open('/concepts/lease.html');
    await page.getByRole('button', { name: 'Change language' }).hover();
    await page.getByRole('link', { name: '简体中文' }).first().click();
    await page.waitForURL('**/zh/concepts/lease.html');
    await page.locator('html[lang=zh-CN]').waitFor({ state: 'attached' });
    expect(await page.locator('h1').innerText()).toContain('租约');
    expect(await page.locator('.VPDocFooter').innerText()).toContain('下一页');
    await page.getByRole('navigation', { name: '主导航' }).waitFor();
    await page.getByRole('button', { name: '切换语言' }).hover();
    await page.getByRole('link', { name: 'English' }).first().click();
    await page.waitForURL(`${site.url}/concepts/lease.html`);
    await page.getByRole('navigation', { name: 'Main Navigation' }).waitFor();
  });

  it('finds a word on Chinese pages', async () => {
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

  it('shows no gap at the line ends of the source', async () => {
    const page = await site.open('/zh/concepts/lease.html');
    expect(await page.locator('main').innerText()).not.toMatch(/[，。；：、] [^ ]/u);
  });

  it('stays in English if it has no translation', async () => {
    const page = await site.open('/zh/internals/proof.html');
    expect(await page.locator('blockquote').first().innerText()).toBe('本页只有英文。');
    expect(await page.locator('#VPSidebarNav').innerText()).toContain('故障模式');
  });
});

describe('the theme', () => {
  it('shows no English on a desktop, on a phone, or in its search', async () => {
    for (const viewer of [DESK, PHONE]) {
      const page = await site.open('/zh/concepts/lease.html', viewer);
      expect(await englishOn(page, LABELS)).toEqual([]);
      await page.getByRole('button', { name: '搜索' }).click();
      await page.locator('#localsearch-input').waitFor();
      expect(await englishOn(page, LABELS)).toEqual([]);
    }
  });

  it('shows these words in English on English pages', async () => {
    const page = await site.open('/concepts/lease.html');
    const found = await englishOn(page, LABELS);
    const expected = ['Main Navigation', 'Sidebar Navigation', 'Pager', 'Copy Code'];
    expect(found).toEqual(expect.arrayContaining(expected));
  });
});

describe('the playground', () => {
  const section = (page: Page, name: string) => page.getByRole('region', { name });

  it('shows no English, even with every result open', async () => {
    const page = await site.open('/zh/playground.html');
    await page.getByRole('button', { name: '生成' }).click();
    await page.locator('summary').click();
    expect(await englishOn(page, LABELS, WRITTEN)).toEqual([]);
    const largest = layouts.javascriptSafe().idMax;
    const box = section(page, '解读 id');
    await box.getByLabel('id', { exact: true }).fill(String(largest));
    await box.getByLabel('布局').selectOption('javascriptSafe');
    expect(await englishOn(page, LABELS, WRITTEN)).toEqual([]);
    await box.getByLabel('id', { exact: true }).fill(String(2n ** 63n - 1n));
    await box.getByLabel('布局').selectOption('javascriptSafe');
    expect(await box.getByRole('alert').innerText()).toContain(`大于 ${largest}`);
  });

  it('is in English on the English page', async () => {
    const page = await site.open('/playground.html');
    const found = await englishOn(page, LABELS, WRITTEN);
    const expected = ['Text form', 'Bits of worker', 'meaning', '69.7 years', 'The query'];
    expect(found).toEqual(expect.arrayContaining(expected));
  });

  it('decodes a pasted ID: its bits, and its time', async () => {
    const page = await site.open('/zh/playground.html');
    const box = section(page, '解读 id');
    await box.getByLabel('id', { exact: true }).fill('1427970479175499776');
    await box.getByRole('button', { name: 'twitter' }).click();
    const bits = 1_427_970_479_175_499_776n.toString(2).padStart(64, '0');
    expect(await box.locator('.bit-row').textContent()).toBe(bits);
    expect(await box.getByRole('row', { name: /timestamp/ }).innerText()).toContain(
      '2021-08-18T12:27:47.301Z',
    );
  });
});

it.each(VIEWERS)('axe finds no violation %s', async (_name, viewer) => {
  expect(await site.faultsOf(AXED, viewer)).toEqual([]);
});

/**
 * The site in a real browser: every page loads without requests elsewhere, the search finds pages,
 * and the playground computes with the real core. Axe finds no violations, and the reference has
 * every name.
 */
import { readdirSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, beforeAll } from '@jest/globals';
import { layouts, publicIds } from 'nestjs-snowflake/core';
import type { Page } from 'playwright-core';
import { BrowsedSite, VIEWERS, lostLinks, readPages } from './browsed-site.js';
import { namesIn } from '../../scripts/api-report.mjs';
import { ENTRY_FILES } from '../../scripts/entries.mjs';
import { pageNameOf } from '../../site/reference/page-names.mjs';

const AXED = ['/', '/reference/options.html', '/playground.html'];
const ID = '382366441078288384';

const site = new BrowsedSite();
const section = (page: Page, name: string) => page.getByRole('region', { name });

let pages: ReturnType<typeof readPages>;
beforeAll(() => void (pages = readPages(site.folder)));

/** The pages in the sidebar of this page. */
async function sidebarOf(path: string): Promise<string[]> {
  const page = await site.open(path);
  return page
    .locator('#VPSidebarNav a')
    .evaluateAll((links) =>
      links.map((link) => (link as unknown as { pathname: string }).pathname.slice(1)),
    );
}

describe('the site', () => {
  it('has every document, and each one is in the sidebar', async () => {
    const made = readdirSync(site.folder, { recursive: true, encoding: 'utf8' });
    const documents = readdirSync('docs', { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.md'))
      .map((path) => path.replace('README.md', 'index.md').replace(/\.md$/, '.html'));
    expect(made).toEqual(expect.arrayContaining(documents));
    const hrefs = [...(await sidebarOf('/start.html')), ...(await sidebarOf('/zh/start.html'))];
    const unlisted = documents.filter((path) => !hrefs.includes(path));
    expect(unlisted.toSorted()).toEqual(['index.html', 'zh/index.html']);
  });

  it('opens with its purpose, and with a link to the first steps', async () => {
    const page = await site.open('/');
    expect(await page.locator('main').innerText()).toContain('never issued twice');
    await page.getByRole('main').getByRole('link', { name: 'Get started', exact: true }).click();
    await page.waitForURL('**/start.html');
  });

  it('finds common queries', async () => {
    const page = await site.open('/start.html');
    await page.keyboard.press('/');
    await page.locator('#localsearch-input').fill('failoverWindowMs');
    await page.locator('.result').first().waitFor();
    expect(await page.locator('.results').innerText()).toMatch(/Redis/);
  });
});

describe('the head of a page', () => {
  const headOf = (path: string) =>
    readFileSync(join(site.folder, path), 'utf8').split('</head>')[0]!;
  const valueOf = (path: string, pattern: RegExp) => pattern.exec(headOf(path))?.[1];
  const CANONICAL = /<link rel="canonical" href="[^"]*?\/\/[^/]+(\/[^"]*)"/;

  it.each(['index.html', 'zh/index.html'])('loads %s with less than 150 kB, compressed', (path) => {
    const html = readFileSync(join(site.folder, path), 'utf8');
    const files = [...html.matchAll(/(?:href|src)="(\/[^"]+\.(?:js|css|woff2|svg|png))"/g)];
    const texts = [path, ...new Set(files.map(([, file]) => file!))].map((file) =>
      readFileSync(join(site.folder, file)),
    );
    expect(files.length).toBeGreaterThan(5);
    expect(texts.reduce((sum, text) => sum + gzipSync(text).length, 0)).toBeLessThan(150_000);
  });

  it('describes each page individually', () => {
    const own = [...pages.keys()].filter((path) => !/^zh\/(internals|reference\/api)\//.test(path));
    const said = own.map((path) => valueOf(path, /<meta name="description" content="([^"]+)"/));
    expect(said).not.toContain(undefined);
    const twice = own.filter((_, at) => said.indexOf(said[at]) !== at);
    expect(twice.filter((path) => !path.endsWith('playground.html'))).toEqual([]);
  });

  it('contains the canonical address and the translation', () => {
    expect(valueOf('zh/concepts/lease.html', CANONICAL)).toBe('/zh/concepts/lease.html');
    expect(headOf('concepts/lease.html')).toMatch(
      /hreflang="zh-CN" href="[^"]+\/zh\/concepts\/lease/,
    );
    expect(valueOf('zh/internals/proof.html', CANONICAL)).toBe('/internals/proof.html');
    expect(headOf('zh/internals/proof.html')).not.toContain('hreflang');
    const listed = readFileSync(join(site.folder, 'sitemap.xml'), 'utf8');
    expect(listed).toContain('/zh/concepts/lease.html');
    expect(listed).not.toContain('/zh/internals/');
  });

  it('lists existing pages in llms.txt, and has a robots.txt', () => {
    const textOf = (path: string) => readFileSync(join(site.folder, path), 'utf8');
    const linked = [...textOf('llms.txt').matchAll(/\]\(https?:\/\/[^/]+\/([^)]*)\)/g)];
    const lost = linked.map(([, path]) => path!).filter((path) => !pages.has(path || 'index.html'));
    expect([linked.length > 50, lost]).toEqual([true, []]);
    expect(textOf('robots.txt')).toMatch(/^Allow: \/\n\nSitemap: \S+\/sitemap\.xml$/m);
  });

  it('has an icon, and a card of the declared size', () => {
    const pathOf = (pattern: RegExp) => join(site.folder, valueOf('index.html', pattern)!);
    expect(existsSync(pathOf(/rel="icon"[^>]* href="[^"]*\/(\w+\.svg)"/))).toBe(true);
    const card = readFileSync(pathOf(/"og:image" content="https:[^"]*\/(\w+\.png)"/));
    expect(card.toString('latin1', 1, 4)).toBe('PNG');
    const size = ['width', 'height'].map((side) =>
      Number(valueOf('index.html', new RegExp(`"og:image:${side}" content="(\\d+)"`))),
    );
    expect([card.readUInt32BE(16), card.readUInt32BE(20)]).toEqual(size);
  });
});

describe('the playground', () => {
  it('decodes an ID, and lists the layouts that could contain it', async () => {
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

  it('is restored from the link that it copies, and shows its bits in two rows', async () => {
    const page = await site.open('/playground.html');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const box = section(page, 'Read an id');
    await box.getByLabel('Id', { exact: true }).fill('1427970479175499776');
    await box.getByLabel('Layout').selectOption('own');
    await box
      .getByLabel('Fields', { exact: true })
      .fill('timestamp:42,datacenter:5,worker:5,sequence:11');
    await box.getByRole('button', { name: 'Copy a link' }).click();
    const link = new URL(await page.evaluate<string>('navigator.clipboard.readText()'));
    const again = section(await site.open(link.pathname + link.hash), 'Read an id');
    const row = again.getByRole('row', { name: /datacenter/ });
    expect(await row.innerText()).toBe(
      await box.getByRole('row', { name: /datacenter/ }).innerText(),
    );
    const tops = await again
      .locator('.bit-row span')
      .evaluateAll((bits) =>
        bits.map((bit) => (bit as unknown as { offsetTop: number }).offsetTop),
      );
    expect([new Set(tops).size, tops.lastIndexOf(tops[0]!)]).toEqual([2, 31]);
  });

  it('composes a layout with the keyboard', async () => {
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

  it('generates distinct IDs with the generator of a service', async () => {
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

  it('shows the IDs of a time span, and public IDs', async () => {
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

it.each(VIEWERS)('axe finds no violation %s', async (_name, viewer) => {
  expect(await site.faultsOf(AXED, viewer)).toEqual([]);
});

// The reference and the pictures of the proof, as files and in a real browser: complete names,
// valid links, and readable pages in both color schemes on a desktop and on a phone.

const NAMES = namesIn(readFileSync('test/package/api.txt', 'utf8'));
const PICTURES = ['why-lease', 'why-pause', 'why-loss', 'why-clock'];
const PROOF = '/concepts/why-never-twice.html';
const AXED_PAGES = [PROOF, '/reference/api/core.html', '/reference/api/zod.html'];

describe('the reference', () => {
  const pathOf = (entry: string) => `reference/api/${pageNameOf(entry)}.html`;

  it.each(Object.keys(ENTRY_FILES))('has every name of %s', (entry) => {
    const { links } = pages.get(pathOf(entry))!;
    const format = new Set(links.map((link) => link.split('#')[1]));
    const missing = [...NAMES.get(entry)!.keys()].filter((name) => !format.has(name));
    expect(missing).toEqual([]);
  });

  it('shows complete examples, with their decorators', () => {
    const html = readFileSync(join(site.folder, pathOf('nestjs-snowflake')), 'utf8');
    const text = html.replaceAll(/<[^>]*>/g, '');
    expect(text).toContain('class Orders {\n  constructor(@Inject(IdMaker) private readonly ids');
    expect(text).not.toContain('IdMakerParts');
  });

  it('is found by the search', async () => {
    const page = await site.open('/start.html');
    await page.keyboard.press('/');
    await page.locator('#localsearch-input').fill('fakeIdMaker');
    await page.locator('.result').first().waitFor();
    expect(await page.locator('.results').innerText()).toContain('nestjs-snowflake/testing');
  });
});

describe('links', () => {
  it('target existing pages and anchors, on every page', () => {
    expect(lostLinks(pages)).toEqual([]);
  });

  it('are reported if they are dead', () => {
    const ids = new Set(['here']);
    const links = ['#here', '#gone', './b.html', '/a/index.html#here', 'https://x.y/', './'];
    expect(lostLinks(new Map([['a/index.html', { ids, links }]]))).toEqual([
      'a/index.html: #gone',
      'a/index.html: ./b.html',
    ]);
  });
});

describe.each(VIEWERS)('%s', (_name, viewer) => {
  it('axe finds no violation', async () => {
    expect(await site.faultsOf(AXED_PAGES, viewer)).toEqual([]);
  });

  it('shows the complete pictures', async () => {
    const page = await site.open(PROOF, viewer);
    const widths = await page.locator('main img').evaluateAll((images) =>
      (images as unknown as { naturalWidth: number; width: number }[]).map((image) => ({
        isThere: image.naturalWidth > 0,
        width: image.width,
      })),
    );
    expect(widths).toHaveLength(PICTURES.length);
    for (const { isThere, width } of widths) {
      expect(isThere).toBe(true);
      expect(width).toBeLessThanOrEqual(viewer.viewport.width - 40);
    }
  });
});

describe('a picture', () => {
  it.each(PICTURES)('keeps its labels in its frame and apart from each other: %s', async (name) => {
    const path = join('docs/images', `${name}.svg`);
    expect(existsSync(path)).toBe(true);
    const page = await site.browser.newPage();
    await page.setContent(readFileSync(path, 'utf8'));
    const boxes = await page.locator('text').evaluateAll((texts) =>
      (texts as unknown as { getBBox(): Box; textContent: string }[]).map((text) => {
        const { x, y, width, height } = text.getBBox();
        return { x, y, width, height, words: text.textContent };
      }),
    );
    const [, width = 0] = /viewBox="0 0 (\d+)/.exec(readFileSync(path, 'utf8'))!.map(Number);
    await page.close();
    expect(boxes.filter(({ x, width: own }) => x < 8 || x + own > width - 8)).toEqual([]);
    const pairs = boxes.flatMap((one, n) => boxes.slice(n + 1).map((other) => [one, other]));
    const met = pairs.filter(([one, other]) => overlap(one!, other!));
    expect(met.map((pair) => pair.map(({ words }) => words))).toEqual([]);
  });
});

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** By more than a font's space above and below its letters. */
function overlap(a: Box, b: Box): boolean {
  const meets = (from: number, size: number, other: number, otherSize: number) =>
    from < other + otherSize && other < from + size;
  return meets(a.x, a.width, b.x, b.width) && meets(a.y + 3, a.height - 6, b.y + 3, b.height - 6);
}

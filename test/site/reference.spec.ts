/**
 * The reference and the pictures of the proof, as files and in a real browser: every name is there,
 * every link leads somewhere, all can be read in both colours on a desk and on a phone.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { ENTRY_FILES } from '../../scripts/entries.mjs';
import { pageNameOf } from '../../site/reference/page-names.mjs';
import { BrowsedSite, VIEWERS, lostLinks, readPages } from './browsed-site.js';

const NAMES = JSON.parse(readFileSync('test/tidy/exported-names.json', 'utf8')) as Readonly<
  Record<string, Readonly<Record<string, string>>>
>;
const PICTURES = ['why-lease', 'why-pause', 'why-loss', 'why-clock'];
const PROOF = '/concepts/why-never-twice.html';
const AXED = [PROOF, '/reference/api/core.html', '/reference/api/zod.html'];

const site = new BrowsedSite();
let pages: ReturnType<typeof readPages>;
beforeAll(() => void (pages = readPages(site.folder)));

describe('the reference', () => {
  const pathOf = (entry: string) => `reference/api/${pageNameOf(entry)}.html`;

  it.each(Object.keys(ENTRY_FILES))('of %s has each of its names', (entry) => {
    const { links } = pages.get(pathOf(entry))!;
    const format = new Set(links.map((link) => link.split('#')[1]));
    const missing = Object.keys(NAMES[entry]!).filter((name) => !format.has(name));
    expect(missing).toEqual([]);
  });

  it('shows examples whole, with their decorators', () => {
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
  it('of all pages lead to pages and to places in them', () => {
    expect(lostLinks(pages)).toEqual([]);
  });

  it('are found where they lead nowhere', () => {
    const ids = new Set(['here']);
    const links = ['#here', '#gone', './b.html', '/a/index.html#here', 'https://x.y/', './'];
    expect(lostLinks(new Map([['a/index.html', { ids, links }]]))).toEqual([
      'a/index.html: #gone',
      'a/index.html: ./b.html',
    ]);
  });
});

describe.each(VIEWERS)('%s', (_name, viewer) => {
  it('axe finds nothing', async () => {
    expect(await site.faultsOf(AXED, viewer)).toEqual([]);
  });

  it('shows the pictures, whole', async () => {
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
  it.each(PICTURES)('keeps its words in its frame, apart from each other: %s', async (name) => {
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

/** By more than the room that a font leaves above and below its letters. */
function overlap(a: Box, b: Box): boolean {
  const meets = (from: number, size: number, other: number, otherSize: number) =>
    from < other + otherSize && other < from + size;
  return meets(a.x, a.width, b.x, b.width) && meets(a.y + 3, a.height - 6, b.y + 3, b.height - 6);
}

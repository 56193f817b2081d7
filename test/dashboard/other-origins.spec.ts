/**
 * What a page of another origin reads in a real Chromium, over plain HTTP, where it sends no
 * Sec-Fetch headers, of an application that allows CORS to everybody.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { chromium, type Browser, type Page } from 'playwright-core';
import { Visit } from './browser.js';
import { showApp } from './shown-app.js';

jest.setTimeout(60_000);

/** Any name leads here: 127.0.0.1 itself is trusted like HTTPS. */
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

/** What reached the application of a request of the page. */
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
  it('the page works, and another origin reads nothing of it', async () => {
    const asked: Asked[] = [];
    const port = await serve(asked);
    const visit = await Visit.open(browser, `http://shop.test:${port}/snowflake`);
    await visit.says('#legend', '1 held');
    // A header that means nothing here.
    expect(visit.complaints.splice(0)).toEqual([expect.stringContaining('Opener-Policy')]);
    await visit.close();
    // Or the next lines would show nothing.
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

/**
 * The built site in a real browser, from the first test of a spec to its last. A page that is right
 * says nothing: a test fails if one of its pages complained, or asked somebody else for something.
 */
import type { Server } from 'node:http';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { axed } from '../dashboard/axe.js';
import { startBrowser } from '../dashboard/browser.js';
import { builtSite, serve } from './built-site.js';

export const DESK = { viewport: { width: 1280, height: 900 } };
export const PHONE = { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true };

/** Each width and each scheme of colours, of which neither depends on the other. */
export const VIEWERS = [
  ['on a desk, in light colours', { ...DESK, colorScheme: 'light' }],
  ['on a phone, in dark colours', { ...PHONE, colorScheme: 'dark' }],
] as const satisfies [string, BrowserContextOptions][];

export class BrowsedSite {
  /** With the files of the site. */
  folder!: string;
  url!: string;
  browser!: Browser;
  private server!: Server;
  private readonly opened: Page[] = [];
  private readonly complaints: string[] = [];

  /** To be called where a spec begins: it starts before the tests, and stops after them. */
  constructor() {
    beforeAll(async () => {
      this.folder = await builtSite();
      ({ url: this.url, server: this.server } = await serve(this.folder));
      this.browser = await startBrowser();
    });
    afterEach(async () => {
      await Promise.all(this.opened.splice(0).map((page) => page.context().close()));
      const complaints = this.complaints.splice(0);
      if (complaints.length > 0) throw new Error(complaints.join('\n'));
    });
    afterAll(async () => {
      await this.browser.close();
      this.server.close();
    });
  }

  /** Until the end of the test. */
  async open(path: string, viewer: BrowserContextOptions = DESK): Promise<Page> {
    const settings = { locale: 'en-GB', timezoneId: 'UTC', ...viewer };
    const page = await (await this.browser.newContext(settings)).newPage();
    this.opened.push(page);
    page.on('console', (message) => {
      if (message.type() !== 'log') this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url());
      if (origin !== this.url && protocol !== 'data:') {
        this.complaints.push(`asked ${request.url()}`);
      }
    });
    await page.goto(`${this.url}${path}`, { waitUntil: 'networkidle' });
    return page;
  }

  /** What axe has against these pages, and which are wider than the screen. */
  async faultsOf(paths: readonly string[], viewer: BrowserContextOptions): Promise<string[]> {
    const faults: string[] = [];
    for (const path of paths) {
      const page = await this.open(path, viewer);
      const { violations } = await axed(page);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      faults.push(...violations.map(({ id, html }) => `${path}: ${id}: ${html}`));
      if (width !== viewer.viewport?.width) faults.push(`${path}: is ${width} wide`);
    }
    return faults;
  }
}

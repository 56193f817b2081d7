/**
 * A real, headless Chromium, and pages in it whose timers the test moves.
 *
 * Whatever a page complains about (console, errors, blocked by its policy, requests elsewhere) is
 * collected, because a page that is right says nothing.
 */
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: process.env['CHROMIUM']! });

/** How long a page may take to show what it was told; a limit, not a pause. */
const SHOWN_WITHIN_MS = 10_000;
const START = '2026-01-01T00:00:00Z';
/** Time runs until it is stopped at the start. */
const INSTALLED = '2025-12-31T23:00:00Z';
/** The page asks again after as long. */
const ASKED_EVERY_MS = 3000;

export class Visit {
  /** Everything the page complained about. */
  readonly complaints: string[] = [];
  private readonly open = new Set<unknown>();

  private constructor(readonly page: Page) {
    page.on('request', (request) => this.open.add(request));
    page.on('requestfinished', (request) => this.open.delete(request));
    page.on('requestfailed', (request) => this.open.delete(request));
    page.on('console', (message) => this.complaints.push(message.text()));
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url());
      const isOwn = origin === new URL(page.url(), origin).origin || page.url() === 'about:blank';
      if (!isOwn && protocol !== 'data:') this.complaints.push(`asked ${request.url()}`);
    });
  }

  static async open(
    browser: Browser,
    url: string,
    options: BrowserContextOptions = {},
  ): Promise<Visit> {
    const page = await browser.newPage({ locale: 'en-GB', timezoneId: 'UTC', ...options });
    const visit = new Visit(page);
    await page.clock.install({ time: INSTALLED });
    await page.clock.pauseAt(START);
    await page.goto(url);
    await visit.says('#connection', 'Live from');
    return visit;
  }

  /** Until every question is answered; the page asks no other before it is let to. */
  async settled(): Promise<void> {
    while (this.open.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** Lets the page ask once more. */
  async askAgain(): Promise<void> {
    await this.page.clock.runFor(ASKED_EVERY_MS);
  }

  /** Waits until the element says this; fails with what it says instead. */
  says(where: string, text: string | RegExp): Promise<void> {
    return this.reached(where, text, async () => undefined);
  }

  /** The same, and the page goes on asking meanwhile. */
  comesToSay(where: string, text: string | RegExp): Promise<void> {
    return this.reached(where, text, () => this.askAgain());
  }

  private async reached(
    where: string,
    text: string | RegExp,
    between: () => Promise<void>,
  ): Promise<void> {
    const isSaid = (said: string) =>
      typeof text === 'string' ? said.includes(text) : text.test(said);
    const endsAt = performance.now() + SHOWN_WITHIN_MS;
    let said = '';
    do {
      await between();
      said = (await this.texts(where)).join('\n');
      if (isSaid(said)) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    } while (performance.now() < endsAt);
    throw new Error(`Expected ${where} to say ${String(text)}; it says: ${said}`);
  }

  /** A page that is right says nothing. */
  async close(): Promise<void> {
    await this.page.close();
    if (this.complaints.length > 0) throw new Error(this.complaints.join('\n'));
  }

  texts(selector: string): Promise<string[]> {
    return this.page.locator(selector).allInnerTexts();
  }

  /** The cells of the table, row by row. */
  async rows(): Promise<string[][]> {
    const rows = await this.page.locator('tbody tr').all();
    return Promise.all(rows.map((row) => row.locator('th, td').allInnerTexts()));
  }
}

/**
 * A real, headless Chromium, with pages whose timers the test advances. The page fails a test by
 * any complaint: console output, errors, blocked content, or requests elsewhere.
 */
import { readFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NodeResult, Result } from 'axe-core';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { ROOT } from '../tidy/tree.js';
import { until } from '../until.js';
export const startBrowser = (): Promise<Browser> =>
  // No one sees the page, and drawing with a software GPU costs a fifth of the time.
  chromium.launch({
    executablePath: process.env['CHROMIUM']!,
    args: ['--disable-gpu'],
    timeout: 0,
  });

const START = '2026-01-01T00:00:00Z';
/** Time advances until the start pauses it. */
const INSTALLED = '2025-12-31T23:00:00Z';
/** The polling interval of the page. */
const ASKED_EVERY_MS = 3000;
/** Runs in the page: requests whose responses the page has not read to the end. */
const COUNT_QUESTIONS = `
  const open = new Set();
  const { fetch } = globalThis;
  globalThis.openQuestions = open;
  globalThis.fetch = (...given) => {
    const answer = fetch(...given);
    const read = answer.then((response) => response.clone().arrayBuffer());
    open.add(read);
    read.then(() => open.delete(read), () => open.delete(read));
    return answer;
  };
`;

export class Visit {
  /** Every complaint of the page. */
  readonly complaints: string[] = [];

  private constructor(readonly page: Page) {
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
    // The page may be slow on a slow machine; only the whole test has a limit.
    page.setDefaultTimeout(0);
    const visit = new Visit(page);
    await page.clock.install({ time: INSTALLED });
    await page.clock.pauseAt(START);
    await page.addInitScript(COUNT_QUESTIONS);
    await page.goto(url);
    await visit.says('#connection.live', /./);
    return visit;
  }

  /**
   * Waits until every request has its response; the page sends no other before a test allows it.
   */
  settled(): Promise<void> {
    return until(() => this.isSettled());
  }

  private async isSettled(): Promise<boolean> {
    return (await this.page.evaluate<number>('globalThis.openQuestions.size')) === 0;
  }

  /** Lets the page poll once more. */
  async askAgain(): Promise<void> {
    await this.page.clock.runFor(ASKED_EVERY_MS);
  }

  /** Waits until the element has this text; fails with its actual text. */
  says(where: string, text: string | RegExp): Promise<void> {
    return this.reached(where, text, async () => undefined);
  }

  /**
   * Like `says`, while the page polls. The page has no other clock, and its time advances only
   * between requests, so a slow response is never late.
   */
  comesToSay(where: string, text: string | RegExp): Promise<void> {
    return this.reached(where, text, async () => {
      if (await this.isSettled()) await this.askAgain();
    });
  }

  private async reached(
    where: string,
    text: string | RegExp,
    between: () => Promise<void>,
  ): Promise<void> {
    const isSaid = (said: string) =>
      typeof text === 'string' ? said.includes(text) : text.test(said);
    let said = '';
    const isReached = async () => {
      await between();
      said = (await this.texts(where)).join('\n');
      return isSaid(said);
    };
    const failed = () => `Expected ${where} to say ${String(text)}; it says: ${said}`;
    await until(isReached, failed);
  }

  /** A correct page logs nothing. */
  async close(): Promise<void> {
    // A route handler may still run, and then finds its page closed.
    await this.page.unrouteAll({ behavior: 'ignoreErrors' });
    await this.page.close();
    if (this.complaints.length > 0) throw new Error(this.complaints.join('\n'));
  }

  texts(selector: string): Promise<string[]> {
    return this.page.locator(selector).allInnerTexts();
  }

  /** The cells of the table, row by row. */
  async rows(): Promise<string[][]> {
    return this.page.evaluate<string[][]>(
      `[...document.querySelectorAll("#table tbody tr")].map((row) =>
        [...row.querySelectorAll('th, td')].map((cell) => cell.innerText))`,
    );
  }
}

/*
 * The violations that axe-core finds. Passed rules stay in the browser, to save time.
 */

const SOURCE = await readFile(`${ROOT}/node_modules/axe-core/axe.min.js`, 'utf8');

interface Finding extends NodeResult {
  readonly id: string;
}

export interface Axed {
  readonly violations: readonly Finding[];
  /** The number of rules that found elements to check and no violation. */
  readonly passed: number;
}

export async function axed(page: Page): Promise<Axed> {
  await page.evaluate(SOURCE);
  const { violations, passed } = await page.evaluate<{ violations: Result[]; passed: number }>(`
    axe.run({ resultTypes: ['violations'] }).then(({ violations, passes }) => ({
      violations,
      passed: passes.length,
    }))
  `);
  const found = violations.flatMap(({ id, nodes }) => nodes.map((node) => ({ ...node, id })));
  return { violations: found, passed };
}

/*
 * A load balancer that sends two requests to each application in turn. With one each, the page's
 * two requests would always reach the same two.
 */

export class RoundRobin {
  /** The targets of requests; a test may remove one. */
  targets: string[] = [];
  private turn = 0;
  private readonly server: Server;

  constructor() {
    this.server = createServer((incoming, outgoing) => {
      const target = this.targets[(this.turn++ >> 1) % this.targets.length]!;
      const { method, headers } = incoming;
      const onward = request(target + incoming.url!, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.writeHead(502).end());
      incoming.pipe(onward);
    });
  }

  async listen(...targets: string[]): Promise<string> {
    this.targets = targets;
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

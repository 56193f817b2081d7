/**
 * What the tests of the page stand on, on a machine that has much else to do: answers that come
 * late, and handlers of routes that are still at work when their page is closed.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { until } from '../until.js';
import { Visit, startBrowser } from './browser.js';

/** Asks every second and gives up after ten, both by the time of the page. */
const PAGE = `<!doctype html><link rel="icon" href="data:,"><p id="connection">Live from</p>
  <p id="answers">0</p><p id="faults">0</p><script>
  const count = (id) => (document.getElementById(id).textContent++);
  const ask = () =>
    fetch('/answer', { signal: AbortSignal.timeout(10_000) })
      .then((response) => response.text())
      .then(() => count('answers'), () => count('faults'))
      .then(() => setTimeout(ask, 1000));
  ask();
</script>`;

let browser: Browser;
let server: Server;
let url: string;
const waiting: (() => void)[] = [];

beforeAll(async () => {
  browser = await startBrowser();
  server = createServer(({ url: asked }, response) => {
    if (asked === '/answer') waiting.push(() => response.end('answer'));
    else response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
});

describe('a visit', () => {
  it('gives a slow answer all the time it takes', async () => {
    const visit = await Visit.open(browser, url);
    const said = visit.comesToSay('#answers', '1');
    await until(() => waiting.length > 0);
    // Looks that would each have moved the time of the page by 3 s.
    const looks = async () => (await visit.texts('#answers')).join();
    for (let times = 0; times < 50; times++) expect(await looks()).toBe('0');
    waiting.pop()!();
    await said;
    expect(await visit.texts('#faults')).toEqual(['0']);
    await visit.close();
  });

  it('is closed in peace while a handler of a route is at work', async () => {
    const visit = await Visit.open(browser, url);
    let isFetched = false;
    let isOver = false;
    let goOn = () => {};
    const closed = new Promise<void>((resolve) => (goOn = resolve));
    await visit.page.route('**/answer', async (route) => {
      const response = await route.fetch();
      isFetched = true;
      await closed;
      isOver = true;
      await route.fulfill({ response, body: await response.text() });
    });
    waiting.splice(0).forEach((answer) => answer());
    await until(async () => {
      waiting.splice(0).forEach((answer) => answer());
      if (!isFetched) await visit.askAgain();
      return isFetched;
    });
    await visit.close();
    goOn();
    await until(() => isOver);
    // What the handler throws now would fail this test, once this turn is over.
    await new Promise((resolve) => setImmediate(resolve));
    expect(visit.complaints).toEqual([]);
  });
});

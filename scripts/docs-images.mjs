// Takes the pictures of the dashboard for README and documents, and the card by which others show a
// link to the site: `npm run docs:images`.
//
// A real application with the built library, and a registry that a fleet of made-up processes
// leases from by the protocol. Only this machine's name is written over.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { IdMaker, MemorySupport, SnowflakeModule, layouts } from 'nestjs-snowflake';
import { SnowflakeDashboardModule } from 'nestjs-snowflake/dashboard';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { requireServers } from './servers/binaries.mjs';

const FOLDER = new URL('../docs/images/', import.meta.url);
const SITE = new URL('../site/', import.meta.url);
const OWN_HOST = 'shop-6d9f7c-2xkqz';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const CURVE_MS = 30_000;
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** How long ago, which application, and the last letters of the hosts. */
const FLEET = [
  [52 * HOUR_MS, 'billing', ['4hx8p', '7vzmn', 'cq2lw', 'kt9rd']],
  [27 * HOUR_MS, 'mail', ['b6wsx', 'p8c4j']],
  [3 * HOUR_MS, 'shop', ['5gkvn', '8lqtz', '9wdrb', 'c7hxm', 'f4znp', 'jx6sk', 'm2vwl', 'qd8tg']],
  [12 * MINUTE_MS, 'search', ['d9prl', 'w5kfx', 'z7nqb']],
];

const VIEWS = [
  ['dashboard-light', { viewport: { width: 1200, height: 900 }, colorScheme: 'light' }],
  ['dashboard-dark', { viewport: { width: 1200, height: 900 }, colorScheme: 'dark' }],
  ['dashboard-phone', { viewport: { width: 390, height: 900 }, colorScheme: 'light' }],
];

/** The store's clock, which the fleet is taken through: it begins with the first of them. */
let backMs = FLEET[0][0];
const clock = { now: () => Date.now() - backMs };
const support = new MemorySupport({ clock });
const layout = layouts.snowflake();
const leases = [];

async function lease(application, host, ttlMs = MINUTE_MS) {
  const terms = {
    fingerprint: layout.fingerprint,
    ttlMs,
    minRangeMs: 1000,
    quarantineMs: 0,
  };
  const holder = { host: `${application}-${host}`, pid: 1, application, version };
  const range = { workerIdMin: 0, workerIdMax: 1023, haveMs: 0 };
  const request = { ...terms, ...range, token: host, nonce: host, holder };
  const { workerId, ceilingMs, mark } = await support.getNextWorkId(request);
  return { ...terms, workerId, token: host, nonce: host, nonceNext: host, haveMs: ceilingMs, mark };
}

async function renewAll() {
  for (const held of leases) {
    const { ceilingMs, mark } = await support.refreshAlive(held);
    Object.assign(held, { haveMs: ceilingMs, mark });
  }
}

/** Everybody renews every half minute until then. */
async function goTo(agoMs) {
  while (backMs > agoMs) {
    backMs = Math.max(agoMs, backMs - MINUTE_MS / 2);
    await renewAll();
  }
}

async function makeFleet() {
  for (const [agoMs, application, hosts] of FLEET) {
    await goTo(agoMs);
    for (const host of hosts) leases.push(await lease(application, `6d9f7c-${host}`));
  }
  await goTo(4 * MINUTE_MS);
  await lease('search', '6d9f7c-hk3vt');
  await goTo(0);
}

const guards = [{ canActivate: () => true }];
class App {}
Module({
  imports: [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRoot({ support, application: 'shop' }),
    SnowflakeDashboardModule.forRoot({ guards }),
  ],
})(App);

async function takePicture(browser, app, [name, view]) {
  const page = await browser.newPage({ ...view, locale: 'en-GB', timezoneId: 'Europe/Berlin' });
  await page.route(/\/(state|workers)/, async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replaceAll(`"${hostname()}"`, `"${OWN_HOST}"`);
    await route.fulfill({ response, body: body.replaceAll(`:${process.pid}`, ':1') });
  });
  await page.goto(`${await app.getUrl()}/snowflake#${app.get(IdMaker).nextId()}`);
  await page.getByText('Live from').waitFor();
  const late = await lease('mail', `6d9f7c-x5kv${VIEWS.findIndex(([other]) => other === name)}`);
  await page.getByText('joined').waitFor();
  await support.release(late, undefined);
  await page.getByText('left:').waitFor();
  // The curve of the rate wants some points.
  await page.waitForTimeout(CURVE_MS);
  // The whole page, with as many rows as leave the reader and the layout near.
  await page.getByLabel('find').fill('mail');
  await page.evaluate(() => globalThis.scrollTo(0, 0));
  await page.screenshot({ path: fileURLToPath(new URL(`${name}.png`, FOLDER)), fullPage: true });
  await page.close();
}

/** Those who show cards take no SVG. */
async function takeCard(browser) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 630 } });
  await page.goto(new URL('pictures/card.svg', SITE).href);
  await page.screenshot({ path: fileURLToPath(new URL('public/card.png', SITE)) });
  await page.close();
}

await makeFleet();
const app = await NestFactory.create(App, {
  logger: ['error', 'warn'],
  forceCloseConnections: true,
});
await app.listen(0, '127.0.0.1');
const ids = app.get(IdMaker);
const traffic = setInterval(() => ids.nextIds(20 + Math.floor(60 * Math.random())), 50);
const renewing = setInterval(() => void renewAll(), 10_000);
const browser = await chromium.launch({ executablePath: requireServers(['chromium']).chromium });
try {
  await takeCard(browser);
  for (const view of VIEWS) await takePicture(browser, app, view);
} finally {
  clearInterval(traffic);
  clearInterval(renewing);
  await browser.close();
  await app.close();
}

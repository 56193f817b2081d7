/**
 * The page must be correct in the situations that it exists for: a silent store, a lost lease, a
 * load balancer, a restarted process, an expired session.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import {
  IdMaker,
  SnowflakeModule,
  layouts,
  type SnowflakeModuleOptions,
  type WorkerRecord,
} from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { hostname } from 'node:os';
import type { Browser } from 'playwright-core';
import { systemIdentity } from '../../lib/time/process-identity.js';
import { StoreThatFails } from '../metrics/measured-app.js';
import { MeasuredStore } from '../metrics/measured-fleet.js';
import { until } from '../until.js';
import { Visit, startBrowser, RoundRobin } from './browser.js';
import { leaseAs, LowestFirst, showApp, type ShownAppOptions } from './shown-app.js';

let browser: Browser;
let apps: INestApplication[];
let visit: Visit;
let time: SettableTime;
let balancer: RoundRobin;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());
beforeEach(() => {
  time = new SettableTime();
  balancer = new RoundRobin();
  apps = [];
});
afterEach(async () => {
  await visit.close();
  await balancer.close().catch(() => undefined);
  await Promise.all(apps.map((app) => app.close()));
});

const timed = () => ({ clock: time, timers: time }) as const;

async function serve(snowflake: SnowflakeModuleOptions, options: ShownAppOptions = {}) {
  const { app, url } = await showApp({ ...options, snowflake: { ...snowflake, ...timed() } });
  apps.push(app);
  return `${url}/snowflake`;
}

async function later(ms: number, where: string, text: string | RegExp): Promise<void> {
  await visit.settled();
  await time.advance(ms);
  await visit.comesToSay(where, text);
}

/** The browser's own reports of failed responses. */
function forgive(reported: RegExp): void {
  const others = visit.complaints.filter((text) => !reported.test(text));
  visit.complaints.splice(0, Infinity, ...others);
}

describe('an unavailable list', () => {
  it('is marked as outdated with its time and the reason, until the store responds', async () => {
    visit = await Visit.open(browser, await serve({ support: new LowestFirst({ clock: time }) }));
    await visit.says('#legend', '1 held');
    await visit.page.route('**/workers', (route) => route.fulfill({ status: 500 }));
    const said = 'The application answered 500. This list is from 00:00:00.';
    await later(2000, '#workers-problem', said);
    expect(await visit.page.locator('#workers.old').count()).toBe(1);
    expect(await visit.texts('#connection')).toEqual([expect.stringContaining('Live from')]);
    await visit.page.unroute('**/workers');
    await later(2000, '#table', '56 s');
    expect(await visit.page.locator('#workers.old, #workers-problem:visible').count()).toBe(0);
    forgive(/500/);
  });

  it('leaves data of this process visible, and delays no ID', async () => {
    const support = new StoreThatFails({ clock: time });
    const url = await serve({ support });
    support.isAway = true;
    visit = await Visit.open(browser, `${url}#382366441078288384`);
    await visit.says('.id', '382366441078288384');
    await visit.says('#workers-problem', /connection refused$/);
    const { version } = systemIdentity('').label();
    const anyId = expect.stringMatching(/^\d+$/) as unknown;
    expect(await visit.rows()).toEqual([
      [anyId, 'held, this process', 'shop', hostname(), String(process.pid), version!, '', '1 min'],
    ]);
    expect(await visit.texts('#legend li')).toEqual(['1 held', 'others: unknown']);
  });

  it('does not delay an ID while the store is silent', async () => {
    const support = new LowestFirst({ clock: time });
    support.workers = () => new Promise<WorkerRecord[]>(() => undefined);
    visit = await Visit.open(browser, `${await serve({ support })}#382366441078288384`);
    await visit.says('.id', '382366441078288384');
    await visit.says('#workers-problem', 'The store did not answer within 3 s.');
    expect(await visit.rows()).toHaveLength(1);
  });
});

describe('a lease bar', () => {
  it('shows the remaining share of the lease, even on a page opened late', async () => {
    const support = new StoreThatFails({ clock: time });
    const url = await serve({ support });
    support.isAway = true;
    await time.advance(45_000);
    visit = await Visit.open(browser, url);
    await visit.says('.card', /lease left\s+15 s/);
    await visit.says('#table', '15 s');
    const shares = await visit.page.evaluate<string[]>(
      `[...document.querySelectorAll('.card .bar, #table .bar')].map(
        ({ style }) => style.getPropertyValue('--share'))`,
    );
    expect(shares).toEqual(['25%', '25%']);
  });
});

describe('the renewal time', () => {
  it('covers recent responses, without time-outs and old responses', async () => {
    const support = new LowestFirst({ clock: time });
    const url = await serve({ support, callTimeoutMs: 1500 });
    const refresh = support.refreshAlive.bind(support);
    const slowBy = (ms: number) => {
      support.refreshAlive = async (lease) => {
        await new Promise<void>((resolve) => time.after(ms, resolve));
        return refresh(lease);
      };
    };
    slowBy(900);
    for (let count = 0; count < 10; count++) await time.advance(10_000);
    visit = await Visit.open(browser, url);
    await visit.says('.card', /typical answer time\s+9\d\d ms/);
    support.refreshAlive = () => new Promise(() => undefined);
    await later(30_000, '.card', /\d error/);
    await visit.says('.card', /typical answer time\s+9\d\d ms/);
    slowBy(20);
    for (let count = 0; count < 30; count++) await time.advance(10_000);
    await later(1000, '.card', /typical answer time\s+2\d ms/);
    expect((await visit.texts('.card')).join()).toMatch(/renewals.*\d error/s);
  });
});

describe('process cards', () => {
  it('do not label a worker ID of another process as this process', async () => {
    const support = new LowestFirst({ clock: time });
    const url = await serve({ support });
    const holder = { host: 'thief', pid: 99, application: 'shop', sinceMs: time.now() };
    support.workers = async () => [
      { workerId: 0, ceilingMs: time.now() + 60_000, freeInMs: 60_000, holder },
    ];
    visit = await Visit.open(browser, url);
    await visit.says('#table', 'thief');
    expect((await visit.rows())[0]!.slice(0, 4)).toEqual(['0', 'held', 'shop', 'thief']);
    expect(await visit.page.locator('rect.own').count()).toBe(0);
  });

  it('show two processes behind a load balancer, and neither as this process', async () => {
    const support = new LowestFirst({ clock: time });
    const urls = [await serve({ support }), await serve({ support })];
    apps[0]!.get(IdMaker).nextIds(1000);
    const origins = urls.map((url) => new URL(url).origin);
    visit = await Visit.open(browser, `${await balancer.listen(...origins)}/snowflake`);
    await visit.comesToSay('#connection', 'Live from 2 processes in turn.');
    await visit.says('#process-title', 'Processes that answer');
    expect(await visit.page.locator('.card').count()).toBe(2);
    await visit.comesToSay('#table', /^(?!.*this process).*held/s);
    expect((await visit.rows()).map((row) => row[1])).toEqual(['held', 'held']);
    // Rates are computed per process, so no process has a negative rate.
    await later(2000, '.card', /ids per second\s+0/);
    expect((await visit.texts('.card')).join()).not.toMatch(/per second\s+-/);

    balancer.targets.pop();
    // Each request gets its response before the next; a slow page must not age past the expected
    // state.
    while ((await visit.texts('.card.old')).length === 0) {
      await visit.settled();
      await visit.askAgain();
    }
    await visit.says('.card.old', /no recent answer.*last answer at \d\d:\d\d:\d\d, \d+ s ago/s);
    await visit.page.clock.runFor(60_000);
    await visit.comesToSay('#connection', `Live from ${hostname()}`);
    expect(await visit.page.locator('.card').count()).toBe(1);
  });

  it('show static worker IDs behind a load balancer next to each other', async () => {
    const urls = [await serve({ workerId: 7 }), await serve({ workerId: 9 })];
    const origins = urls.map((url) => new URL(url).origin);
    visit = await Visit.open(browser, `${await balancer.listen(...origins)}/snowflake`);
    await visit.comesToSay('#legend', '2 fixed');
    expect((await visit.rows()).map(([workerId]) => workerId)).toEqual(['7', '9']);
  });

  it('start again for a process that restarted under the same name', async () => {
    const support = new LowestFirst({ clock: time });
    const first = await serve({ support });
    apps[0]!.get(IdMaker).nextIds(100_000);
    visit = await Visit.open(browser, `${await balancer.listen(new URL(first).origin)}/snowflake`);
    await visit.says('.card', /ids made\s+100,000/);
    balancer.targets = [new URL(await serve({ support })).origin];
    await later(2000, '#processes', /ids made\s+0/);
    expect((await visit.texts('.card')).join()).not.toMatch(/per second\s+-/);
  });
});

describe('several generators', () => {
  const named = (support: LowestFirst) => ({
    more: { imports: [SnowflakeModule.forRoot({ name: 'orders', support, ...timed() })] },
  });

  it('never appear under another name, and announce no old state as new', async () => {
    const support = new LowestFirst({ clock: time });
    await leaseAs(support, { host: 'theirs', pid: 1 });
    const orders = new StoreThatFails({ namespace: 'orders', clock: time });
    const url = await serve({ support }, named(orders));
    orders.isAway = true;
    visit = await Visit.open(browser, url);
    await visit.says('#legend', '2 held');
    // A response in flight when the user selects the other generator.
    const held: (() => void)[] = [];
    await visit.page.route('**/workers', async (route) => {
      await new Promise<void>((resolve) => held.push(resolve));
      await route.continue().catch(() => undefined);
    });
    await time.advance(2000);
    await visit.askAgain();
    await until(() => held.length > 0);
    await visit.page.getByLabel('generator').selectOption('orders');
    await visit.says('#workers-problem', 'connection refused');
    for (const release of held) release();
    await visit.page.unroute('**/workers');
    await visit.settled();
    expect((await visit.rows()).map(([workerId, state]) => [workerId, state])).toEqual([
      [expect.stringMatching(/^\d+$/), 'held, this process'],
    ]);
    expect(await visit.texts('#legend li')).toEqual(['1 held', 'others: unknown']);
    expect(await visit.texts('#changes li')).toEqual([]);
    expect(await visit.page.locator('.card').count()).toBe(1);
  });

  it('show which generator is unhealthy, whichever is selected', async () => {
    const orders = new StoreThatFails({ namespace: 'orders', clock: time });
    const url = await serve({ support: new LowestFirst({ clock: time }) }, named(orders));
    visit = await Visit.open(browser, url);
    expect(await visit.page.title()).toBe('Snowflake');
    orders.isAway = true;
    await later(12_000, '#verdict', 'orders: still generates ids. The lease could not be renewed');
    expect(await visit.page.title()).toBe('⚠ Snowflake');
    await visit.says('#generator option', 'orders: still generates ids');
    orders.isAway = false;
    await later(12_000, '#generator option', /^default\norders$/);
    expect(await visit.page.title()).toBe('Snowflake');
  });
});

describe('announcements', () => {
  it('report a crash once, no later release, and a return', async () => {
    const support = new LowestFirst({ clock: time });
    const url = await serve({ support });
    const pod = await leaseAs(support, { host: 'pod', pid: 5 });
    visit = await Visit.open(browser, url);
    await visit.says('#legend', '2 held');
    await later(61_000, '#changes', 'was lost: shop on pod, pid 5');
    await pod.renew();
    await later(1000, '#changes', 'Worker id 1 came back: shop on pod, pid 5.');
    await later(61_000, '#changes', /was lost.*came back.*was lost/s);
    await later(3_600_000, '#legend', /^1 held\n1,023 free$/);
    expect((await visit.texts('#changes')).join()).not.toContain('gave it back');
  });
});

describe('problems', () => {
  const reason = 'The lease could not be renewed';
  const counted = async () =>
    (await visit.page.locator('body').innerText()).split(reason).length - 1;

  it('appear once for all generators of the same store', async () => {
    const support = new StoreThatFails({ clock: time });
    const orders = new StoreThatFails({ namespace: 'orders', clock: time });
    const more = {
      imports: [SnowflakeModule.forRoot({ name: 'orders', support: orders, ...timed() })],
    };
    visit = await Visit.open(browser, await serve({ support }, { more }));
    support.isAway = orders.isAway = true;
    await later(12_000, '#verdict', `default, orders: still generates ids. ${reason}`);
    expect(await counted()).toBe(1);
  });

  it('appear on the card of their own process', async () => {
    const support = new StoreThatFails({ clock: time });
    const urls = [await serve({ support }), await serve({ workerId: 900 })];
    const origins = urls.map((url) => new URL(url).origin);
    support.isAway = true;
    await time.advance(12_000);
    visit = await Visit.open(browser, `${await balancer.listen(...origins)}/snowflake`);
    await visit.comesToSay('#connection', 'Live from 2 processes in turn.');
    await visit.comesToSay('.card', reason);
    expect(await visit.page.locator('#verdict').isVisible()).toBe(false);
    expect(await counted()).toBe(1);
    await visit.comesToSay('#verdict', reason);
    expect(await counted()).toBe(1);
  });
});

describe('a lost registry', () => {
  it('is reported as a loss, not as departures, and raises no alarm', async () => {
    const support = new LowestFirst({ clock: time });
    await leaseAs(support, { host: 'pod', pid: 5 });
    const url = await serve({ support });
    visit = await Visit.open(browser, url);
    await visit.says('#legend', '2 held');
    let incarnation = 'memory';
    await visit.page.route('**/state', async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace(/"memory \w+"/, `"${incarnation}"`);
      await route.fulfill({ response, body });
    });
    incarnation = 'another';
    const workers = support.workers.bind(support);
    support.workers = async () => (await workers()).filter(({ workerId }) => workerId !== 0);
    await later(2000, '#changes', 'there is a new registry');
    await later(2000, '#legend', '1 held');
    expect((await visit.texts('#changes')).join()).not.toContain('gave it back');
    expect(await visit.page.locator('#verdict').isVisible()).toBe(false);
  });
});

describe('two registries for one ID space', () => {
  it('raise an alarm only after a change of registry would be over', async () => {
    const support = new LowestFirst({ clock: time });
    const urls = [await serve({ support }), await serve({ support })];
    const origins = urls.map((url) => new URL(url).origin);
    visit = await Visit.open(browser, `${await balancer.listen(...origins)}/snowflake`);
    await visit.comesToSay('#connection', 'Live from 2 processes in turn.');
    await visit.page.route('**/state', async (route) => {
      const response = await route.fetch();
      const { instance } = (await response.json()) as { instance: string };
      const body = (await response.text()).replace(/"memory \w+"/, `"registry of ${instance}"`);
      await route.fulfill({ response, body });
    });
    await visit.comesToSay('.card', /registry of .*registry of /s);
    expect(await visit.page.locator('#verdict').isVisible()).toBe(false);
    await visit.comesToSay('#verdict', 'lease from different registries, so ids may repeat.');
    expect(await visit.page.locator('#verdict.down').count()).toBe(1);
  });
});

describe('a move to another store', () => {
  it('raises no alarm, and each process shows its half of the worker IDs', async () => {
    const half = async (text: string) => {
      const store = new MeasuredStore(time);
      const url = await serve({ support: new LowestFirst({ rows: store.rows }) });
      await store.order(`#1 #${text.replace(' ', ' t41-w10-s12/1ms@1704067200000')}`);
      await time.advance(30_000);
      return url;
    };
    const urls = [await half('out:k1 [0-511]'), await half('in:k1 [512-1023]')];
    const origins = urls.map((url) => new URL(url).origin);
    visit = await Visit.open(browser, `${await balancer.listen(...origins)}/snowflake`);
    await visit.comesToSay('#connection', 'Live from 2 processes in turn.');
    await visit.comesToSay('#legend', '511 free');
    for (let count = 0; count < 15; count++) {
      await visit.askAgain();
      await visit.settled();
    }
    await visit.comesToSay('#connection', 'Live from 2 processes in turn.');
    expect(await visit.page.locator('#verdict').isVisible()).toBe(false);
  });
});

describe('an expired session', () => {
  it.each([
    ['is a redirect to another page', { status: 302, headers: { location: '/login' } }],
    ['is a login page', { status: 200, contentType: 'text/html', body: '<h1>login</h1>' }],
  ])('is shown on the page if the response %s', async (_how, answer) => {
    visit = await Visit.open(browser, await serve({ workerId: 7 }));
    await visit.page.route(/\/(state|workers|id\?.*)$/, (route) => route.fulfill(answer));
    await visit.comesToSay('#connection', 'You are signed out. Sign in and reload this page.');
    await visit.page.getByLabel('id', { exact: true }).fill('1');
    await visit.comesToSay('#id-problem', 'You are signed out.');
    expect(await visit.page.locator('.lost').count()).toBe(1);
  });
});

describe('the page address', () => {
  it.each(['%E0%A4%A', 'no id'])('does not break the page with #%s', async (hash) => {
    visit = await Visit.open(browser, `${await serve({ workerId: 7 })}#${hash}`);
    await visit.says('#id-problem', /^Expected an id/);
    expect(await visit.rows()).toHaveLength(1);
  });

  it('can get another ID, names the ID on the page, and may be the skip link', async () => {
    const url = await serve({ workerId: 7 });
    visit = await Visit.open(browser, `${url}#4096`);
    await visit.says('.id', /^4096$/);
    await visit.page.evaluate("location.hash = '8192'");
    await visit.says('.id', /^8192$/);
    await visit.page.getByLabel('id', { exact: true }).fill('12288');
    await visit.comesToSay('.id', /^12288$/);
    expect(visit.page.url()).toBe(`${url}#12288`);
    await visit.page.goto(`${url}#workers`);
    await visit.page.reload();
    await visit.says('#connection', 'Live from');
    expect(await visit.page.getByLabel('id', { exact: true }).inputValue()).toBe('');
  });
});

describe('a very large worker-ID range', () => {
  it('has cells for several worker IDs, each labeled with its range', async () => {
    const layout = layouts.sonyflake();
    visit = await Visit.open(browser, await serve({ layout, workerId: 65_535 }));
    await visit.says('#legend', '1 fixed');
    expect(await visit.page.locator('#map g').count()).toBe(64);
    const title = visit.page.locator('#map g:has(.own) title');
    expect(await title.textContent()).toMatch(/^64512 to 65535\n65535 fixed: shop on /);
  });

  it('distinguishes worker IDs reserved elsewhere from free worker IDs', async () => {
    const support = new LowestFirst({ clock: time });
    const layout = layouts.twitter();
    visit = await Visit.open(
      browser,
      await serve({ support, layout, workerFields: { datacenter: 3 } }),
    );
    await visit.says('#legend', /^1 held\n31 free$/);
    expect(await visit.page.locator('#map rect.free').count()).toBe(32 / 16);
    expect(await visit.page.locator('#map rect.outside').count()).toBe(992 / 16);
  });
});

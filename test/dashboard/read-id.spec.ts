/**
 * The ID reader on the page: bits in the colors of their fields, and the meaning of each.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Redis } from 'ioredis';
import {
  BitLayout,
  getDistributedSupportToken,
  IdMaker,
  layouts,
  textForms,
} from 'nestjs-snowflake';
import { registerPrometheusMetrics } from 'nestjs-snowflake/metrics';
import { SettableTime } from 'nestjs-snowflake/testing';
import type { Browser } from 'playwright-core';
import * as client from 'prom-client';
import type { StateAnswer, WorkersAnswer } from '../../lib/dashboard/answers.js';
import { healthOf } from '../../lib/health/health-report.js';
import { LONG, plant, type Planted, STEERING, STEERS } from '../cli/run-command.js';
import { changeHeader } from '../stores/timed-redis.js';
import { until } from '../until.js';
import { startBrowser, Visit } from './browser.js';
import { LowestFirst, showApp } from './shown-app.js';

describe('read id', () => {
  const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

  let browser: Browser;
  let app: INestApplication;
  let visit: Visit;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());

  async function leave(): Promise<void> {
    await visit.close();
    await app.close();
  }

  async function look(layout: BitLayout = layouts.snowflake(), hash = ''): Promise<void> {
    const time = new SettableTime(NOW_MS);
    const support = new LowestFirst({ clock: time });
    const common = { clock: time, timers: time };
    const format = await showApp({ snowflake: { support, layout, ...common } });
    app = format.app;
    visit = await Visit.open(browser, `${format.url}/snowflake${hash}`);
  }

  /** Types the ID and lets the page send the request. */
  async function type(text: string): Promise<void> {
    await visit.page.getByLabel('id', { exact: true }).fill(text);
    await visit.askAgain();
    await visit.settled();
  }

  /** The bits as drawn: runs of one color, with their digits. */
  async function runs(): Promise<string[]> {
    // Reads all at once: a call for each of 64 bits would double the test time.
    const bits = await visit.page.evaluate<[colour: string, digit: string][]>(
      `[...document.querySelectorAll('.bits span')].map((bit) => [bit.className, bit.innerText])`,
    );
    const drawn: string[] = [];
    let last = '';
    for (const [named, digit] of bits) {
      const colour = named.replace(/ ?\bfirst\b/, '');
      if (colour !== last) drawn.push(`${colour}: `);
      last = colour;
      drawn.push(`${drawn.pop()}${digit}`);
    }
    return drawn;
  }

  describe('an ID', () => {
    afterEach(leave);

    it('appears bit by bit, and field by field', async () => {
      await look();
      const layout = layouts.snowflake();
      const id = layout.compose({ timestampMs: NOW_MS - 90_000, workerId: 5, sequence: 3 });
      await type(String(id));
      const time = (NOW_MS - 90_000 - layout.epochMs).toString(2).padStart(41, '0');
      expect(await runs()).toEqual([
        'unused: 0',
        `field timestamp: ${time}`,
        'field worker: 0000000101',
        'field sequence: 000000000011',
      ]);
      const [timestamp, worker, sequence] = await visit.texts('.meanings > div');
      expect(timestamp).toContain('bits 62 to 22');
      expect(timestamp).toContain(
        '63,158,310,000 ms since the epoch: 2025-12-31 23:58:30.000 UTC, here 31 Dec 2025, ' +
          '23:58:30 UTC, 1 min 30 s ago',
      );
      expect(worker).toMatch(/worker bits 21 to 12\s+5 is the worker id/);
      expect(sequence).toMatch(/sequence bits 11 to 0\s+3 is its number in the tick/);
      await visit.says('#id-reading', 'Worker id 5 has no known holder now.');
    });

    it('appears in the fields of any layout, with adjacent fields of one role distinct', async () => {
      const layout = new BitLayout({
        fields: [
          ['timestamp', 41],
          ['datacenter', 3],
          ['rack', 4],
          ['sequence', 8],
          ['shard', 5, 'call'],
        ],
      });
      await look(layout);
      const fields = { datacenter: 5, rack: 9, shard: 17 };
      const id = layout.compose({ timestampMs: NOW_MS, fields, sequence: 255 });
      await type(String(id));
      expect((await runs()).slice(2)).toEqual([
        'field worker: 101',
        'field worker second: 1001',
        'field sequence: 11111111',
        'field call: 10001',
      ]);
      expect((await visit.texts('.meanings > div')).slice(1)).toEqual([
        expect.stringMatching(/datacenter .*\s+5 is part of the worker id 89/),
        expect.stringMatching(/rack .*\s+9 is part of the worker id 89/),
        expect.stringMatching(/sequence .*\s+255 is its number/),
        expect.stringMatching(/shard .*\s+17 was given in the call that generated the id/),
      ]);
    });

    it('is shown with the current holder of its worker ID', async () => {
      await look();
      const id = layouts.snowflake().compose({ timestampMs: NOW_MS, workerId: 0 });
      await type(String(id));
      await visit.says('#id-reading', 'Worker id 0 is now held by shop on');
      expect(await runs()).toContain('field worker: 0000000000');
    });

    it('can be part of the address, so a link opens it', async () => {
      await look(layouts.snowflake(), '#382366441078288384');
      await visit.says('.id', '382366441078288384');
      expect(await visit.texts('.meanings > div')).toHaveLength(3);
    });
  });

  describe('a new ID on a page that has read others', () => {
    beforeAll(() => look());
    afterAll(leave);

    const forms = Object.entries(textForms).map(([name, form], at) => ({ name, form, at }));

    it.each(forms)('is decoded and shown as $name', async ({ name, form, at }) => {
      const id = 382366441078288384n + BigInt(at);
      await visit.page.getByLabel('written as').selectOption(name);
      await type(form.encode(id));
      await visit.says('.id', String(id));
      await visit.page.locator('summary').click();
      const written = forms.filter((other) => other.name !== 'decimal');
      expect(await visit.texts('.forms dd')).toEqual(written.map((other) => other.form.encode(id)));
    });
  });

  describe('an invalid ID', () => {
    afterEach(leave);

    it.each(['abc', '-1', '99999999999999999999', '1e3', '<b>1</b>', '9'.repeat(60)])(
      '%s is rejected with a message next to the field',
      async (text) => {
        await look();
        await type('382366441078288384');
        await visit.says('.id', '382366441078288384');
        await type(text);
        await visit.says('#id-problem', /^Expected an id/);
        expect(await visit.page.locator('#id-reading').isVisible()).toBe(false);
        expect(await visit.page.locator('#id-text[aria-invalid]').count()).toBe(1);
        await type('');
        await visit.says('#id-problem', /^$/);
        expect(await visit.page.locator('#id-text[aria-invalid]').count()).toBe(0);
      },
    );

    it('changed during the request is not overwritten by the old result', async () => {
      await look();
      const held: (() => void)[] = [];
      await visit.page.route('**/id?text=1&*', async (route) => {
        await new Promise<void>((resolve) => held.push(resolve));
        await route.continue().catch(() => undefined);
      });
      await visit.page.getByLabel('id', { exact: true }).fill('1');
      await visit.askAgain();
      await visit.page.getByLabel('id', { exact: true }).fill('4096');
      await visit.askAgain();
      await visit.says('.id', /^4096$/);
      for (const release of held) release();
      await visit.settled();
      await visit.askAgain();
      await visit.says('.id', /^4096$/);
      expect(held).toHaveLength(1);
    });
  });
});

/*
 * A registry with entries from an attacker on a real Redis, in the page, its JSON, the health
 * check, and the metrics. Also hostile requests.
 */
describe('hostile registry', () => {
  const namespace = randomUUID();
  const key = `snowflake:{${namespace}}:registry`;
  let redis: Redis;
  let app: INestApplication;
  let url: string;
  let planted: Planted;

  async function serve(): Promise<void> {
    const support = `${process.env['REDIS_URL']}?namespace=${namespace}`;
    const format = await showApp({
      snowflake: { support },
      prepare: (made) => (made as NestExpressApplication).set('query parser', 'extended'),
    });
    app = format.app;
    url = `${format.url}/snowflake`;
  }

  beforeAll(async () => {
    redis = new Redis(process.env['REDIS_URL']!);
    await serve();
    planted = await plant(redis, key);
  });
  afterAll(async () => {
    await app.close();
    await redis.del(key);
    await redis.quit();
  });

  async function answer<T>(path: string): Promise<T> {
    const response = await fetch(url + path);
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(STEERS.exec(text)).toBeNull();
    expect(text.length).toBeLessThan(LONG / 4);
    return JSON.parse(text) as T;
  }

  describe('a registry with entries from an attacker', () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await startBrowser();
    });
    afterAll(() => browser.close());

    it('hides no holder from the list of workers', async () => {
      const { workers, problem } = await answer<WorkersAnswer>('/workers');
      expect(problem).toBeUndefined();
      const own = workers.filter(({ holder }) => holder?.pid === process.pid);
      expect(own).toMatchObject([{ state: 'held' }]);
      const unread = workers.filter(({ holder }) => holder === undefined);
      expect(unread).toMatchObject([{ workerId: 99 }]);
      const others = workers.filter((worker) => ![...own, ...unread].includes(worker));
      const hosts = others.map(({ workerId, holder }) => [workerId, holder?.host]);
      expect(hosts).toEqual([...planted.hosts]);
    });

    it('appears on the page with each holder in its own row', async () => {
      const visit = await Visit.open(browser, url);
      await visit.says('#legend', `${1 + planted.hosts.size} held`);
      const rows = await visit.rows();
      const hosts = rows.map(([workerId, , , host]) => [Number(workerId), host] as const);
      const others = hosts.filter(([workerId]) => planted.hosts.has(workerId));
      expect(rows).toHaveLength(planted.hosts.size + 2);
      expect(others).toEqual([...planted.hosts]);
      expect(STEERS.exec((await visit.texts('main')).join().replaceAll('\t', ' '))).toBeNull();
      expect(await visit.page.locator('#table script, #table img').count()).toBe(0);
      const [content, view] = await visit.page.evaluate<[number, number]>(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      );
      expect(content).toBeLessThanOrEqual(view);
      await visit.close();
    });

    it('is counted in the metrics', async () => {
      const registry = new client.Registry();
      const support = app.get<never>(getDistributedSupportToken());
      registerPrometheusMetrics(client, [{ ids: app.get(IdMaker), support }], { registry });
      const inUse = async (): Promise<string> =>
        /snowflake_workers_in_use\S* (\d+)/.exec(await registry.metrics())?.[1] ?? '';
      await until(async () => (await inUse()) !== '');
      expect(Number(await inUse())).toBe(2 + planted.hosts.size);
    });

    it('neither controls nor floods the output of a process', async () => {
      await app.close();
      await changeHeader(redis, key, { incarnation: `${STEERING}${'x'.repeat(LONG)}` });
      await serve();
      const { generators } = await answer<StateAnswer>('/state');
      expect(generators[0]!.health).toBe('up');
      expect(generators[0]!.lease!.incarnation).toMatch(/^\?\[2J\?/);
      const { health } = healthOf(app.get(IdMaker));
      expect(health).toMatchObject({
        state: 'active',
        incarnation: expect.stringMatching(/^\?\[2J/),
      });
      expect(JSON.stringify(health).length).toBeLessThan(2000);
      const registry = new client.Registry();
      registerPrometheusMetrics(client, [{ ids: app.get(IdMaker) }], { registry });
      const text = await registry.metrics();
      expect(STEERS.exec(text)).toBeNull();
      expect(text.length).toBeLessThan(LONG / 4);
    });

    it('rejects a start with a message free of control characters', async () => {
      await changeHeader(redis, key, { fingerprint: `${STEERING}${'x'.repeat(LONG)}` });
      const support = `${process.env['REDIS_URL']}?namespace=${namespace}`;
      const refused = showApp({ snowflake: { support } });
      const { message } = await refused.then(
        () => new Error('started'),
        (error: Error) => error,
      );
      expect(message).toContain('?[2J?]0;t');
      expect(STEERS.exec(message)).toBeNull();
      expect(message.length).toBeLessThan(2000);
    });
  });

  describe('the ID decoder', () => {
    it.each([
      'text[toString]=1',
      'text[toJSON]=1',
      'text[valueOf]=1&text[length]=5',
      'text[length]=1000000000',
      'text[]=1&text[]=2',
      'text=1&form[toString]=1',
      'text=1&form[]=decimal',
      'text=1&generator[toString]=1',
      'text=1&form=__proto__',
      'text=1&form=hasOwnProperty',
      `text=${'9'.repeat(12_000)}`,
      `text=${'z'.repeat(12_000)}&form=base58`,
      `text=${'0'.repeat(12_000)}1&form=sortableDecimal`,
      `text=${encodeURIComponent('٣٤')}`,
      `text=${encodeURIComponent(STEERING)}`,
      `text=${encodeURIComponent(STEERING)}&form=crockford32`,
      `text=1&form=${encodeURIComponent(STEERING)}`,
    ])('rejects ?%s with a reason', async (query) => {
      const { problem } = await answer<{ problem?: string }>(`/id?${query}`);
      expect(problem).toBeDefined();
      expect(problem!.length).toBeLessThan(500);
    });
  });
});

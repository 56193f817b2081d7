/**
 * A registry that somebody else has written to, on a real Redis, as the page, its JSON, the health
 * check and the metrics show it; and questions that nobody honest asks.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Redis } from 'ioredis';
import { IdMaker, getDistributedSupportToken } from 'nestjs-snowflake';
import { registerPrometheusMetrics } from 'nestjs-snowflake/metrics';
import { randomUUID } from 'node:crypto';
import type { Browser } from 'playwright-core';
import * as client from 'prom-client';
import type { StateAnswer, WorkersAnswer } from '../../lib/dashboard/answers.js';
import { healthOf } from '../../lib/health/health-report.js';
import { LONG, STEERING, STEERS, plant, type Planted } from '../cli/planted.js';
import { until } from '../until.js';
import { Visit, startBrowser } from './browser.js';
import { showApp } from './shown-app.js';

jest.setTimeout(60_000);

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

describe('a registry that somebody else has written to', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());

  it('hides nobody from the list of workers', async () => {
    const { workers, problem } = await answer<WorkersAnswer>('/workers');
    expect(problem).toBeUndefined();
    const hosts = workers.map(({ workerId, holder }) => [workerId, holder?.host]);
    expect(hosts.slice(1)).toEqual([...planted.hosts]);
    expect(workers[0]).toMatchObject({ workerId: 0, state: 'held', holder: { pid: process.pid } });
    expect(workers.filter(({ holder }) => holder === undefined)).toEqual([]);
  });

  it('is shown by the page, each holder in a row of its own', async () => {
    const visit = await Visit.open(browser, url);
    await visit.says('#legend', `${1 + planted.hosts.size} held`);
    const rows = await visit.rows();
    expect(rows.slice(1).map(([workerId, , , host]) => [Number(workerId), host])).toEqual([
      ...planted.hosts,
    ]);
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
    expect(Number(await inUse())).toBe(1 + planted.hosts.size);
  });

  it('neither steers nor floods what a process says of it', async () => {
    await app.close();
    await redis.hset(key, 'incarnation', `${STEERING}${'x'.repeat(LONG)}`);
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

  it('refuses a start in words that steer nothing either', async () => {
    await redis.hset(key, 'fingerprint', `${STEERING}${'x'.repeat(LONG)}`);
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

describe('the decoder of ids', () => {
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
  ])('answers ?%s with a reason', async (query) => {
    const { problem } = await answer<{ problem?: string }>(`/id?${query}`);
    expect(problem).toBeDefined();
    expect(problem!.length).toBeLessThan(500);
  });
});

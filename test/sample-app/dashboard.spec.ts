/**
 * The page of the sample app in a real Chromium: two processes on one Redis, one of which comes and
 * goes while an operator looks.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Browser } from 'playwright-core';
import { Visit, startBrowser } from '../dashboard/browser.js';
import { type OwnDatabase, ownDatabase } from '../own-database.js';
import { BuiltShop, type ShopProcess } from './shop-process.js';

const SLOW_MS = 600_000;

describe('/snowflake', () => {
  let built: BuiltShop;
  let database: OwnDatabase;
  let browser: Browser;
  let shop: ShopProcess;
  let env: Record<string, string>;

  beforeAll(async () => {
    built = await BuiltShop.build();
    browser = await startBrowser();
    database = await ownDatabase(process.env['DATABASE_URL']!);
    const support = `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
    env = { SNOWFLAKE_SUPPORT: support, DATABASE_URL: database.url, OPERATOR_PASSWORD: 'sesame' };
    shop = await built.start(env);
  }, SLOW_MS);
  afterAll(async () => {
    await browser.close();
    await shop.stop();
    await database.drop();
  }, SLOW_MS);

  it('asks who is there', async () => {
    expect((await shop.get('/snowflake/state')).status).toBe(401);
  });

  it(
    'reads an id of an order, and shows another process join and leave',
    async () => {
      const { body } = await shop.post('/customers', { name: 'Ada' });
      const { id } = body as { id: string };
      const httpCredentials = { username: 'operator', password: 'sesame' };
      const visit = await Visit.open(browser, `${shop.url}/snowflake#${id}`, { httpCredentials });
      await visit.says('#id-reading', 'worker bits 21 to 12\n0 is the worker id');
      await visit.says('#legend', '1 held');

      const other = await built.start(env);
      await visit.comesToSay('#changes', `Worker id 1 joined: shop on ${hostname()}, pid`);
      const held = (await visit.rows()).map((row) => row.slice(0, 4));
      expect(held).toEqual([
        ['0', 'held, this process', 'shop', hostname()],
        ['1', 'held', 'shop', hostname()],
      ]);
      await other.stop();
      await visit.comesToSay('#changes', `Worker id 1 left: shop on ${hostname()}, pid`);
      // The first ids in a new registry are ahead of the clock, so its last range is not over.
      expect((await visit.rows()).map((row) => row.slice(0, 3))[1]).toEqual(['1', 'resting', '']);
      await visit.close();
    },
    SLOW_MS,
  );
});

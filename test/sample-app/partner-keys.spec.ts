/**
 * The route of the shop that needs an API key, asked over HTTP: with a key that operators made, and
 * with all that is none.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiKeys } from '../../lib/api-keys/index.js';
import { BuiltShop, type ShopProcess, orderBy } from './shop-process.js';

const SLOW_MS = 600_000;
const PASSWORD = 'the password of the operators';
const operator = { authorization: `Basic ${btoa(`ada:${PASSWORD}`)}` };
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

interface Issued {
  readonly keyId: string;
  readonly key: string;
}

describe('a partner', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-shop-'));
  const data = { DATA_DIR: join(folder, 'data'), OPERATOR_PASSWORD: PASSWORD };
  let built: BuiltShop;
  let shop: ShopProcess;
  let issued: Issued;

  beforeAll(async () => {
    built = await BuiltShop.build();
    shop = await built.start(data);
    issued = (await ask('POST', '/partner-keys', operator, { partner: 'Tea by Bike' })).body;
  }, SLOW_MS);
  afterAll(async () => {
    await shop.stop();
    rmSync(folder, { recursive: true });
  }, SLOW_MS);

  async function ask(method: string, path: string, headers: Record<string, string>, sent?: object) {
    const json: Record<string, string> =
      sent === undefined ? {} : { 'content-type': 'application/json' };
    const init = { method, headers: { ...headers, ...json }, body: JSON.stringify(sent) };
    const response = await fetch(shop.url + path, init);
    const text = await response.text();
    const body = (text === '' ? undefined : JSON.parse(text)) as Issued;
    return { status: response.status, body, text };
  }
  const read = (headers: Record<string, string>) => ask('GET', '/partner/orders?limit=5', headers);

  it('reads public ids with the key that operators made, and hears whose it is', async () => {
    const { body } = await shop.post('/customers', { name: 'Ada' });
    const { publicId } = await orderBy(shop, (body as { id: string }).id);
    const answer = await read(bearer(issued.key));
    expect(answer).toMatchObject({
      status: 200,
      body: { partner: 'Tea by Bike', orders: [publicId] },
    });
  });

  it('reads nothing without it, and hears the same of every key that is not valid', async () => {
    const others = new ApiKeys({ prefix: 'shop' });
    const made = [others.issue(issued.keyId).key, others.issue(7n).key];
    const answers = await Promise.all(made.map((key) => read(bearer(key))));
    const notValid = JSON.stringify({
      message: 'This API key is not valid.',
      error: 'Unauthorized',
      statusCode: 401,
    });
    expect(answers.map(({ status, text }) => ({ status, text }))).toEqual([
      { status: 401, text: notValid },
      { status: 401, text: notValid },
    ]);
    for (const headers of [{}, operator, bearer(issued.key.slice(0, -1)), bearer('x')]) {
      expect(await read(headers)).toMatchObject({
        status: 401,
        body: { message: expect.stringContaining('Send the complete API key') },
      });
    }
  });

  it('makes and revokes no keys', async () => {
    const { key, keyId } = issued;
    const tries = await Promise.all([
      ask('POST', '/partner-keys', bearer(key), { partner: 'x' }),
      ask('DELETE', `/partner-keys/${keyId}`, bearer(key)),
      ask('DELETE', `/partner-keys/${keyId}`, {}),
    ]);
    expect(tries.map(({ status }) => status)).toEqual([401, 401, 401]);
  });

  it(
    'keeps its key over a restart of the shop, until it is revoked',
    async () => {
      await shop.stop();
      shop = await built.start(data);
      expect((await read(bearer(issued.key))).status).toBe(200);
      const revoke = () => ask('DELETE', `/partner-keys/${issued.keyId}`, operator);
      expect((await revoke()).status).toBe(204);
      expect((await read(bearer(issued.key))).status).toBe(401);
      expect((await revoke()).status).toBe(404);
    },
    SLOW_MS,
  );

  it('finds its key neither in the log nor in the database of the shop', async () => {
    await shop.stop();
    const secret = issued.key.slice(-49, -6);
    const files = readdirSync(data.DATA_DIR, { recursive: true, withFileTypes: true });
    const texts = files
      .filter((file) => file.isFile())
      .map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'));
    // What is stored of it is found, so the search is not blind.
    expect(texts.some((text) => text.includes('Tea by Bike'))).toBe(true);
    expect([shop.output, ...texts].filter((text) => text.includes(secret))).toEqual([]);
  });
});

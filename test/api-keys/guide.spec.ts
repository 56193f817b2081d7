/**
 * The guard from the guide, unchanged, on both platforms over real HTTP.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplication, Provider, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { getRepositoryToken } from '@nestjs/typeorm';
import { ApiKeys } from 'nestjs-snowflake/api-keys';
import { blockWith } from '../docs/snippets.js';
import { PLATFORMS } from '../http/serve.js';
import { ROOT } from '../tidy/tree.js';

type Guide = Record<'ApiKeyGuard' | 'KeyRow' | 'OrdersController', Type>;
interface Row {
  readonly hash: string;
  readonly revokedAt: Date | null;
}

mkdirSync(join(ROOT, '.data'), { recursive: true });
const folder = mkdtempSync(join(ROOT, '.data', 'api-keys-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(PLATFORMS)('the guard from the guide on %s', (platform) => {
  const keys = new ApiKeys({ prefix: 'shop_live' });
  const rows = new Map<string, Row>();
  const asked: string[] = [];
  let isAway = false;
  let app: INestApplication;
  let url: string;

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

  function stored(id: bigint, revokedAt: Date | null = null): string {
    const { key, keyId, hash } = keys.issue(id);
    rows.set(keyId, { hash, revokedAt });
    return key;
  }

  /** fetch() would join headers of the same name. */
  async function get(headers: OutgoingHttpHeaders) {
    const sent = request(`${url}/orders`, { headers, agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return [response.statusCode, JSON.parse(await text(response))] as const;
  }

  beforeAll(async () => {
    const path = join(folder, `${platform}.ts`);
    writeFileSync(path, blockWith('docs/guides/api-keys.md', 'class ApiKeyGuard'));
    const { ApiKeyGuard, KeyRow, OrdersController } = (await import(path)) as Guide;
    const findOneBy = async ({ id }: { id: string }) => {
      asked.push(id);
      if (isAway) throw new Error('The database is away.');
      return rows.get(id) ?? null;
    };
    const providers: Provider[] = [
      ApiKeyGuard,
      { provide: ApiKeys, useValue: keys },
      { provide: getRepositoryToken(KeyRow), useValue: { findOneBy } },
    ];
    const module = { module: class {}, controllers: [OrdersController], providers };
    app =
      platform === 'express'
        ? await NestFactory.create(module, { logger: false })
        : await NestFactory.create(module, new FastifyAdapter(), { logger: false });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });
  afterAll(() => app.close());

  it('admits a request with a valid key, and identifies its owner', async () => {
    expect(await get(bearer(stored(7n)))).toEqual([200, { keyId: '7' }]);
  });

  it('rejects malformed text without a query, and a duplicate header', async () => {
    const key = stored(8n);
    asked.length = 0;
    const wrong = [{}, bearer(''), bearer('x'), bearer(key.slice(0, -1)), bearer(`${key}0`)];
    for (const headers of [...wrong, { authorization: [`Bearer ${key}`, `Bearer ${key}`] }]) {
      expect(await get(headers)).toMatchObject([401, { message: 'Send the complete API key.' }]);
    }
    expect(asked).toEqual([]);
  });

  it('responds alike to an unknown, a wrong, a revoked, and a derived key', async () => {
    stored(9n);
    const secrets = { a: 'secret a of at least 32 characters' };
    const derived = new ApiKeys({ prefix: 'shop_live', secrets }).derive(9n);
    const refused = [keys.issue(10n).key, keys.issue(9n).key, stored(11n, new Date())];
    const answers = await Promise.all(refused.map((key) => get(bearer(key))));
    const invalid = [401, expect.objectContaining({ message: 'This API key is not valid.' })];
    expect(answers).toEqual([invalid, invalid, invalid]);
    expect((await get(bearer(derived)))[0]).toBe(401);
  });

  it('responds with 500, never 401, if the table cannot be read or holds no hash', async () => {
    const key = stored(12n);
    isAway = true;
    expect((await get(bearer(key)))[0]).toBe(500);
    isAway = false;
    rows.set('12', { hash: key, revokedAt: null });
    expect((await get(bearer(key)))[0]).toBe(500);
  });
});

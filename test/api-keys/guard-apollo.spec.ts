/**
 * The guard of a resolver behind Apollo, as applications use it: what is answered over HTTP to
 * somebody without a key, with a wrong one and with a right one.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { UseGuards } from '@nestjs/common';
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { ApiKeyGuard, ApiKeyId, ApiKeyModule, ApiKeys } from '../../lib/api-keys/index.js';
import { GuardedApp, PLATFORMS, bearer, moduleOf } from './guarded-app.js';

@Resolver()
class CallerResolver {
  @Query(() => String)
  @UseGuards(ApiKeyGuard)
  caller(@ApiKeyId() keyId: string): string {
    return keyId;
  }
}

const keys = new ApiKeys({ prefix: 'shop' });
const [good, revoked, failing] = [7n, 8n, 9n].map((id) => keys.issue(id));
const options = {
  prefix: 'shop',
  find: (keyId: string) => {
    if (keyId === '9') throw new Error('The database is away.');
    if (keyId === '8') return { hash: revoked!.hash, revoked: true };
    return keyId === '7' ? { hash: good!.hash, revoked: false } : undefined;
  },
};

describe.each(PLATFORMS)('Apollo on %s', (platform) => {
  let app: GuardedApp;

  beforeAll(async () => {
    const apollo = GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      context: ({ req }: { req?: unknown }, reply?: unknown) => ({ req, reply }),
    });
    const module = moduleOf([ApiKeyModule.forRoot(options), apollo]);
    app = await GuardedApp.of(platform, { ...module, providers: [CallerResolver] });
  });
  afterAll(() => app.close());

  const ask = (key?: string) =>
    app.ask('POST', '/graphql', key === undefined ? {} : bearer(key), { query: '{ caller }' });

  it('answers whoever has a key, and says whose it is', async () => {
    const { status, body } = await ask(good!.key);
    expect({ status, body }).toEqual({ status: 200, body: { data: { caller: '7' } } });
  });

  it.each([
    ['without a key', undefined, /^Send the complete API key/],
    ['with a text that is none', 'x', /^Send the complete API key/],
    ['with a wrong key', keys.issue(7n).key, /^This API key is not valid\.$/],
    ['with an unknown key', keys.issue(6n).key, /^This API key is not valid\.$/],
    ['with a revoked key', revoked!.key, /^This API key is not valid\.$/],
  ])('answers UNAUTHENTICATED %s', async (_, key, message) => {
    const { status, body, all } = await ask(key);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      data: null,
      errors: [{ path: ['caller'], message: expect.stringMatching(message) }],
    });
    const [error] = body['errors'] as [{ extensions: object }];
    expect(error.extensions).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 });
    expect(all).not.toMatch(/shop_\w/);
  });

  it('answers SERVICE_UNAVAILABLE where keys cannot be looked up', async () => {
    const { body, all } = await ask(failing!.key);
    const [error] = body['errors'] as [{ extensions: object }];
    expect(error.extensions).toMatchObject({ code: 'SERVICE_UNAVAILABLE', status: 503 });
    expect(all).not.toContain('database is away');
  });
});

/**
 * The guard over real HTTP, on Express and on Fastify: who is let in, what everybody else hears,
 * and what is looked up and logged.
 */
import type { OutgoingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Injectable, UseGuards } from '@nestjs/common';
import {
  AbstractGraphQLDriver,
  Field,
  type GqlModuleOptions,
  GraphQLModule,
  ObjectType,
  Query,
  Resolver,
} from '@nestjs/graphql';
import { graphql, type GraphQLSchema } from 'graphql';
import {
  ApiKeyGuard,
  ApiKeyId,
  ApiKeyModule,
  ApiKeys,
  type StoredApiKey,
} from '../../lib/api-keys/index.js';
import { bearer, GuardedApp, moduleOf, PLATFORMS } from './guarded-app.js';

describe('guard', () => {
  const PEPPER = 'a pepper of at least 32 characters';
  const SECRET = 'a secret of at least 32 characters';
  const PASSWORD = 'hunter2';
  const options = { prefix: 'shop_live', pepper: PEPPER, secrets: { a: SECRET } };
  const keys = new ApiKeys(options);

  const stored = new Map<string, StoredApiKey>();
  const asked: string[] = [];
  function issued(id: bigint, revoked = false): string {
    const { key, keyId, hash } = keys.issue(id);
    stored.set(keyId, { hash, revoked });
    return key;
  }

  const good = issued(7n);
  const revoked = issued(8n, true);
  const unknown = keys.issue(9n).key;
  const wrong = keys.issue(7n).key;
  const derived = keys.derive(11n);
  const listed = keys.derive(12n);

  async function find(keyId: string): Promise<StoredApiKey | undefined> {
    asked.push(`find ${keyId}`);
    return stored.get(keyId);
  }

  const refused = { message: 'This API key is not valid.', error: 'Unauthorized', statusCode: 401 };

  describe.each(PLATFORMS)('the guard on %s', (platform) => {
    let app: GuardedApp;

    beforeAll(async () => {
      app = await GuardedApp.start(platform, {
        ...options,
        find,
        isRevoked: (keyId) => {
          asked.push(`isRevoked ${keyId}`);
          return keyId === '12';
        },
      });
    });
    afterAll(() => app.close());
    beforeEach(() => {
      asked.length = 0;
    });

    it('lets in who has a key, and says whose it is, as text', async () => {
      for (const [key, keyId] of [
        [good, '7'],
        [derived, '11'],
      ] as const) {
        const { status, body } = await app.get('/guarded', bearer(key));
        expect({ status, body }).toEqual({ status: 200, body: { keyId, type: 'string' } });
      }
      expect(asked).toEqual(['find 7', 'isRevoked 11']);
      const { body } = await app.get('/as-bigint', bearer(good));
      expect(body).toEqual({ keyId: '7', type: 'bigint' });
    });

    it('leaves other routes alone', async () => {
      expect((await app.get('/open')).status).toBe(200);
    });

    const NO_KEYS: readonly [what: string, headers: OutgoingHttpHeaders][] = [
      ['nothing', {}],
      ['an empty header', { authorization: '' }],
      ['the scheme alone', { authorization: 'Bearer' }],
      ['the key alone', { authorization: good }],
      ['another scheme', { authorization: `Basic ${good}` }],
      ['another header', { 'x-api-key': good }],
      ['two keys', { authorization: `Bearer ${good} ${good}` }],
      ['a key and more', { authorization: `Bearer ${good}, ${good}` }],
      ['two headers', { Authorization: [`Bearer ${good}`, `Bearer ${good}`] }],
      [
        'two headers, the second of which is no key',
        { Authorization: [`Bearer ${good}`, 'Basic x'] },
      ],
      ['a key cut off', bearer(good.slice(0, -1))],
      ['a key and a character', bearer(`${good}x`)],
      [
        'a key with one other character',
        bearer(good.replace(/.$/, (end) => (end === 'x' ? 'y' : 'x'))),
      ],
      ['a key in upper case', bearer(good.toUpperCase())],
      ['a key of another prefix', bearer(new ApiKeys({ prefix: 'shop_test' }).issue(7n).key)],
      ['a key of a secret that is not known', bearer(good.replace('live_', 'live_b_'))],
      ['a long text', bearer('x'.repeat(10_000))],
    ];

    it.each(NO_KEYS)('answers 401 to %s, and asks nobody', async (_what, headers) => {
      const { status, body, headers: heads } = await app.get('/guarded', headers);
      expect({ status, challenge: heads['www-authenticate'] }).toEqual({
        status: 401,
        challenge: 'Bearer',
      });
      expect(body['message']).toBe(
        'Send the complete API key in the header "authorization: Bearer <key>".',
      );
      expect(asked).toEqual([]);
    });

    it('answers an unknown, a wrong and a revoked key alike, after one query each', async () => {
      const answers = [];
      for (const key of [unknown, wrong, revoked]) {
        const { status, body, headers } = await app.get('/guarded', bearer(key));
        const { date: _date, ...heads } = headers;
        answers.push({ status, body, heads });
      }
      expect(answers[0]).toMatchObject({ status: 401, body: refused });
      expect(answers).toEqual([answers[0], answers[0], answers[0]]);
      expect(asked).toEqual(['find 9', 'find 7', 'find 8']);
    });

    it('answers forged and listed derived keys the same, looking for right ones only', async () => {
      const forged = new ApiKeys({ ...options, secrets: { a: PEPPER } }).derive(11n);
      for (const key of [forged, listed]) {
        const { status, body } = await app.get('/guarded', bearer(key));
        expect({ status, body }).toEqual({ status: 401, body: refused });
      }
      expect(asked).toEqual(['isRevoked 12']);
    });

    it('reads the scheme in any case, as RFC 9110 has it', async () => {
      for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
        const headers = { authorization: `${scheme} ${good}` };
        expect((await app.get('/guarded', headers)).status).toBe(200);
      }
    });

    it('does not let a handler run that it does not guard', async () => {
      const { status, all } = await app.get('/forgotten', bearer(good));
      expect(status).toBe(500);
      expect(all).not.toContain('keyId');
      expect(app.log).toContain('no ApiKeyGuard guards');
    });

    it('shows no key, pepper or secret in any answer or line of the log', async () => {
      const answers = [];
      for (const key of [good, unknown, wrong, revoked, listed, `${good}x`]) {
        answers.push((await app.get('/guarded', bearer(key))).all);
      }
      const format = [...answers, app.log].join('\n');
      for (const secret of [PEPPER, SECRET, good, unknown, wrong, revoked, listed]) {
        expect(format).not.toContain(secret.slice(-30));
      }
    });
  });

  describe.each(PLATFORMS)('where keys cannot be looked up, on %s', (platform) => {
    class ClientError extends Error {
      readonly options = { password: PASSWORD };
    }
    const failures: [string, () => unknown][] = [
      [
        'throws',
        () => {
          throw new ClientError(`postgres://shop:${PASSWORD}@db is away`);
        },
      ],
      [
        'rejects',
        async () => {
          throw new ClientError('away');
        },
      ],
      [
        'rejects with no error',
        () => Promise.reject(Object.assign(Object.create(null), { PASSWORD })),
      ],
      ['answers a row without a hash', () => ({ id: '7', revoked: false })],
      ['answers a row without `revoked`', () => ({ ...stored.get('7'), revoked: undefined })],
      ['answers the key itself as its hash', () => ({ hash: good, revoked: false })],
      ['answers true', () => true],
    ];

    it.each(failures)('answers 503, and never 401, where find %s', async (_how, fails) => {
      const app = await GuardedApp.start(platform, { ...options, find: fails as typeof find });
      try {
        const { status, body, headers, all } = await app.get('/guarded', bearer(good));
        expect({ status, body, again: headers['retry-after'] }).toEqual({
          status: 503,
          body: {
            message: 'API keys cannot be checked right now. Try again.',
            error: 'Service Unavailable',
            statusCode: 503,
          },
          again: '1',
        });
        expect(app.log).toContain('could not be looked up');
        expect(all + app.log).not.toContain(PASSWORD);
        expect(all + app.log).not.toContain(good.slice(-30));
        // Nothing had to be looked up for these.
        expect((await app.get('/guarded', bearer('x'))).status).toBe(401);
        expect((await app.get('/guarded', bearer(derived))).status).toBe(200);
      } finally {
        await app.close();
      }
    });
  });

  describe.each(PLATFORMS)('a header of its own on %s', (platform) => {
    it('is the only one that is read, once, in any case', async () => {
      const app = await GuardedApp.start(platform, { ...options, find, header: 'X-Api-Key' });
      try {
        const statusOf = async (headers: Record<string, string | string[]>) =>
          (await app.get('/guarded', headers)).status;
        expect(await statusOf({ 'x-api-key': good })).toBe(200);
        expect(await statusOf({ 'X-API-KEY': good })).toBe(200);
        expect(await statusOf(bearer(good))).toBe(401);
        expect(await statusOf({ 'x-api-key': `Bearer ${good}` })).toBe(401);
        expect(await statusOf({ 'x-api-key': [good, good] })).toBe(401);
        const { headers, body } = await app.get('/guarded');
        expect(headers['www-authenticate']).toBeUndefined();
        expect(body['message']).toContain('"x-api-key: <key>"');
      } finally {
        await app.close();
      }
    });
  });
});

/*
 * The guard of a resolver behind Apollo, as applications use it: what is answered over HTTP to
 * somebody without a key, with a wrong one and with a right one.
 */
describe('guard apollo', () => {
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
});

/*
 * The guard on resolvers that @nestjs/graphql binds, asked over HTTP on Express and on Fastify. The
 * driver here is the least that Nest takes, so that no vendor's habit is what is tested.
 */
describe('guard graphql', () => {
  interface Driven extends GqlModuleOptions {
    readonly contextOf: (request: object, reply: object) => object;
  }

  interface Asked {
    readonly body: { readonly query: string };
  }

  @Injectable()
  class PlainDriver extends AbstractGraphQLDriver<Driven> {
    async start(options: Driven): Promise<void> {
      const schema = options.schema as GraphQLSchema;
      this.httpAdapterHost.httpAdapter.post(
        '/graphql',
        async (request: Asked, reply: { send(answer: object): void }) => {
          const contextValue = options.contextOf(request, reply);
          reply.send(await graphql({ schema, source: request.body.query, contextValue }));
        },
      );
    }

    async stop(): Promise<void> {}
  }

  @ObjectType()
  class Caller {
    @Field(() => String)
    keyId: string;
  }

  @Resolver(() => Caller)
  class CallerResolver {
    @Query(() => Caller, { nullable: true })
    @UseGuards(ApiKeyGuard)
    caller(@ApiKeyId() keyId: string): Caller {
      return { keyId };
    }

    @Query(() => String)
    open(): string {
      return 'open';
    }
  }

  const keys = new ApiKeys({ prefix: 'shop' });
  const good = keys.issue(7n);
  const failing = keys.issue(8n);
  const options = {
    prefix: 'shop',
    find: (keyId: string) => {
      if (keyId === '8') throw new Error('The database is away.');
      return keyId === '7' ? { hash: good.hash, revoked: false } : undefined;
    },
  };

  /** What contexts of drivers hold: Apollo's, Mercurius's, those of subscriptions. */
  const CONTEXTS: Record<string, Driven['contextOf']> = {
    '{ req }': (req) => ({ req }),
    '{ request }': (request) => ({ request }),
    '{ reply }': (request) => ({ reply: { request } }),
    '{ extra }': (request) => ({ extra: { request } }),
  };

  const CASES = PLATFORMS.flatMap((platform) =>
    Object.entries(CONTEXTS).map(([what, contextOf]) => ({ platform, what, contextOf })),
  );

  describe.each(CASES)('the guard of a resolver on $platform, $what', ({ platform, contextOf }) => {
    let app: GuardedApp;

    beforeAll(async () => {
      const driven = { driver: PlainDriver, autoSchemaFile: true, contextOf };
      const module = moduleOf([
        ApiKeyModule.forRoot(options),
        GraphQLModule.forRoot<Driven>(driven),
      ]);
      app = await GuardedApp.of(platform, { ...module, providers: [CallerResolver] });
    });
    afterAll(() => app.close());

    const ask = async (query: string, headers = {}) =>
      (await app.ask('POST', '/graphql', headers, { query })).body;

    it('lets in who has a key, and says whose it is', async () => {
      const body = await ask('{ caller { keyId } }', bearer(good.key));
      expect(body).toEqual({ data: { caller: { keyId: '7' } } });
    });

    it('answers UNAUTHENTICATED to everybody else, and leaves other fields alone', async () => {
      for (const headers of [{}, bearer('x'), bearer(keys.issue(7n).key)]) {
        expect(await ask('{ open caller { keyId } }', headers)).toMatchObject({
          data: { open: 'open', caller: null },
          errors: [{ path: ['caller'], extensions: { code: 'UNAUTHENTICATED' } }],
        });
      }
    });

    it('answers SERVICE_UNAVAILABLE where keys cannot be looked up', async () => {
      const body = await ask('{ caller { keyId } }', bearer(failing.key));
      expect(body).toMatchObject({ errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] });
      expect(JSON.stringify(body)).not.toContain('database is away');
    });
  });
});

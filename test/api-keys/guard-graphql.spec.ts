/**
 * The guard on resolvers that @nestjs/graphql binds, asked over HTTP on Express and on Fastify. The
 * driver here is the least that Nest takes, so that no vendor's habit is what is tested.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, UseGuards } from '@nestjs/common';
import {
  AbstractGraphQLDriver,
  Field,
  GraphQLModule,
  ObjectType,
  Query,
  Resolver,
  type GqlModuleOptions,
} from '@nestjs/graphql';
import { graphql, type GraphQLSchema } from 'graphql';
import { ApiKeyGuard, ApiKeyId, ApiKeyModule, ApiKeys } from '../../lib/api-keys/index.js';
import { GuardedApp, PLATFORMS, bearer, moduleOf } from './guarded-app.js';

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
    const module = moduleOf([ApiKeyModule.forRoot(options), GraphQLModule.forRoot<Driven>(driven)]);
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

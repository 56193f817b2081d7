/**
 * ApiKeyModule: faults at start, where the guard can be used, and what an inspection shows.
 */
import { inspect } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  Module,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import {
  ApiKeyGuard,
  ApiKeyModule,
  type ApiKeyModuleOptions,
  ApiKeys,
  type StoredApiKey,
} from '../../lib/api-keys/index.js';
import { API_KEY_SCHEME, apiKeyScheme, ApiKeySecurity } from '../../lib/api-keys/swagger.js';
import type { SnowflakeError } from '../../lib/errors.js';

const PEPPER = 'hunter2 a pepper of at least 32 characters';
const SECRET = 'hunter3 a secret of at least 32 characters';
const options: ApiKeyModuleOptions = { prefix: 'shop', pepper: PEPPER, find: () => undefined };

@Injectable()
class KeyRepository {
  readonly rows = new Map<string, StoredApiKey>();
  find(keyId: string): StoredApiKey | undefined {
    return this.rows.get(keyId);
  }
}

@Module({ providers: [KeyRepository], exports: [KeyRepository] })
class RepositoryModule {}

const faultsAt = async (given: unknown): Promise<SnowflakeError> => {
  const dynamic = ApiKeyModule.forRoot(given as ApiKeyModuleOptions);
  const compiled = Test.createTestingModule({ imports: [dynamic] }).compile();
  return compiled.then(
    () => {
      throw new Error('It started.');
    },
    (error: unknown) => error as SnowflakeError,
  );
};

const http = (headers: object) => {
  const context = {
    getType: () => 'http',
    switchToHttp: () => ({ getRequest: () => ({ headers }), getResponse: () => undefined }),
  };
  return context as unknown as ExecutionContext;
};

describe('forRoot', () => {
  it.each<[string, unknown, number, RegExp]>([
    ['nothing', undefined, 2, /`prefix`.*give `find`/],
    ['no way in', { prefix: 'shop' }, 1, /No key could ever be let in/],
    ['an unknown option', { ...options, fnid: () => undefined }, 1, /`fnid`.*header/],
    ['a `find` that is no function', { ...options, find: 7 }, 1, /`find` to be a function.*number/],
    ['a list for nothing', { ...options, isRevoked: () => true }, 1, /there are no `secrets`/],
    ['a strange header', { ...options, header: 'x api key' }, 1, /`header`/],
    ['a key as a header', { ...options, header: `${SECRET}:` }, 1, /not shown/],
    ['a short pepper', { ...options, pepper: 'hunter2' }, 1, /`pepper`.*7 characters/],
    ['all wrong', { prefix: '', pepper: '', find: '', header: '' }, 4, /`prefix`/],
  ])('with %s does not start, and shows no secret', async (_what, given, count, said) => {
    const error = await faultsAt(given);
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.details['faults']).toHaveLength(count);
    expect(error.message).toMatch(said);
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('hunter');
  });

  it('says its faults at start, and not while modules load', () => {
    expect(() => ApiKeyModule.forRoot(undefined as never)).not.toThrow();
  });

  it('takes secrets alone, without `find`: then no issued key is let in', async () => {
    const dynamic = ApiKeyModule.forRoot({ prefix: 'shop', secrets: { a: SECRET } });
    const app = await Test.createTestingModule({ imports: [dynamic] }).compile();
    const [keys, guard] = [app.get(ApiKeys), app.get(ApiKeyGuard)];
    const sent = (key: string) => guard.canActivate(http({ authorization: `Bearer ${key}` }));
    await expect(sent(keys.derive(7n))).resolves.toBe(true);
    await expect(sent(keys.issue(7n).key)).rejects.toMatchObject({ status: 401 });
  });
});

describe('forRootAsync', () => {
  it('injects what finds keys, and other modules inject the guard', async () => {
    @Injectable()
    class Elsewhere {
      constructor(
        @Inject(ApiKeyGuard) readonly guard: ApiKeyGuard,
        @Inject(ApiKeys) readonly keys: ApiKeys,
      ) {}
    }
    @Module({ providers: [Elsewhere] })
    class ElsewhereModule {}
    const dynamic = ApiKeyModule.forRootAsync({
      imports: [RepositoryModule],
      inject: [KeyRepository],
      useFactory: async (rows: KeyRepository) => ({
        prefix: 'shop',
        find: (keyId: string) => rows.find(keyId),
      }),
    });
    const imports = [dynamic, ElsewhereModule];
    const app = await Test.createTestingModule({ imports }).compile();
    const { guard, keys } = app.get(Elsewhere, { strict: false });
    const { key, keyId, hash } = keys.issue(7n);
    app.get(KeyRepository, { strict: false }).rows.set(keyId, { hash, revoked: false });
    await expect(guard.canActivate(http({ authorization: `Bearer ${key}` }))).resolves.toBe(true);
  });

  it.each([[undefined], [{}], [{ useFactory: 7 }]])('says that %p is no factory', async (given) => {
    const start = async () => {
      const dynamic = ApiKeyModule.forRootAsync(given as never);
      await Test.createTestingModule({ imports: [dynamic] }).compile();
    };
    await expect(start()).rejects.toThrow('`useFactory`');
  });
});

describe('the container', () => {
  it('shows no secret, however deep one looks', async () => {
    const all = { ...options, secrets: { a: SECRET }, isRevoked: () => false };
    const dynamic = ApiKeyModule.forRoot(all);
    // What a useValue holds is seen at this depth.
    const providers = [{ provide: 'planted', useValue: { pepper: 'planted pepper' } }];
    const app = await Test.createTestingModule({ imports: [dynamic], providers }).compile();
    const parts = [dynamic, app.get(ApiKeys), app.get(ApiKeyGuard), app];
    const format = parts.map((part) => inspect(part, { depth: 8, showHidden: true })).join('\n');
    const json = parts.slice(0, 3).map((part) => JSON.stringify(part));
    expect(format + json.join('\n')).not.toMatch(/hunter|68 ?75 ?6e ?74|104, 117, 110/);
    expect(format).toContain('planted pepper');
    expect(format).toContain('ApiKeyGuard');
  });
});

describe('a call without a request', () => {
  it.each(['rpc', 'ws', 'graphql', 'http'])('is let in by nobody: %s', async (type) => {
    const app = await Test.createTestingModule({
      imports: [ApiKeyModule.forRoot(options)],
    }).compile();
    const context = {
      getType: () => type,
      getArgByIndex: () => undefined,
      switchToHttp: () => ({ getRequest: () => undefined }),
    };
    const admitted = app.get(ApiKeyGuard).canActivate(context as unknown as ExecutionContext);
    await expect(admitted).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

/*
 * The scheme and the decorator in an OpenAPI document that Nest makes of a real application.
 */
@Controller('orders')
@UseGuards(ApiKeyGuard)
@ApiKeySecurity()
class Orders {
  @Get()
  list() {}
}

@Controller('open')
class Open {
  @Get()
  list() {}

  @Get('guarded')
  @UseGuards(ApiKeyGuard)
  @ApiKeySecurity('partner')
  guarded() {}
}

@Module({
  imports: [ApiKeyModule.forRoot({ prefix: 'shop', find: () => undefined })],
  controllers: [Orders, Open],
})
class App {}

describe('the document', () => {
  let api: OpenAPIObject;
  beforeAll(async () => {
    const head = new DocumentBuilder()
      .addSecurity(API_KEY_SCHEME, apiKeyScheme({ prefix: 'shop' }))
      .addSecurity('partner', apiKeyScheme({ header: 'X-API-Key', description: 'For partners' }));
    const app = await NestFactory.create(App, { logger: false });
    api = SwaggerModule.createDocument(app, head.build());
    await app.close();
  });

  it('says where a key is sent: as a bearer token, or in a header of its own', () => {
    expect(api.components!.securitySchemes).toEqual({
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'API key',
        description: 'An API key, which begins with shop_.',
      },
      partner: {
        type: 'apiKey',
        in: 'header',
        name: 'X-API-Key',
        description: 'For partners',
      },
    });
  });

  it('says which routes need one, and what they answer without', () => {
    expect(api.paths['/orders']!.get).toMatchObject({
      security: [{ apiKey: [] }],
      responses: { 401: expect.any(Object), 503: expect.any(Object) },
    });
    expect(api.paths['/open/guarded']!.get!.security).toEqual([{ partner: [] }]);
    expect(api.paths['/open']!.get!.security).toBeUndefined();
  });
});

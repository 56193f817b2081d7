/**
 * The filter in real applications: which details of an error each client receives.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import {
  type ArgumentsHost,
  Body,
  Controller,
  Get,
  Logger,
  Module,
  NotFoundException,
  Param,
  Post,
  Query,
  Res,
  type Type,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import {
  AbstractGraphQLDriver,
  Args,
  GraphQLModule,
  Query as ApolloQuery,
  Query as HostsQuery,
  Resolver,
} from '@nestjs/graphql';
import { Test } from '@nestjs/testing';
import { graphql, type GraphQLSchema } from 'graphql';
import {
  idFromBytes,
  layouts,
  LeaseWindow,
  SnowflakeError,
  type SnowflakeErrorCode,
  SnowflakeGenerator,
  textForms,
} from 'nestjs-snowflake/core';
import { firstValueFrom, type Observable } from 'rxjs';
import { SnowflakeErrorFilter } from '../../lib/http/index.js';
import { PLATFORMS, serve, type Served } from './serve.js';

describe('snowflake error filter', () => {
  const layout = layouts.snowflake();
  const generator = new SnowflakeGenerator(new LeaseWindow(layout));
  const SECRET = 'redis://:hunter2@store:6379';

  /** An error from another copy of the package, which has its own class. */
  function errorOfAnotherCopy(): Error {
    const copy = { [Symbol.for('nestjs-snowflake:error')]: true, code: 'LEASE_LOST', details: {} };
    return Object.assign(new Error(SECRET), copy, { retryable: true });
  }

  const THROWN: Record<string, () => unknown> = {
    retryable: () => generator.nextId(),
    taken: () => {
      const details = { waitMs: 12_345 };
      throw new SnowflakeError('NO_WORKER_FREE', SECRET, { details });
    },
    ended: () => {
      throw new SnowflakeError('NOT_READY', SECRET, { retryable: false });
    },
    copy: () => {
      throw errorOfAnotherCopy();
    },
    refused: () => {
      throw new SnowflakeError('STORE_UNAVAILABLE', SECRET, { retryable: false, cause: SECRET });
    },
    count: () => generator.nextIds(-1),
    date: () => layout.idRange(new Date('x'), new Date()),
    bytes: () => idFromBytes(new Uint8Array(3)),
    stored: () => textForms.base58.decode('0 from a row'),
    number: () => layout.parse(42 as unknown as string),
    found: () => {
      throw new NotFoundException('no such order');
    },
  };

  @Controller()
  class Orders {
    @Get('thrown/:name')
    thrown(@Param('name') name: string) {
      return THROWN[name]!();
    }

    @Get('path/:id')
    path(@Param('id') id: string) {
      return layout.parse(id);
    }

    @Get('query')
    query(@Query('after') after: string) {
      return textForms.base58.decode(after).toString();
    }

    @Post('body')
    body(@Body() { lines }: { lines: { id: string }[] }) {
      return lines.map(({ id }) => layout.compose({ timestampMs: layout.timestampMsOf(id) }));
    }

    @Get('bigint/:id')
    bigint(@Param('id') id: string) {
      return textForms.hex.encode(BigInt(id));
    }

    @Get('begun')
    begun(@Res() response: { raw?: Writes } & Writes) {
      const raw = response.raw ?? response;
      raw.write('begun');
      generator.nextId();
    }
  }
  interface Writes {
    write(text: string): void;
  }

  @Module({
    controllers: [Orders],
    providers: [{ provide: APP_FILTER, useClass: SnowflakeErrorFilter }],
  })
  class App {}

  @Module({ controllers: [Orders] })
  class Without {}

  const INTERNAL = { statusCode: 500, message: 'Internal server error' };
  const PASSES = {
    statusCode: 503,
    message: 'No id can be made right now. Try again.',
    error: 'Service Unavailable',
  };

  const logged: string[] = [];
  beforeAll(() => {
    const log = (...said: unknown[]) => void logged.push(said.join(' '));
    jest.spyOn(Logger.prototype, 'error').mockImplementation(log);
  });
  afterAll(() => {
    jest.restoreAllMocks();
  });

  const WAYS: [platform: (typeof PLATFORMS)[number], way: string, module: Type][] =
    PLATFORMS.flatMap((platform) => [
      [platform, 'APP_FILTER', App],
      [platform, 'useGlobalFilters', Without],
    ]);

  describe.each(WAYS)('on %s, by %s', (platform, _, module) => {
    let app: Served;
    beforeAll(async () => {
      app = await serve(platform, module, (nest) => {
        if (module === Without) nest.useGlobalFilters(new SnowflakeErrorFilter());
      });
    });
    afterAll(() => app.close());

    it.each([
      ['in the path', '/path/abc', /"abc"/],
      ['in the path, outside the layout', '/path/99999999999999999999', /0 to 9223372036854775807/],
      ['in the query', '/query?after=0O', /character 1 is "0"/],
      ['in the query, empty', '/query?after=', /empty/],
      ['as a bigint in the path', '/bigint/9223372036854775808', /9223372036854775808n/],
    ])('an invalid ID %s gets 400 and the reason', async (_place, path, message) => {
      const { status, body, headers } = await app.get(path);
      const reason = expect.stringMatching(message);
      expect([status, body]).toEqual([
        400,
        { statusCode: 400, error: 'Bad Request', message: reason },
      ]);
      expect(headers.get('retry-after')).toBeNull();
    });

    it('an invalid ID anywhere in a body gets 400', async () => {
      const { status, body } = await app.post('/body', { lines: [{ id: '1' }, { id: 'x' }] });
      expect([status, body]).toMatchObject([400, { message: expect.stringMatching(/"x"/) }]);
    });

    it.each(['count', 'date', 'bytes', 'stored', 'number', 'refused'])(
      'an error of the server is 500, logged, and without details: %s',
      async (name) => {
        logged.length = 0;
        const { status, text } = await app.get(`/thrown/${name}`);
        expect([status, JSON.parse(text)]).toEqual([500, INTERNAL]);
        expect(logged).toHaveLength(1);
        expect(logged[0]).toMatch(/^(ID_INVALID|ARGUMENT_INVALID|STORE_UNAVAILABLE): .*\n? +at /s);
      },
    );

    it.each([
      ['retryable', '1'],
      ['taken', '13'],
      ['ended', '1'],
      ['copy', '1'],
    ])('a transient error gets 503 with Retry-After and no details: %s', async (name, seconds) => {
      logged.length = 0;
      const { status, body, headers } = await app.get(`/thrown/${name}`);
      expect([status, body, headers.get('retry-after')]).toEqual([503, PASSES, seconds]);
      expect(logged).toEqual([]);
    });

    it('other exceptions get their usual responses', async () => {
      expect(await app.get('/thrown/found')).toMatchObject({
        status: 404,
        body: { message: 'no such order' },
      });
    });

    it('a started response is ended, and the process continues', async () => {
      await expect(app.get('/begun').then(({ text }) => text)).resolves.toBe('begun');
      expect((await app.get('/thrown/retryable')).status).toBe(503);
    });
  });

  describe('without the filter', () => {
    it.each(PLATFORMS)('every error is 500 on %s', async (platform) => {
      const app = await serve(platform, Without);
      for (const path of ['/path/abc', '/thrown/retryable']) {
        expect((await app.get(path)).status).toBe(500);
      }
      await app.close();
    });
  });
});

/*
 * The filter outside HTTP: GraphQL resolvers, messages, sockets, and unknown hosts.
 */
describe('error filter hosts', () => {
  const layout = layouts.snowflake();
  const spent = new SnowflakeError('SEQUENCE_SPENT', 'worker 7 of redis://secret');
  const broken = new SnowflakeError('CONFIG_INVALID', 'a secret');
  const wrongId = new SnowflakeError('ID_INVALID', 'not "x"', { details: { value: 'x' } });
  jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});

  describe('a GraphQL resolver', () => {
    let schema: GraphQLSchema;

    /** Keeps the schema whose resolvers Nest has bound, including filters. */
    class SchemaDriver extends AbstractGraphQLDriver<{ schema?: GraphQLSchema }> {
      override async start(options: { schema?: GraphQLSchema }): Promise<void> {
        schema = options.schema!;
      }
      override async stop(): Promise<void> {}
    }

    @Resolver()
    class Orders {
      @HostsQuery(() => String)
      order(@Args('id') id: string): string {
        return layout.parse(id).date.toISOString();
      }

      @HostsQuery(() => String)
      next(): string {
        throw spent;
      }

      @HostsQuery(() => String)
      stored(): string {
        return layout.parse('not sent').date.toISOString();
      }
    }

    @Module({
      imports: [GraphQLModule.forRoot({ driver: SchemaDriver, autoSchemaFile: true })],
      providers: [Orders, { provide: APP_FILTER, useClass: SnowflakeErrorFilter }],
    })
    class App {}

    it("reports the client's own error, and a transient error, to the client", async () => {
      const built = await Test.createTestingModule({ imports: [App] }).compile();
      const app = built.createNestApplication({ logger: false });
      await app.init();
      const errorOf = async (source: string) => {
        const { errors } = await graphql({ schema, source, contextValue: {} });
        return [errors![0]!.message, errors![0]!.extensions['code']];
      };
      const passes = 'No id can be made right now. Try again.';
      expect(await errorOf('{ next }')).toEqual([passes, 'SEQUENCE_SPENT']);
      const refusal = expect.stringMatching(/got "abc"/);
      expect(await errorOf('{ order(id: "abc") }')).toEqual([refusal, 'ID_INVALID']);
      const internal = ['Internal server error', 'INTERNAL_SERVER_ERROR'];
      expect(await errorOf('{ stored }')).toEqual(internal);
      await app.close();
    });
  });

  /** The handler arguments that Nest passes to filters. */
  function hostOf(type: string, ...args: unknown[]): ArgumentsHost {
    const host = new ExecutionContextHost(args);
    host.setType(type);
    return host;
  }

  const caught = (error: SnowflakeError, host: ArgumentsHost) =>
    new SnowflakeErrorFilter().catch(error, host);
  const PASSES = {
    status: 'error',
    message: 'No id can be made right now. Try again.',
    code: 'SEQUENCE_SPENT',
  };
  const INTERNAL = { status: 'error', message: 'Internal server error' };
  const WRONG = { status: 'error', message: 'not "x"', code: 'ID_INVALID' };

  describe('a microservice message', () => {
    const answered = (error: SnowflakeError, data?: unknown) =>
      firstValueFrom(caught(error, hostOf('rpc', data)) as Observable<unknown>);

    it("gets an error in Nest's format, with no more detail than over HTTP", async () => {
      await expect(answered(spent)).rejects.toEqual(PASSES);
      await expect(answered(broken)).rejects.toEqual(INTERNAL);
      await expect(answered(wrongId, { ids: ['x'] })).rejects.toEqual(WRONG);
      await expect(answered(wrongId, { ids: ['y'] })).rejects.toEqual(INTERNAL);
    });
  });

  describe('a WebSocket', () => {
    it("receives Nest's event, with no more detail than over HTTP", () => {
      const events: unknown[] = [];
      const client = { emit: (...event: unknown[]) => void events.push(event) };
      for (const error of [spent, broken, wrongId]) caught(error, hostOf('ws', client, 'x'));
      expect(events).toEqual([PASSES, INTERNAL, WRONG].map((body) => ['exception', body]));
    });
  });

  describe('a host that is not a server', () => {
    it.each([
      ['of an unknown kind', hostOf('necord')],
      ['of type http without a response', hostOf('http')],
      ['whose second argument is no response', hostOf('http', {}, { status: 'done' })],
    ])('%s makes the filter rethrow the error', (_, host) => {
      expect(() => caught(spent, host)).toThrow(spent);
    });
  });
});

/*
 * The filter in applications that serve GraphQL by Apollo, over HTTP on both platforms.
 */
describe('error filter apollo', () => {
  const SECRET = 'redis://:hunter2@store';
  const layout = layouts.snowflake();
  jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});

  @Resolver()
  class Orders {
    @ApolloQuery(() => String)
    order(@Args('id') id: string): string {
      return layout.parse(id).date.toISOString();
    }

    @ApolloQuery(() => String)
    fails(@Args('code') code: string): string {
      const details = { waitMs: code === 'NO_WORKER_FREE' ? 2500 : undefined };
      throw new SnowflakeError(code as SnowflakeErrorCode, SECRET, { details });
    }
  }

  @Module({
    imports: [
      GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, autoSchemaFile: true }),
    ],
    providers: [Orders, { provide: APP_FILTER, useClass: SnowflakeErrorFilter }],
  })
  class App {}

  describe.each(PLATFORMS)('Apollo on %s', (platform) => {
    let served: Served;
    beforeAll(async () => {
      served = await serve(platform, App);
    });
    afterAll(() => served.close());

    const errorOf = async (query: string) => {
      const { text, body } = await served.post('/graphql', { query });
      expect(text).not.toContain('hunter2');
      return (body as { errors: { message: string; extensions: object }[] }).errors[0]!;
    };

    it('reports an invalid ID, and how to correct it', async () => {
      const error = await errorOf('{ order(id: "abc") }');
      expect(error.message).toMatch(/^Expected an id of this layout.* got "abc"/);
      expect(error.extensions).toMatchObject({ code: 'ID_INVALID' });
    });

    it.each([
      ['NOT_READY', 'No id can be made right now. Try again.', { retryAfterSeconds: 1 }],
      ['STORE_UNAVAILABLE', 'No id can be made right now. Try again.', { retryAfterSeconds: 1 }],
      ['NO_WORKER_FREE', 'No id can be made right now. Try again.', { retryAfterSeconds: 3 }],
      ['LOCK_HELD', 'Somebody else is doing this right now. Try again.', {}],
      ['CONFIG_INVALID', 'Internal server error', { code: 'INTERNAL_SERVER_ERROR' }],
    ])('responds to %s with "%s"', async (code, message, extensions) => {
      const error = await errorOf(`{ fails(code: "${code}") }`);
      expect(error).toMatchObject({ message, extensions: { code, ...extensions } });
    });
  });
});

/* The response for each code; the compiler checks that no code is missing. */
describe('error codes', () => {
  const SECRET = 'redis://:hunter2@store:6379';

  /** ID_INVALID for an ID that the client did not send. */
  const STATUS: Record<SnowflakeErrorCode, 409 | 500 | 503> = {
    CONFIG_INVALID: 500,
    NOT_READY: 503,
    LEASE_LOST: 503,
    NO_WORKER_FREE: 503,
    STORE_UNAVAILABLE: 503,
    CLOCK_UNUSABLE: 503,
    SEQUENCE_SPENT: 503,
    SEGMENT_SPENT: 503,
    COUNTER_ABSENT: 500,
    COUNTER_MISMATCH: 500,
    COUNTER_FULL: 500,
    LOCK_HELD: 409,
    LOCK_LOST: 500,
    LOCK_REENTERED: 500,
    TIME_EXHAUSTED: 500,
    ID_INVALID: 500,
    ARGUMENT_INVALID: 500,
    LAYOUT_MISMATCH: 500,
    VERSION_MISMATCH: 500,
    REGION_TAKEN: 500,
  };

  const SAID = {
    409: [/Somebody else is doing this right now\. Try again\./, null],
    500: [/^Internal server error$/, null],
    503: [/No id can be made right now\. Try again\./, '1'],
  } as const;

  @Controller()
  class Thrown {
    @Get(':code')
    thrown(@Param('code') code: SnowflakeErrorCode): never {
      const details = { label: SECRET, value: SECRET, refusal: SECRET };
      throw new SnowflakeError(code, SECRET, { details, cause: new Error(SECRET) });
    }
  }

  @Module({
    controllers: [Thrown],
    providers: [{ provide: APP_FILTER, useClass: SnowflakeErrorFilter }],
  })
  class App {}

  jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});

  describe.each(PLATFORMS)('on %s', (platform) => {
    let served: Served;
    beforeAll(async () => {
      served = await serve(platform, App);
    });
    afterAll(() => served.close());

    it.each(Object.entries(STATUS))('%s is %d, without a secret', async (code, expected) => {
      const { status, text, body, headers } = await served.get(`/${code}`);
      const [said, retryAfter] = SAID[expected];
      expect([status, headers.get('retry-after')]).toEqual([expected, retryAfter]);
      expect(body).toMatchObject({ statusCode: expected, message: expect.stringMatching(said) });
      expect(text).not.toContain('hunter2');
    });
  });
});

/**
 * The filter beside HTTP: resolvers of GraphQL, messages, sockets, and hosts it does not know.
 */
import { describe, expect, it, jest } from '@jest/globals';
import { Logger, Module, type ArgumentsHost } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { AbstractGraphQLDriver, Args, GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { Test } from '@nestjs/testing';
import { graphql, type GraphQLSchema } from 'graphql';
import { SnowflakeError, layouts } from 'nestjs-snowflake/core';
import { firstValueFrom, type Observable } from 'rxjs';
import { SnowflakeErrorFilter } from '../../lib/http/index.js';

const layout = layouts.snowflake();
const spent = new SnowflakeError('SEQUENCE_SPENT', 'worker 7 of redis://secret');
const broken = new SnowflakeError('CONFIG_INVALID', 'a secret');
const wrongId = new SnowflakeError('ID_INVALID', 'not "x"', { details: { value: 'x' } });
jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});

describe('a resolver', () => {
  let schema: GraphQLSchema;

  /** Keeps the schema whose resolvers Nest has bound, filters and all. */
  class SchemaDriver extends AbstractGraphQLDriver<{ schema?: GraphQLSchema }> {
    override async start(options: { schema?: GraphQLSchema }): Promise<void> {
      schema = options.schema!;
    }
    override async stop(): Promise<void> {}
  }

  @Resolver()
  class Orders {
    @Query(() => String)
    order(@Args('id') id: string): string {
      return layout.parse(id).date.toISOString();
    }

    @Query(() => String)
    next(): string {
      throw spent;
    }

    @Query(() => String)
    stored(): string {
      return layout.parse('not sent').date.toISOString();
    }
  }

  @Module({
    imports: [GraphQLModule.forRoot({ driver: SchemaDriver, autoSchemaFile: true })],
    providers: [Orders, { provide: APP_FILTER, useClass: SnowflakeErrorFilter }],
  })
  class App {}

  it('tells the client its own fault, and that something passes', async () => {
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

/** The arguments of a handler, as Nest hands them to filters. */
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

describe('a message', () => {
  const answered = (error: SnowflakeError, data?: unknown) =>
    firstValueFrom(caught(error, hostOf('rpc', data)) as Observable<unknown>);

  it('is answered in the shape of Nest, and tells no more than HTTP does', async () => {
    await expect(answered(spent)).rejects.toEqual(PASSES);
    await expect(answered(broken)).rejects.toEqual(INTERNAL);
    await expect(answered(wrongId, { ids: ['x'] })).rejects.toEqual(WRONG);
    await expect(answered(wrongId, { ids: ['y'] })).rejects.toEqual(INTERNAL);
  });
});

describe('a socket', () => {
  it('gets the event that Nest sends, and tells no more than HTTP does', () => {
    const events: unknown[] = [];
    const client = { emit: (...event: unknown[]) => void events.push(event) };
    for (const error of [spent, broken, wrongId]) caught(error, hostOf('ws', client, 'x'));
    expect(events).toEqual([PASSES, INTERNAL, WRONG].map((body) => ['exception', body]));
  });
});

describe('a host that is no server', () => {
  it.each([
    ['of an unknown kind', hostOf('necord')],
    ['that calls itself http and has nobody to answer', hostOf('http')],
    ['whose second argument is something else', hostOf('http', {}, { status: 'done' })],
  ])('%s gets the error thrown on', (_, host) => {
    expect(() => caught(spent, host)).toThrow(spent);
  });
});

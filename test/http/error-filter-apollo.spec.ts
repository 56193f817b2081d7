/**
 * The filter in applications that answer GraphQL by Apollo, asked over HTTP on both platforms.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Logger, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Args, GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { SnowflakeError, layouts, type SnowflakeErrorCode } from 'nestjs-snowflake/core';
import { SnowflakeErrorFilter } from '../../lib/http/index.js';
import { PLATFORMS, serve, type Served } from './serve.js';

const SECRET = 'redis://:hunter2@store';
const layout = layouts.snowflake();
jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});

@Resolver()
class Orders {
  @Query(() => String)
  order(@Args('id') id: string): string {
    return layout.parse(id).date.toISOString();
  }

  @Query(() => String)
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

  it('names a wrong id, and what to do about it', async () => {
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
  ])('answers %s by "%s"', async (code, message, extensions) => {
    const error = await errorOf(`{ fails(code: "${code}") }`);
    expect(error).toMatchObject({ message, extensions: { code, ...extensions } });
  });
});

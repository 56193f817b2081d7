/** What a client is told of each code, the compiler sees that none is missing. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Controller, Get, Logger, Module, Param } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { SnowflakeError, type SnowflakeErrorCode } from 'nestjs-snowflake';
import { SnowflakeErrorFilter } from '../../lib/http/index.js';
import { PLATFORMS, serve, type Served } from './serve.js';

const SECRET = 'redis://:hunter2@store:6379';

/** Of ID_INVALID: for an id that the client did not send. */
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

  it.each(Object.entries(STATUS))('%s is %d, with no secret', async (code, expected) => {
    const { status, text, body, headers } = await served.get(`/${code}`);
    const [said, retryAfter] = SAID[expected];
    expect([status, headers.get('retry-after')]).toEqual([expected, retryAfter]);
    expect(body).toMatchObject({ statusCode: expected, message: expect.stringMatching(said) });
    expect(text).not.toContain('hunter2');
  });
});

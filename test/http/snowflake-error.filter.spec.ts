/**
 * The filter in real applications: who is told what of an error of this library.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
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
import {
  SnowflakeError,
  SnowflakeGenerator,
  LeaseWindow,
  idFromBytes,
  layouts,
  textForms,
} from 'nestjs-snowflake/core';
import { SnowflakeErrorFilter } from '../../lib/http/index.js';
import { PLATFORMS, serve, type Served } from './serve.js';

const layout = layouts.snowflake();
const generator = new SnowflakeGenerator(new LeaseWindow(layout));
const SECRET = 'redis://:hunter2@store:6379';

/** As thrown by another copy of the package, whose class is not ours. */
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

const WAYS: [platform: (typeof PLATFORMS)[number], way: string, module: Type][] = PLATFORMS.flatMap(
  (platform) => [
    [platform, 'APP_FILTER', App],
    [platform, 'useGlobalFilters', Without],
  ],
);

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
    ['in the path, of another layout', '/path/99999999999999999999', /0 to 9223372036854775807/],
    ['in the query', '/query?after=0O', /character 1 is "0"/],
    ['in the query, empty', '/query?after=', /empty/],
    ['as a bigint of the path', '/bigint/9223372036854775808', /9223372036854775808n/],
  ])('a wrong id %s is answered with 400 and the reason', async (_place, path, message) => {
    const { status, body, headers } = await app.get(path);
    const reason = expect.stringMatching(message);
    expect([status, body]).toEqual([
      400,
      { statusCode: 400, error: 'Bad Request', message: reason },
    ]);
    expect(headers.get('retry-after')).toBeNull();
  });

  it('so is one in a body, wherever it lies', async () => {
    const { status, body } = await app.post('/body', { lines: [{ id: '1' }, { id: 'x' }] });
    expect([status, body]).toMatchObject([400, { message: expect.stringMatching(/"x"/) }]);
  });

  it.each(['count', 'date', 'bytes', 'stored', 'number', 'refused'])(
    'an error that the server made is 500, logged, and tells nothing: %s',
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
  ])('what passes is 503 with Retry-After, and tells nothing else: %s', async (name, seconds) => {
    logged.length = 0;
    const { status, body, headers } = await app.get(`/thrown/${name}`);
    expect([status, body, headers.get('retry-after')]).toEqual([503, PASSES, seconds]);
    expect(logged).toEqual([]);
  });

  it('other exceptions are answered as ever', async () => {
    expect(await app.get('/thrown/found')).toMatchObject({
      status: 404,
      body: { message: 'no such order' },
    });
  });

  it('an answer that has begun is ended, and the process lives on', async () => {
    await expect(app.get('/begun').then(({ text }) => text)).resolves.toBe('begun');
    expect((await app.get('/thrown/retryable')).status).toBe(503);
  });
});

describe('without the filter', () => {
  it.each(PLATFORMS)('all of them are 500 on %s', async (platform) => {
    const app = await serve(platform, Without);
    for (const path of ['/path/abc', '/thrown/retryable']) {
      expect((await app.get(path)).status).toBe(500);
    }
    await app.close();
  });
});

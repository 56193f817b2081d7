/**
 * The interceptor in real applications: what leaves is JSON with text in place of bigint.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ClassSerializerInterceptor,
  ConflictException,
  Controller,
  Get,
  Module,
  Res,
  Sse,
  StreamableFile,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Exclude } from 'class-transformer';
import { firstValueFrom, of } from 'rxjs';
import { SnowflakeJsonInterceptor, bigintAsText } from '../../lib/http/index.js';
import { PLATFORMS, serve, type Served } from './serve.js';

const ID = 382_366_441_078_288_384n;
const TEXT = '382366441078288384';

const ONCE = Object.freeze(new ConflictException('taken'));

class Customer {
  id = ID;
  @Exclude()
  password = 'secret';
}

@Controller()
class Responses {
  @Get('nested')
  nested() {
    return { id: ID, lines: [{ id: 1n, at: new Date(0) }], none: null, n: 1.5 };
  }

  @Get('bare')
  bare() {
    return [ID];
  }

  @Get('filled')
  filled() {
    return { ids: new BigUint64Array([1n, ID]) };
  }

  @Get('observable')
  observable() {
    return of({ id: ID });
  }

  @Get('text')
  text() {
    return 'plain';
  }

  @Get('file')
  file() {
    return new StreamableFile(Buffer.from('bytes'));
  }

  @Get('own')
  own(@Res() response: { send(body: unknown): unknown }) {
    return response.send({ sent: 'by hand' });
  }

  @Get('lines')
  async *lines() {
    yield { id: ID };
    yield { id: 2n };
  }

  @Sse('events')
  events() {
    return of({ data: { id: ID } });
  }

  @UseInterceptors(ClassSerializerInterceptor)
  @Get('serialised')
  serialised() {
    return new Customer();
  }

  @Get('deep')
  deep() {
    let deep: unknown = { id: ID };
    for (let level = 0; level < 2000; level++) deep = { deep };
    return deep;
  }

  @Get('conflict')
  conflict() {
    throw new ConflictException({ message: 'taken', takenBy: { id: ID } });
  }

  @Get('refused')
  refused() {
    throw ONCE;
  }

  @Get('cycle')
  cycle() {
    const node: Record<string, unknown> = { id: ID };
    node['self'] = node;
    return node;
  }
}

@Module({
  controllers: [Responses],
  providers: [{ provide: APP_INTERCEPTOR, useClass: SnowflakeJsonInterceptor }],
})
class App {}

@Module({ controllers: [Responses] })
class Without {}

describe.each(PLATFORMS)('on %s', (platform) => {
  let app: Served;
  beforeAll(async () => {
    app = await serve(platform, App);
  });
  afterAll(() => app.close());
  const bodyOf = async (path: string) => (await app.get(path)).body;
  const textOf = async (path: string) => (await app.get(path)).text;

  it('writes every bigint as text, at any depth', async () => {
    const lines = [{ id: '1', at: '1970-01-01T00:00:00.000Z' }];
    expect(await bodyOf('/nested')).toEqual({ id: TEXT, lines, none: null, n: 1.5 });
    expect(await bodyOf('/bare')).toEqual([TEXT]);
    expect(await bodyOf('/filled')).toEqual({ ids: ['1', TEXT] });
    expect(await bodyOf('/observable')).toEqual({ id: TEXT });
  });

  it('writes them in what is sent line by line, and in events', async () => {
    expect((await textOf('/lines')).trim().split('\n')).toEqual([`{"id":"${TEXT}"}`, '{"id":"2"}']);
    expect(await textOf('/events')).toContain(`data: {"id":"${TEXT}"}`);
  });

  it('leaves text, files and responses sent by hand alone', async () => {
    expect(await textOf('/text')).toBe('plain');
    expect(await textOf('/file')).toBe('bytes');
    expect(await bodyOf('/own')).toEqual({ sent: 'by hand' });
  });

  it('comes after ClassSerializerInterceptor when it is listed before it', async () => {
    expect(await bodyOf('/serialised')).toEqual({ id: TEXT });
  });

  it('answers what is deep as JSON.stringify writes it', async () => {
    const { status, text } = await app.get('/deep');
    const json = `${'{"deep":'.repeat(2000)}{"id":"${TEXT}"}${'}'.repeat(2000)}`;
    expect([status, text]).toEqual([200, json]);
  });

  it('writes them in the body of an exception, and leaves other exceptions alone', async () => {
    const body = { message: 'taken', takenBy: { id: TEXT } };
    expect(await app.get('/conflict')).toMatchObject({ status: 409, body });
    expect(await app.get('/refused')).toMatchObject({ status: 409, body: { message: 'taken' } });
  });

  it('answers to a cycle as Nest does, and lives on', async () => {
    expect((await app.get('/cycle')).status).toBe(500);
    expect(await bodyOf('/bare')).toEqual([TEXT]);
  });

  it('is needed: without it a bigint is an error 500', async () => {
    const without = await serve(platform, Without);
    expect((await without.get('/nested')).status).toBe(500);
    expect((await without.get('/conflict')).status).toBe(500);
    await without.close();
  });
});

describe('the replacer', () => {
  it('set in Express does the same, also for what is sent by hand', async () => {
    @Controller()
    class ByHand {
      @Get()
      own(@Res() response: { json(body: unknown): unknown }) {
        return response.json({ id: ID });
      }
    }
    @Module({ controllers: [ByHand] })
    class ByHandApp {}
    const app = await serve('express', ByHandApp, (nest) =>
      (nest as NestExpressApplication).set('json replacer', bigintAsText),
    );
    expect((await app.get('/')).body).toEqual({ id: TEXT });
    await app.close();
  });
});

describe('the wrong order of interceptors', () => {
  it('shows nothing that a class excludes', async () => {
    @UseInterceptors(ClassSerializerInterceptor, SnowflakeJsonInterceptor)
    @Controller()
    class Late {
      @Get()
      serialised() {
        return new Customer();
      }
    }
    @Module({ controllers: [Late] })
    class LateApp {}
    const app = await serve('express', LateApp);
    expect((await app.get('/')).body).toEqual({ id: TEXT });
    await app.close();
  });
});

describe('contexts', () => {
  const through = (type: string, response: unknown) => {
    const context = { getType: () => type } as unknown as ExecutionContext;
    const next: CallHandler = { handle: () => of(response) };
    return firstValueFrom(new SnowflakeJsonInterceptor().intercept(context, next));
  };

  it('a response without bigints is the object the handler returned', async () => {
    const response = { id: TEXT, lines: [{ id: 'x' }] };
    expect(await through('http', response)).toBe(response);
  });

  it('messages of other transports are written too, values of GraphQL by scalars', async () => {
    expect(await through('rpc', { id: ID })).toEqual({ id: TEXT });
    expect(await through('graphql', { id: ID })).toEqual({ id: ID });
  });
});

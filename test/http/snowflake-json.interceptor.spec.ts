/**
 * The interceptor in real applications: responses are JSON with strings in place of bigints.
 */
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  type CallHandler,
  ClassSerializerInterceptor,
  ConflictException,
  Controller,
  type ExecutionContext,
  Get,
  Module,
  Res,
  Sse,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Exclude } from 'class-transformer';
import fc from 'fast-check';
import { firstValueFrom, Observable, of, throwError } from 'rxjs';
import { bigintAsText, SnowflakeJsonInterceptor } from '../../lib/http/index.js';
import { textCopyOf } from '../../lib/http/snowflake-json.interceptor.js';
import { PLATFORMS, serve, type Served } from './serve.js';

describe('snowflake json interceptor', () => {
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

    it('writes every bigint as a string, at any depth', async () => {
      const lines = [{ id: '1', at: '1970-01-01T00:00:00.000Z' }];
      expect(await bodyOf('/nested')).toEqual({ id: TEXT, lines, none: null, n: 1.5 });
      expect(await bodyOf('/bare')).toEqual([TEXT]);
      expect(await bodyOf('/filled')).toEqual({ ids: ['1', TEXT] });
      expect(await bodyOf('/observable')).toEqual({ id: TEXT });
    });

    it('writes bigints as strings in streamed lines and events', async () => {
      expect((await textOf('/lines')).trim().split('\n')).toEqual([
        `{"id":"${TEXT}"}`,
        '{"id":"2"}',
      ]);
      expect(await textOf('/events')).toContain(`data: {"id":"${TEXT}"}`);
    });

    it('leaves text, files, and manually sent responses unchanged', async () => {
      expect(await textOf('/text')).toBe('plain');
      expect(await textOf('/file')).toBe('bytes');
      expect(await bodyOf('/own')).toEqual({ sent: 'by hand' });
    });

    it('runs after ClassSerializerInterceptor if listed before it', async () => {
      expect(await bodyOf('/serialised')).toEqual({ id: TEXT });
    });

    it('serializes deep values like JSON.stringify', async () => {
      const { status, text } = await app.get('/deep');
      const json = `${'{"deep":'.repeat(2000)}{"id":"${TEXT}"}${'}'.repeat(2000)}`;
      expect([status, text]).toEqual([200, json]);
    });

    it('writes bigints in exception bodies, and leaves other exceptions unchanged', async () => {
      const body = { message: 'taken', takenBy: { id: TEXT } };
      expect(await app.get('/conflict')).toMatchObject({ status: 409, body });
      expect(await app.get('/refused')).toMatchObject({ status: 409, body: { message: 'taken' } });
    });

    it('responds to a cycle as Nest does, and continues', async () => {
      expect((await app.get('/cycle')).status).toBe(500);
      expect(await bodyOf('/bare')).toEqual([TEXT]);
    });

    it('is required: without it a bigint causes an error 500', async () => {
      const without = await serve(platform, Without);
      expect((await without.get('/nested')).status).toBe(500);
      expect((await without.get('/conflict')).status).toBe(500);
      await without.close();
    });
  });

  describe('the replacer', () => {
    it('has the same effect if set in Express, even for manually sent responses', async () => {
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
    it('reveals nothing that a class excludes', async () => {
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

  describe('other contexts', () => {
    const passed = (type: string, responses: Observable<unknown>) => {
      const context = { getType: () => type } as unknown as ExecutionContext;
      const next: CallHandler = { handle: () => responses };
      return firstValueFrom(new SnowflakeJsonInterceptor().intercept(context, next));
    };
    const through = (type: string, response: unknown) => passed(type, of(response));

    it("a response without bigints is the handler's own object", async () => {
      const response = { id: TEXT, lines: [{ id: 'x' }] };
      expect(await through('http', response)).toBe(response);
    });

    it('messages of other transports are converted, and GraphQL values use scalars', async () => {
      expect(await through('rpc', { id: ID })).toEqual({ id: TEXT });
      expect(await through('graphql', { id: ID })).toEqual({ id: ID });
    });

    it('an error thrown while reading a body replaces the response', async () => {
      const fault = new Error('of the body');
      const toJSON = () => {
        throw fault;
      };
      await expect(through('http', { id: ID, part: { toJSON } })).rejects.toBe(fault);
      const unreadable = throwError(() => ({ getResponse: toJSON }));
      await expect(passed('http', unreadable)).rejects.toBe(fault);
    });

    it('unsubscribes from the handler when its caller does', () => {
      const left = jest.fn();
      const context = { getType: () => 'http' } as unknown as ExecutionContext;
      const next: CallHandler = { handle: () => new Observable(() => left) };
      new SnowflakeJsonInterceptor().intercept(context, next).subscribe().unsubscribe();
      expect(left).toHaveBeenCalledTimes(1);
    });
  });
});

/*
 * The copy differs in JSON only by its bigints. A value without bigints is not copied.
 */
describe('text copy', () => {
  const ID = 382_366_441_078_288_384n;
  const TEXT = '382366441078288384';
  const jsonOf = (value: unknown) => JSON.stringify(value, bigintAsText);
  const tree = fc.letrec<{ anyOf: unknown }>;

  describe('a copy', () => {
    it('has the same JSON as with a replacer, for every value', () => {
      const options = { withBigInt: true, withDate: true, withNullPrototype: true, withMap: true };
      fc.assert(
        fc.property(fc.anything({ ...options, withSparseArray: true }), (v) => {
          expect(JSON.stringify(textCopyOf(v))).toBe(jsonOf(v));
        }),
      );
    });

    it('has the same JSON for classes, getters, views, bytes, and shared parts', () => {
      class Row {
        constructor(
          readonly id: unknown,
          readonly part: unknown,
        ) {}
      }
      class Viewed extends Row {
        toJSON(key: string): unknown {
          return { key, id: this.id, part: this.part };
        }
      }
      const { anyOf } = tree((tie) => {
        const part = tie('anyOf');
        return {
          anyOf: fc.oneof(
            { maxDepth: 5 },
            fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true }),
            fc.constantFrom(new Uint8Array(2), Buffer.from('x'), new Set([1n])),
            fc.tuple(part, part).map(([id, inner]) => new Row(id, inner)),
            fc.tuple(part, part).map(([id, inner]) => new Viewed(id, inner)),
            fc.array(part),
            part.map((shared) => [shared, { shared }]),
            part.map((got) => ({
              id: 1n,
              get got() {
                return got;
              },
            })),
          ),
        };
      });
      fc.assert(
        fc.property(anyOf, (value) => {
          expect(JSON.stringify(textCopyOf(value))).toBe(jsonOf(value));
        }),
      );
    });

    it('is 2,500 levels deep at most; deeper values stay, as JSON.stringify rejects them', () => {
      const nested = (id: unknown, levels: number) => {
        let deep: unknown = { id };
        for (let level = 0; level < levels; level++) deep = level % 2 ? [deep] : { deep, id };
        return deep;
      };
      expect(JSON.stringify(textCopyOf(nested(ID, 2500)))).toBe(JSON.stringify(nested(TEXT, 2500)));
      for (const deep of [nested(TEXT, 2500), nested(TEXT, 100_000), nested(ID, 100_000)]) {
        expect(textCopyOf(deep)).toBe(deep);
      }
    });

    it('is omitted if there is no bigint', () => {
      fc.assert(
        fc.property(
          fc.anything({ withDate: true, withNullPrototype: true, withMap: true }),
          (v) => {
            expect(textCopyOf(v)).toBe(v);
          },
        ),
      );
    });

    it('leaves the original unchanged, and shares parts without a bigint', () => {
      const lines = [{ id: 'text' }];
      const order = Object.freeze({ id: ID, lines, at: new Date(0) });
      const copy = textCopyOf(order) as typeof order;
      expect(copy).toEqual({ id: TEXT, lines, at: new Date(0) });
      expect(copy.lines).toBe(lines);
      expect(copy.at).toBe(order.at);
      expect(order.id).toBe(ID);
    });

    it('keeps the class, so that decorators still find it, and runs no setter', () => {
      class Order {
        id = ID;
        set note(_: string) {
          throw new Error('a setter ran');
        }
      }
      const order = Object.defineProperty(new Order(), 'note', { value: ID, enumerable: true });
      const copy = textCopyOf(order);
      expect(copy).toBeInstanceOf(Order);
      expect({ ...(copy as object) }).toEqual({ id: TEXT, note: TEXT });
    });

    it.each([1, 2, 3, 4])('converts a part that is a bigint only at read %i', (at) => {
      const late = () => {
        let reads = 0;
        return { get late() { return ++reads === at ? ID : 'text'; }, id: ID }; // prettier-ignore
      };
      expect(() => JSON.stringify(textCopyOf(late()))).not.toThrow();
      expect(() => JSON.stringify(textCopyOf([ID, late()]))).not.toThrow();
    });

    it('reads no inherited part', () => {
      const parent = {
        get part(): never {
          throw new Error('the part was read');
        },
      };
      const child = Object.assign(Object.create(parent) as object, { id: TEXT });
      expect(textCopyOf(child)).toBe(child);
    });

    it('reads a list by index, as JSON.stringify does', () => {
      class List extends Array<unknown> {
        override [Symbol.iterator]() {
          return [][Symbol.iterator]();
        }
      }
      const list = new List();
      list.push(ID, { id: ID });
      expect(JSON.stringify(textCopyOf({ list }))).toBe(jsonOf({ list }));
    });

    it('keeps a key named `__proto__` as an ordinary key', () => {
      const value = JSON.parse('{"__proto__":{"isAdmin":true},"id":1}') as Record<string, unknown>;
      const copy = textCopyOf({ ...value, id: ID }) as Record<string, unknown>;
      expect(copy['isAdmin']).toBeUndefined();
      const hostile = Object.defineProperty({ id: ID }, '__proto__', {
        value: 1,
        enumerable: true,
      });
      expect(JSON.stringify(textCopyOf(hostile))).toBe(`{"id":"${TEXT}","__proto__":1}`);
    });

    it('converts arrays of bigints that generators fill', () => {
      expect(textCopyOf({ ids: new BigUint64Array([1n, ID]) })).toEqual({ ids: ['1', TEXT] });
      expect(textCopyOf(new BigInt64Array([2n]))).toEqual(['2']);
    });

    it('copies an object once, however often it is referenced', () => {
      const customer = { id: ID };
      const copy = textCopyOf([customer, customer]) as unknown[];
      expect(copy[0]).toBe(copy[1]);
      let doubled: unknown = { id: ID };
      for (let depth = 0; depth < 60; depth++) doubled = [doubled, doubled];
      expect(textCopyOf(doubled)).not.toBe(doubled);
      let plain: unknown = { id: TEXT };
      for (let depth = 0; depth < 60; depth++) plain = [plain, plain];
      expect(textCopyOf(plain)).toBe(plain);
    });
  });

  describe('toJSON', () => {
    class Money {
      constructor(private readonly cents: bigint) {}
      toJSON(key: string) {
        return { key, cents: this.cents };
      }
    }

    it('is called with the same key as in JSON.stringify', () => {
      const value = { price: new Money(5n), list: [new Money(6n)] };
      expect(textCopyOf(value)).toEqual({
        price: { key: 'price', cents: '5' },
        list: [{ key: '0', cents: '6' }],
      });
      expect(textCopyOf(new Money(7n))).toEqual({ key: '', cents: '7' });
    });

    it('may return a bigint, its own object, or an object with toJSON', () => {
      expect(textCopyOf({ id: { toJSON: () => ID } })).toEqual({ id: TEXT });
      const itself = {
        id: ID,
        toJSON() {
          return this;
        },
      };
      const nested = { toJSON: () => new Money(1n) };
      for (const value of [itself, nested, { nested, itself }]) {
        expect(JSON.stringify(textCopyOf(value))).toBe(jsonOf(value));
      }
    });

    it('is not required for an object around a bigint, which a replacer cannot handle', () => {
      const boxed = { id: Object(ID) as object };
      expect(() => jsonOf(boxed)).toThrow(TypeError);
      expect(textCopyOf(boxed)).toEqual({ id: TEXT });
    });

    it('leaves the object unchanged if it returns no bigint', () => {
      const value = { at: new Date(0), url: new URL('https://example.org/') };
      expect(textCopyOf(value)).toBe(value);
    });
  });

  describe('unchanged values', () => {
    it.each([
      ['a date', new Date(0)],
      ['a buffer', Buffer.from('1')],
      ['bytes', new Uint8Array([1])],
      ['a Node stream', Readable.from([1n])],
      ['a web stream', new ReadableStream()],
      ['a file', new StreamableFile(Buffer.from('1'))],
      ['a promise', Promise.resolve(1n)],
      ['a map, which is {} in JSON', new Map([['id', 1n]])],
      ['a set, which is {} in JSON', new Set([1n])],
      ['an error', new Error('x')],
    ])('%s', (_, value) => {
      expect(textCopyOf(value)).toBe(value);
      expect(textCopyOf({ value, id: ID })).toEqual({ value, id: TEXT });
      expect((textCopyOf({ value, id: ID }) as { value: unknown }).value).toBe(value);
    });
  });

  describe('a cycle', () => {
    interface Node {
      id: unknown;
      self?: unknown;
    }

    it('ends, and remains a cycle in the copy, so that JSON.stringify can report it', () => {
      const node: Node = { id: ID };
      node.self = { node };
      const copy = textCopyOf(node) as { id: string; self: { node: unknown } };
      expect(copy.id).toBe(TEXT);
      expect(copy.self.node).toBe(copy);
      expect(() => JSON.stringify(copy)).toThrow(/circular/);
    });

    it('without a bigint is returned unchanged', () => {
      const node: Node = { id: 'text' };
      node.self = [node];
      expect(textCopyOf(node)).toBe(node);
    });

    it('also ends if its objects have toJSON', () => {
      const node = { id: ID, toJSON: () => ({ node }) };
      expect(() => textCopyOf(node)).not.toThrow();
    });
  });

  describe('bigintAsText', () => {
    it('is a replacer that changes only bigints', () => {
      const value = { id: ID, n: 1, at: new Date(0), list: [1n, null] };
      expect(jsonOf(value)).toBe(
        `{"id":"${TEXT}","n":1,"at":"1970-01-01T00:00:00.000Z","list":["1",null]}`,
      );
    });

    it('patches nothing: JSON.stringify without it still throws', () => {
      expect(() => JSON.stringify({ id: ID })).toThrow(TypeError);
    });
  });
});

/**
 * Requests that could slow a process down: many invalid IDs, long texts, large and deep values. The
 * tests count reads and allocations, so the load on the machine does not matter.
 */
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import {
  ConsoleLogger,
  type ConsoleLoggerOptions,
  Controller,
  Get,
  type INestApplication,
  Module,
  Param,
  Post,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { deserialize, Long, serialize } from 'bson';
import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { layouts, MemoryLocks, type TextForm, textForms } from 'nestjs-snowflake';
import { SnowflakeErrorFilter } from 'nestjs-snowflake/http';
import { DistributedLock, Locked, LockModule } from 'nestjs-snowflake/lock';
import { z } from 'zod';
import { IdCheck } from '../../lib/http/check-id.js';
import { IsSnowflakeId, IsSnowflakeIds } from '../../lib/http/class-validator.js';
import { SnowflakeJsonInterceptor } from '../../lib/http/index.js';
import { textCopyOf } from '../../lib/http/snowflake-json.interceptor.js';
import { snowflakeBigints, snowflakeId, snowflakeIds } from '../../lib/http/zod.js';
import { PLATFORMS, serve, type Served } from './serve.js';

describe('hostile input', () => {
  const COUNT = 100_000;
  const TEXT = '382366441078288384';
  const layout = layouts.snowflake();

  const decode = jest.spyOn(textForms.decimal, 'decode');
  const tryDecode = jest.spyOn(textForms.decimal, 'tryDecode');
  afterEach(() => {
    decode.mockClear();
    tryDecode.mockClear();
  });

  /** A list that counts the reads of its values. */
  function counted(length: number, valueAt: (index: number) => unknown) {
    const seen = { reads: 0 };
    const list = new Proxy(
      Array.from({ length }, (_, index) => valueAt(index)),
      {
        get(values, key, receiver) {
          if (typeof key === 'string' && /^\d+$/.test(key)) seen.reads++;
          return Reflect.get(values, key, receiver) as unknown;
        },
      },
    );
    return { list, seen };
  }

  class Order {
    @IsSnowflakeId({}, { each: true })
    each: unknown = [];

    @IsSnowflakeIds()
    list: unknown = [];

    @IsSnowflakeIds({ countMin: 1, countMax: 1e6, layout, notInFuture: true })
    long: unknown = [TEXT];

    @IsSnowflakeId()
    one: unknown = TEXT;
  }

  const faultsOf = (values: object) =>
    validateSync(Object.assign(new Order(), values)).flatMap(({ constraints }) =>
      Object.values(constraints ?? {}),
    );

  describe('a decorator', () => {
    it('rejects an oversized list without reading it', () => {
      const { list, seen } = counted(COUNT, () => 'x');
      const fault = 'list: Expected 0 to 10000 ids, got 100000. Send them in several requests.';
      expect(faultsOf({ list })).toEqual([fault]);
      expect(seen.reads).toBe(0);
    });

    it('reads a list up to the first invalid ID, and reports its position', () => {
      const { list, seen } = counted(COUNT, (index) => (index === 3 ? `${index}x` : TEXT));
      expect(faultsOf({ long: list })).toEqual([
        expect.stringMatching(/^long: \[3\] Expected an id as decimal text, got "3x"/),
      ]);
      expect(seen.reads).toBeLessThanOrEqual(2 * 4);
    });

    it('accepts only a list of IDs', () => {
      expect(faultsOf({ list: [TEXT, 5n, '0'], long: [TEXT] })).toEqual([]);
      expect(faultsOf({ list: Array.from({ length: 10_000 }, () => TEXT) })).toEqual([]);
      expect(faultsOf({ long: [] })).toEqual([expect.stringMatching(/1 to 1000000 ids, got 0/)]);
      for (const list of [TEXT, { length: 1, 0: TEXT }, new Set([TEXT]), null, undefined]) {
        expect(faultsOf({ list })).toEqual([expect.stringMatching(/Expected a list of ids, got/)]);
      }
      for (const value of [undefined, null, 5, [TEXT], { id: TEXT }, '007']) {
        expect(faultsOf({ list: [TEXT, value] })).toEqual([expect.stringMatching(/^list: \[1\] /)]);
      }
      // oxlint-disable-next-line no-sparse-arrays -- What a hole does is looked at.
      expect(faultsOf({ list: [TEXT, , TEXT] })).toEqual([expect.stringMatching(/^list: \[1\] /)]);
    });

    it('reads no text of an oversized list with `each`, or after its first error', () => {
      const values = Array.from({ length: COUNT }, () => 'x');
      const fault = 'each: Expected at most 10000 ids, got 100000. Send them in several requests.';
      for (const each of [values, new Set(values.map((x, at) => x + at))]) {
        expect(faultsOf({ each })).toEqual([fault]);
      }
      const longest = values.slice(0, 10_000);
      tryDecode.mockClear();
      expect(faultsOf({ each: longest })).toEqual([expect.stringMatching(/^each: .*"x"/)]);
      expect(decode).not.toHaveBeenCalled();
      // One call to reject and the rest for the message; other calls belong to other properties.
      expect(tryDecode.mock.calls.filter(([text]) => text === 'x').length).toBeLessThanOrEqual(4);
    });

    it('checks every request independently with `each`', () => {
      expect(faultsOf({ each: ['x'] })).toHaveLength(1);
      expect(faultsOf({ each: [TEXT] })).toEqual([]);
    });

    it('keeps placeholders of a long text out of its message', () => {
      const [fault] = faultsOf({ one: '$value$target'.repeat(100_000) });
      expect(fault!.length).toBeLessThan(600);
      expect(fault).toContain('"\\u0024value\\u0024target');
    });

    it('rejects impossible bounds at class definition', () => {
      const config = expect.objectContaining({ code: 'CONFIG_INVALID' });
      for (const bounds of [{ countMax: -1 }, { countMin: 1.5 }, { countMin: 2, countMax: 1 }]) {
        expect(() => IsSnowflakeIds(bounds)).toThrow(config);
        expect(() => snowflakeIds(bounds)).toThrow(config);
      }
    });
  });

  describe('a schema', () => {
    const Body = z.object({ ids: snowflakeIds(), bigints: snowflakeBigints({ countMax: 1e6 }) });
    const parsed = (values: object) => Body.safeParse({ ids: [], bigints: [], ...values });

    it('has one issue for a list, with its position', () => {
      const { list, seen } = counted(COUNT, (index) => (index === 3 ? 'x' : TEXT));
      const { error } = parsed({ bigints: list, ids: Array.from({ length: COUNT }, () => 'x') });
      expect(error!.issues.map(({ path, message }) => [path, message])).toEqual([
        [['ids'], expect.stringMatching(/^Expected 0 to 10000 ids, got 100000/)],
        [['bigints', 3], expect.stringMatching(/^Expected an id as decimal text, got "x"/)],
      ]);
      expect(seen.reads).toBeLessThanOrEqual(2 * 4);
      expect(decode).not.toHaveBeenCalled();
    });

    it('returns a list of strings or bigints', () => {
      const ids: string[] | undefined = parsed({ ids: [TEXT, '0'] }).data?.ids;
      const bigints: bigint[] | undefined = parsed({ bigints: [TEXT] }).data?.bigints;
      expect([ids, bigints]).toEqual([[TEXT, '0'], [BigInt(TEXT)]]);
      expect(parsed({ ids: TEXT }).error!.issues).toHaveLength(1);
      expect(parsed({ ids: undefined }).error!.issues).toHaveLength(1);
    });

    it('describes a list as a bounded array of strings in JSON Schema', () => {
      const items = { type: 'string', format: 'int64', pattern: '^(0|[1-9]\\d{0,18})$' };
      const list = { type: 'array', items, minItems: 0, maxItems: 10_000 };
      expect(z.toJSONSchema(Body, { io: 'input' })).toMatchObject({ properties: { ids: list } });
    });

    it('creates no Error per invalid ID', () => {
      const values = Array.from({ length: 1000 }, () => 'x');
      expect(z.array(snowflakeId()).safeParse(values).error!.issues).toHaveLength(1000);
      expect(decode).not.toHaveBeenCalled();
    });
  });

  describe('an arbitrary value', () => {
    const check = new IdCheck({}, [textForms.base58, textForms.sortableHex]);

    it('is read only as far as the message shows it', () => {
      const { list, seen } = counted(COUNT, () => 'x');
      expect(check.refusalOf(list)).toMatch(/\["x","x",.*\.\.\. \(array of 100000\)/);
      expect(seen.reads).toBeLessThan(20);
      let gets = 0;
      const large = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`key${at}`, at]));
      const watched = new Proxy(large, { get: (parts, key: string) => (gets++, parts[key]) });
      expect(check.refusalOf(watched)).toMatch(/\{"key0":0,.*\.\.\. \(object\)/);
      expect(gets).toBeLessThan(20);
    });

    it('is rejected with a short message', () => {
      const revoked = Proxy.revocable({}, {});
      revoked.revoke();
      let deep: unknown = 'x';
      for (let level = 0; level < 100_000; level++) deep = level % 2 ? [deep] : { deep };
      const getter = Object.defineProperty({}, 'id', {
        enumerable: true,
        get() {
          throw new Error('a getter ran');
        },
      });
      const sparse: unknown[] = [];
      sparse[2 ** 32 - 2] = 1;
      const objects = [revoked.proxy, deep, getter, sparse, new Date(NaN), Buffer.alloc(1e6)];
      const long = 'x'.repeat(1e6);
      const values = [new DataView(new ArrayBuffer(9)), 10n ** 100_000n, [10n ** 100_000n]].concat(
        objects as never[],
        [() => long, { toJSON: () => long }, { [long]: 1 }, [[[[long]]]]] as never[],
        ['\0', '\ud800', '\udfff1', '1\u2028', `${TEXT}\0`, '\u202e1', long] as never[],
      ) as unknown[];
      for (const value of values) {
        const refusal = check.refusalOf(value)!;
        expect(refusal.length).toBeLessThan(300);
        expect(() => encodeURIComponent(refusal)).not.toThrow();
      }
    });
  });

  describe('tryDecode', () => {
    it.each(Object.entries(textForms) as [string, TextForm][])(
      'of %s returns the result of decode, or undefined if decode throws',
      (_, form) => {
        const digits = form.encode(2n ** 63n - 1n);
        const wrong = ['', ' ', '!', `${digits}0`, '\0', '\ud800', digits.replace(/.$/, '\u0130')];
        for (const text of [...wrong, undefined, null, 5, {}, []] as string[]) {
          expect(form.tryDecode(text)).toBeUndefined();
          expect(() => form.decode(text)).toThrow(expect.objectContaining({ code: 'ID_INVALID' }));
        }
        for (const id of [0n, 1n, BigInt(TEXT), 2n ** 63n - 1n]) {
          expect(form.tryDecode(form.encode(id))).toBe(id);
          expect(form.decode(form.encode(id))).toBe(id);
        }
      },
    );
  });

  describe('a custom form', () => {
    it('requires tryDecode at startup', () => {
      const form = { name: 'own', encode: String, decode: BigInt } as unknown as TextForm;
      expect(() => new IdCheck({}, [form])).toThrow(/`forms` .* `tryDecode`/);
      expect(() => new IdCheck({}, [undefined] as unknown as TextForm[])).toThrow(/`forms`/);
    });

    it('is named in the error, without a call of its decode', () => {
      const decodeOwn = jest.fn((text: string) => textForms.hex.decode(text));
      const form = { name: 'own', encode: String, decode: decodeOwn, tryDecode: () => undefined };
      const check = new IdCheck({}, [form, textForms.decimal]);
      expect(check.refusalOf('g')).toMatch(/as own or decimal text/);
      expect(decodeOwn).not.toHaveBeenCalled();
    });
  });
});

/*
 * Responses to requests that need a lock: over HTTP, by the error filter.
 */
describe('held locks', () => {
  @Controller('orders')
  class OrdersController {
    @Post(':id/pay')
    @Locked((id: string) => `order:${id}`)
    async pay(@Param('id') id: string): Promise<string> {
      return `paid ${id}`;
    }
  }

  class Locks extends MemoryLocks {
    isAway = false;

    override async acquire(...[request]: Parameters<MemoryLocks['acquire']>) {
      if (this.isAway) throw new Error('connection refused by redis://:secret@host');
      return super.acquire(request);
    }
  }

  const store = new Locks();

  @Module({
    imports: [LockModule.forRoot({ locks: store })],
    controllers: [OrdersController],
    providers: [{ provide: APP_FILTER, useClass: SnowflakeErrorFilter }],
  })
  class App {}

  let app: INestApplication;
  beforeAll(async () => {
    app = await NestFactory.create(App, { logger: false });
    await app.listen(0, '127.0.0.1');
  });
  afterAll(() => app.close());

  async function pay(id: string) {
    const response = await fetch(`${await app.getUrl()}/orders/${id}/pay`, { method: 'POST' });
    return { status: response.status, text: await response.text() };
  }

  it('responds with 409 if another process holds the lock, without its name', async () => {
    expect(await pay('7')).toEqual({ status: 201, text: 'paid 7' });
    const other = new DistributedLock(store, { application: 'mail' });
    const held = (await other.tryAcquire('order:7'))!;
    const { status, text } = await pay('7');
    expect([status, JSON.parse(text)]).toEqual([
      409,
      {
        statusCode: 409,
        message: 'Somebody else is doing this right now. Try again.',
        error: 'Conflict',
      },
    ]);
    expect(await pay('8')).toEqual({ status: 201, text: 'paid 8' });
    await held.release();
    expect(await pay('7')).toEqual({ status: 201, text: 'paid 7' });
  });

  it('responds with 503, never 409, if the lock store is down, and hides the cause', async () => {
    store.isAway = true;
    const { status, text } = await pay('7');
    store.isAway = false;
    expect([status, JSON.parse(text)]).toEqual([
      503,
      {
        statusCode: 503,
        message: 'This cannot be done right now. Try again.',
        error: 'Service Unavailable',
      },
    ]);
  });
});

/*
 * IDs from MongoDB's driver: the Long of BSON is sent as exact text.
 */
describe('bson long', () => {
  const ID = 382_366_441_078_288_385n;
  const TEXT = '382366441078288385';

  describe('a BSON Long', () => {
    it('is written as its exact integer, signed and unsigned', () => {
      fc.assert(
        fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (id) => {
          expect(textCopyOf(Long.fromBigInt(id))).toBe(String(id));
          const unsigned = BigInt.asUintN(64, id);
          expect(textCopyOf(Long.fromBigInt(unsigned, true))).toBe(String(unsigned));
        }),
      );
    });

    it('is found at any depth of a document', () => {
      const stored = serialize({ id: ID, below: -ID, lines: [{ id: ID }, { id: 1n }] });
      const document = deserialize(stored, { promoteLongs: false });
      const written = { id: TEXT, below: `-${TEXT}`, lines: [{ id: TEXT }, { id: '1' }] };
      expect(textCopyOf(document)).toEqual(written);
      expect(document['id']).toBeInstanceOf(Long);
    });

    it.each([
      ['JSON of a client', { _bsontype: 'Long', high: 1, low: 2 }],
      [
        'another class',
        new (class {
          _bsontype = 'Long';
          high = 1.5;
          low = 'x';
        })(),
      ],
      [
        'an Int32',
        new (class {
          _bsontype = 'Int32';
          value = 7;
        })(),
      ],
    ])('is not %s, which stays unchanged', (_, value) => {
      expect(textCopyOf({ value })).toStrictEqual({ value });
    });
  });

  @Controller()
  class Documents {
    @Get()
    found() {
      return [{ id: Long.fromBigInt(ID), label: 'lean' }];
    }
  }

  @Module({
    controllers: [Documents],
    providers: [{ provide: APP_INTERCEPTOR, useClass: SnowflakeJsonInterceptor }],
  })
  class App {}

  describe.each(PLATFORMS)('an application on %s', (platform) => {
    let served: Served;
    beforeAll(async () => {
      served = await serve(platform, App);
    });
    afterAll(() => served.close());

    it('sends it as a string', async () => {
      const { text } = await served.get('/');
      expect(text).toBe(`[{"id":"${TEXT}","label":"lean"}]`);
    });
  });
});

/*
 * Nest's own logger accepts objects with bigint IDs, so this library offers no other logger.
 */
describe('console logger', () => {
  const ID = 382_366_441_078_288_384n;
  const TEXT = '382366441078288384';
  const order = { id: ID, lines: [{ id: 1n }], byId: new Map([[ID, 'first']]) };

  describe("Nest's console logger", () => {
    const written: string[] = [];
    beforeEach(() => {
      written.length = 0;
      const write = (chunk: string | Uint8Array) => written.push(String(chunk)) > 0;
      jest.spyOn(process.stdout, 'write').mockImplementation(write);
      jest.spyOn(process.stderr, 'write').mockImplementation(write);
    });
    afterEach(() => {
      jest.restoreAllMocks();
    });
    const logged = (options: ConsoleLoggerOptions, ...values: [unknown, ...unknown[]]) => {
      new ConsoleLogger(options).log(...values);
      return written.join('');
    };

    it('writes bigints as decimal text in JSON', () => {
      const record = JSON.parse(logged({ json: true }, order)) as { message: unknown };
      expect(record.message).toMatchObject({ id: TEXT, lines: [{ id: '1' }] });
    });

    it('writes bigints that are logged together with a message', () => {
      expect(logged({ json: true }, 'paid', { id: ID }, 'Orders')).toContain(`"${TEXT}"`);
    });

    it.each([
      ['text', {}],
      ['JSON in colours', { json: true, colors: true }],
      ['JSON on several lines', { json: true, compact: false }],
    ])('shows bigints with their digits as %s', (_, options) => {
      expect(logged(options, order)).toContain(TEXT);
    });

    it('accepts errors with bigints', () => {
      const error = Object.assign(new Error('not paid'), { orderId: ID });
      new ConsoleLogger({ json: true }).error(error);
      expect(written.join('')).toContain('not paid');
    });
  });
});

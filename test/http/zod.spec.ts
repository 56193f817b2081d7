/**
 * The schemas of Zod: checked text, and bigint.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { layouts } from 'nestjs-snowflake';
import { z } from 'zod';
import { snowflakeBigint, snowflakeId } from '../../lib/http/zod.js';

const MAX = 2n ** 63n - 1n;
const TEXT = '382366441078288384';
const layout = layouts.snowflake();
const NOW_MS = Date.parse('2026-03-01T00:00:00Z');
const checks = { layout, notInFuture: true, workerId: 7, clock: { now: () => NOW_MS } };
const idAt = (timestampMs: number, workerId = 7) =>
  String(layout.compose({ timestampMs, workerId }));

describe('what is parsed', () => {
  it('is the text itself, or the bigint it says, for every id', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: MAX }), (id) => {
        const text: string = snowflakeId().parse(String(id));
        const read: bigint = snowflakeBigint().parse(String(id));
        expect([text, read]).toEqual([String(id), id]);
      }),
    );
  });

  it('can be held to a layout, the present and a worker', () => {
    for (const schema of [snowflakeId(checks), snowflakeBigint(checks)]) {
      expect(schema.safeParse(idAt(NOW_MS)).success).toBe(true);
      expect(schema.safeParse(idAt(NOW_MS + 901_000)).success).toBe(false);
      expect(schema.safeParse(idAt(NOW_MS, 8)).success).toBe(false);
    }
  });

  it('fits in objects, lists and optional places', () => {
    const Order = z.object({
      id: snowflakeId(),
      couponIds: z.array(snowflakeBigint()),
      receiverId: snowflakeId().optional(),
    });
    const order: z.infer<typeof Order> = Order.parse({ id: '1', couponIds: ['2'] });
    expect(order).toEqual({ id: '1', couponIds: [2n] });
  });
});

describe.each([
  ['snowflakeId', snowflakeId()],
  ['snowflakeBigint', snowflakeBigint()],
])('%s', (_, schema) => {
  it.each([
    ['abc', /"abc", whose character 1 is "a"/],
    ['', /empty/],
    ['007', /begins with the zero digit/],
    ['٣', /character 1 is "٣"/],
    [String(MAX + 1n), /larger than 2\^63 - 1/],
    ['9'.repeat(1_000_000), /1000000 characters/],
    [42, /42 \(number\)\. A JavaScript number cannot hold every id/],
    [1n, /^Expected an id as text, got 1n \(bigint\)/],
    [undefined, /that the id was sent/],
    [null, /got null/],
    [['1'], /\["1"\] \(array\)/],
    [{}, /\(object\)/],
  ])('refuses %# with one issue that says why', (value, message) => {
    const { error } = schema.safeParse(value);
    expect(error!.issues).toHaveLength(1);
    expect(error!.issues[0]!.message).toMatch(message);
  });

  it('is text with digits to JSON Schema', () => {
    expect(z.toJSONSchema(schema, { io: 'input' })).toMatchObject({
      type: 'string',
      format: 'int64',
      pattern: '^(0|[1-9]\\d{0,18})$',
      examples: [TEXT],
    });
  });
});

describe('checks that need a layout', () => {
  it('are refused without one, when the schema is made', () => {
    const config = expect.objectContaining({ code: 'CONFIG_INVALID' });
    expect(() => snowflakeId({ notInFuture: true })).toThrow(config);
    expect(() => snowflakeBigint({ workerId: 1 })).toThrow(config);
  });
});

/**
 * Readable ids: CosId's vector, every layout both ways, and dates and parts that are none.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BitLayout, layouts, prefixedForm, readableForm } from '../../../lib/core/index.js';
import { runs } from '../../until.js';

const cosId = layouts.snowflake({ epoch: 1_577_203_200_000 });
const ID = 295_913_926_632_165_376n;
const invalid = (message: RegExp) =>
  expect.objectContaining({ code: 'ID_INVALID', message: expect.stringMatching(message) });

describe('a readable id', () => {
  it("agrees with CosId's, at its offset and in UTC", () => {
    const there = readableForm(cosId, { utcOffset: '+08:00' });
    expect(there.encode(ID)).toBe('20220320133617924-5-0');
    expect(there.decode('20220320133617924-5-0')).toBe(ID);
    expect(readableForm(cosId).encode(ID)).toBe('20220320053617924-5-0');
    expect(readableForm(cosId, { utcOffset: '-03:30' }).encode(ID)).toBe('20220320020617924-5-0');
  });

  it('says a date of whole seconds without milliseconds, and call fields at its end', () => {
    expect(readableForm(layouts.baidu()).encode(180_363_646_902_239_241n)).toMatch(
      /^\d{14}-\d+-\d+$/,
    );
    const shards = layouts.redisIdGenerator();
    const numbers = shards.callFields.length + 2;
    expect(readableForm(shards).encode(ID).split('-')).toHaveLength(numbers + 1);
  });

  const all = Object.entries(layouts).map(([name, make]) => [name, make()] as const);
  it.each(all)('reads what it wrote: %s', (_, layout) => {
    for (const utcOffset of ['+00:00', '+14:00', '-12:00', '+05:45']) {
      const form = readableForm(layout, { utcOffset });
      const id = fc.bigInt({ min: 0n, max: layout.idMax });
      fc.assert(
        fc.property(fc.oneof(id, fc.constantFrom(0n, 1n, layout.idMax)), (value) => {
          const text = form.encode(value);
          expect(form.decode(text)).toBe(value);
          expect(text).toMatch(new RegExp(form.pattern!, 'u'));
        }),
        { numRuns: runs(40) },
      );
    }
  });

  it('reads the years after 9999, and writes none that no Date holds', () => {
    const fields = [
      ['timestamp', 43],
      ['worker', 8],
      ['sequence', 12],
    ] as const;
    const slow = new BitLayout({ unitMs: 1000, fields });
    const form = readableForm(slow);
    expect(form.decode(form.encode(slow.compose({ timestampMs: 8e15 })))).toBe(
      slow.compose({ timestampMs: 8e15 }),
    );
    expect(() => form.encode(slow.idMax)).toThrow(invalid(/whose time a Date can hold/));
  });

  it.each([
    ['', /which is not yyyyMMddHHmmssSSS-worker-sequence/],
    ['20220320133617924', /which is not/],
    ['20220320133617924-5', /which is not/],
    ['20220320133617924-5-0-0', /which is not/],
    ['2022-03-20T13:36:17.924-5-0', /which is not/],
    ['20220320133617924-05-0', /which is not/],
    ['20220320133617924-5--1', /which is not/],
    ['２0220320133617924-5-0', /which is not/],
    ['20220320133617924-5-0\n', /which is not/],
    ['20220230133617924-5-0', /no id of the layout/],
    ['20221320133617924-5-0', /no id of the layout/],
    ['20220320243617924-5-0', /no id of the layout/],
    ['20220320136017924-5-0', /no id of the layout/],
    ['20220320133617924-1024-0', /no id of the layout/],
    ['20220320133617924-5-4096', /no id of the layout/],
    ['20191224155959999-5-0', /no id of the layout/],
    ['22220320133617924-5-0', /no id of the layout/],
    ['99999920133617924000-5-0', /which is not/],
    [`20220320133617924-5-${'9'.repeat(70)}`, /no id of the layout/],
    ['1'.repeat(5_000_000), /which is not/],
    [null, /got null/],
    [ID, /bigint/],
  ])('is not %j', (text, message) => {
    const form = readableForm(cosId);
    expect(form.tryDecode(text as string)).toBeUndefined();
    expect(() => form.decode(text as string)).toThrow(invalid(message));
  });

  it('has a time of the grid of its layout', () => {
    const sony = readableForm(layouts.sonyflake());
    const text = sony.encode(5n);
    expect(sony.tryDecode(text.replace(/^(\d{16})\d/, '$11'))).toBeUndefined();
  });

  it.each(['Asia/Shanghai', 'Z', 'UTC', '+8', '+0800', '+14:01', '-12:01', '+00:60', '', 8, null])(
    'has a fixed offset, not %j',
    (utcOffset) => {
      expect(() => readableForm(cosId, { utcOffset: utcOffset as string })).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID' }),
      );
    },
  );

  it('can be put into other forms', () => {
    const form = prefixedForm('order-', readableForm(cosId));
    expect(form.decode(form.encode(ID))).toBe(ID);
  });
});

/** The transformer: the same digits in the entity and in the database, or an error. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Equal, In, Not, type FindOperator } from 'typeorm';
import { idText } from 'nestjs-snowflake/typeorm';

const MAX_ID = 2n ** 63n - 1n;
const refusal = (value: unknown) => ({
  name: 'SnowflakeError',
  code: 'ID_INVALID',
  details: { value },
});
const errorOf = (run: () => unknown): unknown => {
  try {
    return `no error but ${String(run())}`;
  } catch (error) {
    return error;
  }
};

describe('to the database', () => {
  it('every id goes as its decimal text, whichever form it has, and comes back as that', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: MAX_ID }), (id) => {
        expect(idText.to(id)).toBe(String(id));
        expect(idText.to(String(id))).toBe(String(id));
        expect(idText.from(idText.to(id))).toBe(String(id));
      }),
    );
  });

  it('safe numbers, null, undefined, lists and SQL expressions are taken', () => {
    expect(idText.to(42)).toBe('42');
    expect(idText.to(0)).toBe('0');
    expect(idText.to(null)).toBeNull();
    expect(idText.to(undefined)).toBeUndefined();
    expect(idText.to([1n, '2'])).toEqual(['1', '2']);
    const expression = () => 'nextval()';
    expect(idText.to(expression)).toBe(expression);
  });

  it('the values inside an operator are taken one by one', () => {
    expect((idText.to(In([1n, '2'])) as FindOperator<unknown>).value).toEqual(['1', '2']);
    expect((idText.to(Not(Equal(3n))) as FindOperator<unknown>).value).toBe('3');
    expect(errorOf(() => idText.to(Equal('abc')) as unknown)).toMatchObject(refusal('abc'));
  });

  it.each([2 ** 53, -1, 0.5, NaN, -1n, MAX_ID + 1n, '', ' 1', '1e3', '0x1f', '٣', {}, true])(
    '%p is refused, with the value',
    (value) => {
      expect(errorOf(() => idText.to(value))).toMatchObject(refusal(value));
    },
  );
});

describe('from the database', () => {
  it('text, bigint and safe numbers become text; null and undefined stay', () => {
    expect(idText.from('911704225635921921')).toBe('911704225635921921');
    expect(idText.from(911704225635921921n)).toBe('911704225635921921');
    expect(idText.from(42)).toBe('42');
    expect(idText.from(null)).toBeNull();
    expect(idText.from(undefined)).toBeUndefined();
  });

  it('an id above 2^53 that was read as a number is always noticed', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 53n, max: MAX_ID }), (id) => {
        const lost = Number(id);
        expect(errorOf(() => idText.from(lost))).toMatchObject(refusal(lost));
      }),
    );
  });

  it('the error names the value and the setting of each driver', () => {
    const { message } = errorOf(() => idText.from(Number('911704225635921921'))) as Error;
    expect(message).toContain('911704225635921900');
    expect(message).toContain('parseInt8');
    expect(message).toContain('supportBigNumbers');
    expect(message).toContain("{ type: 'varchar' }");
  });
});

import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { parseJson } from 'nestjs-snowflake';
import { runs } from '../../until.js';

/** Odd and beyond 2^53, so no number equals it. */
const ID = '911704225635921921';

const outcomeOf = (parse: (text: string) => unknown, text: string): unknown => {
  try {
    return { value: parse(text) };
  } catch (error) {
    return { name: (error as Error).name, message: (error as Error).message };
  }
};

describe('an integer beyond 2^53', () => {
  test.each([
    [ID, ID],
    [`-${ID}`, `-${ID}`],
    [` ${ID}\n`, ID],
    [`[${ID},${ID},1]`, [ID, ID, 1]],
    [`{"a":{"b":[[{"id": ${ID} }]]},"c":${ID}}`, { a: { b: [[{ id: ID }]] }, c: ID }],
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
    // A double holds this integer exactly, but 2^53 + 1 would parse to the same double.
    ['9007199254740992', '9007199254740992'],
    ['9223372036854775807', '9223372036854775807'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
  ])('in %s', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });
});

describe('other values match JSON.parse', () => {
  test.each([
    '-0',
    '1e3',
    '1E+30',
    `${ID}e0`,
    `${ID}E-2`,
    `${ID}.0`,
    `0.${ID}`,
    `"${ID}"`,
    `"\\"${ID}"`,
    `"\\\\\\"[${ID}]\\\\"`,
    `{"${ID}":1,"${ID}":2}`,
    `{"a\\"":"${ID}\\\\"}`,
    `"text \\u0022 ${ID}"`,
    'null',
    'true',
    '""',
    '[]',
  ])('%s', (text) => {
    expect(parseJson(text)).toStrictEqual(JSON.parse(text));
  });

  test.each([
    `{${ID}:1}`,
    `{ ${ID} \n: 1}`,
    `{"a":1,${ID}:1}`,
    `{${ID}}`,
    `0${ID}`,
    `-0${ID}`,
    `+${ID}`,
    `--${ID}`,
    `.${ID}`,
    `${ID}.`,
    `${ID}n`,
    `${ID} ${ID}`,
    `"a"${ID}`,
    `[${ID}`,
    `${ID}]`,
    `'${ID}'`,
    `"${ID}`,
    `\\"${ID}`,
    `tru${ID}`,
    `1e${ID}x`,
    `[${ID},]`,
    '',
  ])('%s is rejected with the same message', (text) => {
    const refusal = outcomeOf(JSON.parse, text);
    expect(refusal).toHaveProperty('name', 'SyntaxError');
    expect(outcomeOf(parseJson, text)).toEqual(refusal);
  });

  it('a key `__proto__` is a plain property, and no prototype changes', () => {
    const parsed = parseJson(`{"__proto__":{"id":${ID}},"a":1}`) as Record<string, unknown>;
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    expect(Object.keys(parsed)).toEqual(['__proto__', 'a']);
    expect(parsed['id']).toBeUndefined();
    expect(Object.getOwnPropertyDescriptor(parsed, '__proto__')?.value).toEqual({ id: ID });
  });

  it('a Buffer is parsed as its text', () => {
    expect(parseJson(Buffer.from(`[${ID}]`) as unknown as string)).toEqual([ID]);
  });
});

describe('for arbitrary text', () => {
  /** Fragments of JSON, in an order that is usually invalid. */
  const marks = '"\\{}[]:, \n-+.e01é';
  const pieces = [
    ...Array.from(marks),
    '\\"',
    ID,
    '9007199254740993',
    'true',
    'null',
    '"id":',
    '__proto__',
  ];
  /** The expected value: a reader of single characters converts integers beyond 2^53 to text. */
  const expected = (text: string): unknown => {
    let result = '';
    let isInside = false;
    for (let at = 0; at < text.length;) {
      const number = isInside ? null : /^-?\d+(\.\d+)?([eE][+-]?\d+)?/.exec(text.slice(at));
      const isInteger = number !== null && /^-?\d+$/.test(number[0]);
      const isBeyond = isInteger && BigInt(number[0]) ** 2n >= 2n ** 106n;
      const taken = number?.[0] ?? (text[at] === '\\' ? text.slice(at, at + 2) : text[at]!);
      if (taken === '"') isInside = !isInside;
      result += isBeyond ? `"${taken}"` : taken;
      at += taken.length;
    }
    return JSON.parse(result) as unknown;
  };

  it('accepts the same text as JSON.parse, with the same messages', () => {
    let accepted = 0;
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 12 });
    fc.assert(
      fc.property(text, (parts) => {
        const json = parts.join('');
        const plain = outcomeOf(JSON.parse, json) as { name?: string; message?: string };
        const ours = outcomeOf(parseJson, json) as { name?: string; message?: string };
        if (plain.name === undefined) accepted++;
        return plain.name === ours.name && plain.message === ours.message;
      }),
      { numRuns: runs(10_000) },
    );
    expect(accepted).toBeGreaterThan(0);
  });

  it('keeps IDs anywhere in JSON, and all other values', () => {
    const big = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n });
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(big), fc.string(), (value, ids, key) => {
        const rest = JSON.stringify(value);
        const text = `{"ids":[${ids.join(', ')}],"rest":${rest},${JSON.stringify(key)}:[${rest}]}`;
        expect(parseJson(text)).toStrictEqual(expected(text));
      }),
      { numRuns: runs(1000) },
    );
  });
});

describe('parsing takes time proportional to the length', () => {
  /** CPU time of this process, independent of other processes. */
  const cpuMs = (work: () => unknown): number => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };

  test.each<[string, (count: number) => string]>([
    ['backslashes', (count) => `["${'\\\\'.repeat(count)}",${ID}]`],
    ['quotation marks', (count) => `["${'\\"'.repeat(count)}",${ID}]`],
    ['a string without an end', (count) => `[${ID},"${'\\"'.repeat(count)}`],
    ['digits', (count) => '1'.repeat(count)],
    ['only IDs', (count) => `[${`${ID},`.repeat(count)}1]`],
    ['spaces after IDs', (count) => `[${`${ID}${' '.repeat(100)},`.repeat(count / 100)}1]`],
  ])('of %s', (_what, textOf) => {
    const text = textOf(300_000);
    // Linear time takes a few ms; quadratic time takes minutes.
    expect(cpuMs(() => outcomeOf(parseJson, text))).toBeLessThan(5000);
  });

  it('at any depth', () => {
    const deep = `${'['.repeat(50_000)}${ID}${']'.repeat(50_000)}`;
    expect(outcomeOf(parseJson, deep)).toHaveProperty('value');
  });
});

/**
 * Check digits: every wrong digit and every swap of neighbours, the published vectors, and what
 * is no number at all.
 */
import { describe, expect, it } from '@jest/globals';
import { checkDigits } from '../../../lib/core/index.js';

const { damm, luhn } = checkDigits;
const invalid = (message: RegExp) =>
  expect.objectContaining({ code: 'ID_INVALID', message: expect.stringMatching(message) });
const every = (digits: number) =>
  Array.from({ length: 10 ** digits }, (_, n) => String(n).padStart(digits, '0'));
const swapped = (text: string, at: number) =>
  text.slice(0, at) + text[at + 1]! + text[at]! + text.slice(at + 2);

/** Texts that read as right after one digit was changed, or after two neighbours were swapped. */
function missedOf(digit: typeof damm, bodies: readonly string[]): string[] {
  return bodies.flatMap((body) => {
    const text = digit.append(body);
    const swaps = Array.from({ length: body.length }, (_, at) => swapped(text, at));
    const changes = Array.from(text).flatMap((_, at) =>
      every(1).map((other) => text.slice(0, at) + other + text.slice(at + 1)),
    );
    return [...swaps, ...changes].filter((wrong) => wrong !== text && digit.verify(wrong));
  });
}

describe("Damm's check digit", () => {
  it('agrees with his example', () => {
    expect(damm.append('572')).toBe('5724');
    expect(damm.verify('5724')).toBe(true);
    expect(damm.strip('5724')).toBe('572');
  });

  it('misses no wrong digit and no swap of neighbours in any number of three digits', () => {
    expect(missedOf(damm, every(3))).toEqual([]);
  });

  it('misses none in an id, an order number, or behind a prefix', () => {
    const bodies = ['382366441078288384', '9223372036854775807', 'INV-382366441078288384'];
    const texts = bodies.map((body) => damm.append(body));
    for (const text of texts) {
      expect(damm.verify(text)).toBe(true);
      const numbers = Array.from(text, (_, at) => at).filter((at) =>
        /\d\d/.test(text.slice(at, at + 2)),
      );
      const swaps = numbers.map((at) => swapped(text, at)).filter((other) => other !== text);
      expect(swaps.filter((wrong) => damm.verify(wrong))).toEqual([]);
    }
  });

  it('passes letters and separators over, also between the digits', () => {
    const text = damm.append('INV-20261121-000123');
    expect(text).toBe(`INV-20261121-000123${damm.append('20261121000123').slice(-1)}`);
    expect(damm.strip(text)).toBe('INV-20261121-000123');
  });
});

describe("Luhn's check digit", () => {
  it('agrees with the number that is shown everywhere, and misses 09 for 90 alone', () => {
    expect(luhn.append('7992739871')).toBe('79927398713');
    const missed = missedOf(luhn, every(2));
    expect(missed.length).toBeGreaterThan(0);
    expect(missed.filter((text) => !text.includes('09') && !text.includes('90'))).toEqual([]);
  });
});

describe.each(Object.entries(checkDigits))('%s', (_, digit) => {
  it.each(['', 'abc', ' ', '-', '١٢٣', '１２３', '12\n3', '1２', 'é1', '1'.repeat(257), 7, null])(
    'is appended to no %j',
    (text) => {
      expect(() => digit.append(text as string)).toThrow(invalid(/printable ASCII with a digit/));
    },
  );

  it.each(['', '4', 'A4', '572', '5724 ', '572４', '5724\n', '9'.repeat(8_000_000), 5724, null])(
    'is not found in %#',
    (text) => {
      expect(digit.verify(text as string)).toBe(false);
      expect(() => digit.strip(text as string)).toThrow(invalid(/wrong, missing or swapped/));
    },
  );

  it('is not a digit of another script, nor a letter, in the last place', () => {
    const text = digit.append('572');
    for (const last of ['٤', '４', 'a', '-', '']) {
      expect(digit.verify(text.slice(0, -1) + last)).toBe(last === '' && digit.verify('572'));
    }
  });
});

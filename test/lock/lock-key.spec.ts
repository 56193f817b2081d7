/**
 * A key of texts that others have sent is the name of a lock, whatever they hold, and two texts
 * never have one name; a part that is missing is refused, and so is a name that is none, by where
 * and why.
 */
import { describe, expect, it } from '@jest/globals';
import { MemoryLocks } from '../../lib/index.js';
import { DistributedLock, lockKey } from '../../lib/nest/lock/index.js';

const TEXTS = [
  'a b',
  'a%20b',
  'a|b',
  'a:b',
  'a/b',
  'null',
  'undefined',
  'NaN',
  '%6eull',
  '-null-',
  'x'.repeat(200),
  'x'.repeat(201),
  '\u001b[31m',
  'a\u202eb',
  '\ud83d\ude00'.repeat(100),
  'grün',
];

describe('lockKey', () => {
  it.each(TEXTS)('makes a name of %j', async (text) => {
    const locks = new DistributedLock(new MemoryLocks());
    const key = lockKey`mail:${text}`;
    expect(await locks.using(key, async ({ lock }) => lock)).toBe(key);
    expect(key).not.toMatch(/(^|[^\p{L}\p{N}_])(undefined|null|NaN)($|[^\p{L}\p{N}_])/u);
    expect(key).not.toMatch(/\p{Cs}/u);
  });

  it('makes no name twice', () => {
    const one = TEXTS.map((text) => lockKey`mail:${text}`);
    const two = TEXTS.flatMap((a) => TEXTS.map((b) => lockKey`mail:${a}:${b}`));
    expect(new Set([...one, ...two]).size).toBe(one.length + two.length);
  });

  it('leaves what can be read as it is', () => {
    expect(lockKey`order:${7}:${8n}:${'anna@example.com'}`).toBe('order:7:8:anna@example.com');
  });

  it.each([[undefined], [null], [NaN], [''], [{}], [true]])('takes no %j for a part', (part) => {
    const make = () => lockKey`order:${7}:${part as string}`;
    expect(make).toThrow(/Part 2 of the key/);
  });

  it.each(['\ud800', '\udc00', '\ud83d\ude00\ud83d'])('takes no half of a pair: %j', (text) => {
    const make = () => lockKey`order:${7}:${`ab${text}`}`;
    const at = text.length + 2;
    expect(make).toThrow(`Part 2 of the key of a lock has half of a surrogate pair at ${at}`);
    expect(make).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }));
  });
});

describe('a name that is none', () => {
  it.each([
    ['', 'got 0.'],
    ['x'.repeat(129), 'got 129.'],
    ['a b', 'got 3, number 2 of them is U+0020.'],
    ['ab|', 'got 3, number 3 of them is U+007C.'],
    ['\u001b', 'got 1, number 1 of them is U+001B.'],
    ['a\u202eb', 'got 3, number 2 of them is U+202E.'],
  ])('%j is refused: %s', async (name, reason) => {
    const locks = new DistributedLock(new MemoryLocks());
    const refused = locks.using(name, () => 1);
    await expect(refused).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
    await expect(refused).rejects.toThrow(reason);
  });
});

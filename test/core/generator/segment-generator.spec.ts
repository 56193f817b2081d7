/**
 * Counting through segments: every number once, across the edges of words, segments, and marks.
 */
import { describe, expect, it } from '@jest/globals';
import { SnowflakeError } from '../../../lib/errors.js';
import {
  SegmentGenerator,
  type Segment,
} from '../../../lib/counters/segments/segment-generator.js';
import { codeOf } from '../../until.js';

function counting(...segments: Segment[]) {
  const told = { low: 0 };
  const generator = new SegmentGenerator({
    low: () => void told.low++,
    spent: () => new SnowflakeError('SEGMENT_SPENT', 'nothing buffered'),
  });
  for (const segment of segments) generator.add(segment);
  return { generator, told };
}

const from = (first: bigint, count: number, step = 1): Segment => ({ first, count, step });
const numbers = (first: bigint, count: number, step = 1n) =>
  Array.from({ length: count }, (_, at) => first + BigInt(at) * step);

type Counting = SegmentGenerator;
const WAYS: readonly [way: string, make: (generator: Counting, count: number) => bigint[]][] = [
  ['nextId', (it, count) => numbers(0n, count).map(() => it.nextId())],
  ['nextIdAtOnce', (it, count) => numbers(0n, count).map(() => it.nextIdAtOnce())],
  ['nextIdString', (it, count) => numbers(0n, count).map(() => BigInt(it.nextIdString()))],
  ['nextIds', (it, count) => it.nextIds(count)],
  ['nextIdStrings', (it, count) => it.nextIdStrings(count).map(BigInt)],
  ['fill', (it, count) => [...filled(it, new BigUint64Array(count))]],
  ['fill, signed', (it, count) => [...filled(it, new BigInt64Array(count))]],
];

function filled<A extends BigUint64Array | BigInt64Array>(generator: Counting, array: A): A {
  generator.fill(array);
  return array;
}

const SEGMENTS: readonly [name: string, segment: Segment][] = [
  ['from 1', from(1n, 10)],
  ['from 0', from(0n, 10)],
  ['across 2^31', from(2n ** 31n - 5n, 10)],
  ['across 2^32', from(2n ** 32n - 5n, 10)],
  ['across 2^32, every third', from(2n ** 32n - 7n, 10, 3)],
  ['onto 2^32', from(2n ** 32n, 10)],
  ['across 2^53', from(2n ** 53n - 5n, 10)],
  ['up to 2^63 - 1', from(2n ** 63n - 10n, 10)],
  ['with a wide step', from(2n ** 33n - 1n, 10, 1024)],
];

describe.each(WAYS)('%s', (_way, make) => {
  it.each(SEGMENTS)('counts %s', (_name, segment) => {
    const { generator } = counting(segment);
    const { first, count, step } = segment;
    expect(make(generator, count)).toEqual(numbers(first, count, BigInt(step)));
    expect(codeOf(() => generator.nextId())).toBe('SEGMENT_SPENT');
    expect([generator.issuedCount, generator.buffered, generator.spentCount]).toEqual([10, 0, 1]);
  });

  it('continues from one segment into the next, in calls of any length', () => {
    const { generator } = counting(from(2n ** 32n - 3n, 7), from(100n, 1), from(7n, 9, 2));
    const all = [...numbers(2n ** 32n - 3n, 7), 100n, ...numbers(7n, 9, 2n)];
    expect([1, 2, 0, 5, 4, 5].flatMap((count) => make(generator, count))).toEqual(all);
    expect(generator.issuedCount).toBe(17);
  });

  it('signals a low buffer, once until it is refilled', () => {
    const { generator, told } = counting(from(1n, 10));
    generator.mark = 4;
    make(generator, 6);
    expect([told.low, generator.buffered]).toEqual([0, 4]);
    make(generator, 3);
    expect([told.low, generator.buffered]).toEqual([1, 1]);
    generator.add(from(100n, 10));
    expect(make(generator, 4)).toEqual([10n, 100n, 101n, 102n]);
    expect([told.low, generator.buffered]).toEqual([1, 7]);
    make(generator, 4);
    expect([told.low, generator.buffered]).toEqual([2, 3]);
  });

  it('generates none of the excluded numbers', () => {
    const { generator } = counting(from(1n, 10), from(50n, 5));
    expect(make(generator, 3)).toEqual([1n, 2n, 3n]);
    const rests = generator.close().map(({ segment, left }) => [segment.first, left]);
    expect(rests).toEqual([
      [1n, 7],
      [50n, 5],
    ]);
    expect(codeOf(() => generator.nextId())).toBe('SEGMENT_SPENT');
    expect([generator.buffered, generator.issuedCount]).toEqual([0, 3]);
  });
});

describe('as numbers', () => {
  it('stop at 2^53 - 1, and numbers above it stay unused', () => {
    const { generator } = counting(from(2n ** 53n - 2n, 4));
    expect([generator.nextIdNumber(), generator.nextIdNumber()]).toEqual([
      2 ** 53 - 2,
      2 ** 53 - 1,
    ]);
    expect(codeOf(() => generator.nextIdNumber())).toBe('CONFIG_INVALID');
    expect(generator.nextId()).toBe(2n ** 53n);
  });

  it('across 2^32', () => {
    const { generator } = counting(from(2n ** 32n - 1n, 3));
    const made = [1, 2, 3].map(() => generator.nextIdNumber());
    expect(made).toEqual([2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1]);
  });
});

describe('a batch that failed halfway', () => {
  it('returns its numbers to the next call, unless another number was generated since', () => {
    const { generator } = counting(from(1n, 3));
    expect(codeOf(() => generator.nextIds(5))).toBe('SEGMENT_SPENT');
    generator.add(from(10n, 5));
    expect(generator.nextIdStrings(5)).toEqual(['1', '2', '3', '10', '11']);
    expect(codeOf(() => generator.nextIdStrings(9))).toBe('SEGMENT_SPENT');
    generator.add(from(20n, 5));
    expect(generator.nextId()).toBe(20n);
    expect(generator.nextIds(2)).toEqual([21n, 22n]);
  });

  it('keeps no numbers past the end', () => {
    const { generator } = counting(from(1n, 3));
    expect(codeOf(() => generator.nextIds(5))).toBe('SEGMENT_SPENT');
    generator.close();
    expect(codeOf(() => generator.nextIds(2))).toBe('SEGMENT_SPENT');
  });
});

describe('arguments', () => {
  it('reject call fields, and a count that is not an integer', () => {
    const { generator } = counting(from(1n, 3));
    const calls = [
      () => generator.nextId({ shard: 1 }),
      () => generator.nextIdString({ shard: 1 }),
      () => generator.nextIdNumber({ shard: 1 }),
      () => generator.nextIds(1, { shard: 1 }),
      () => generator.nextIdStrings(1, { shard: 1 }),
      () => generator.fill(new BigUint64Array(1), { shard: 1 }),
      () => generator.nextIds(-1),
      () => generator.nextIdStrings(1.5),
    ];
    expect(calls.map((call) => codeOf(call))).toEqual(calls.map(() => 'ARGUMENT_INVALID'));
    expect(generator.nextId({})).toBe(1n);
  });

  it('accept a typed array over part of a buffer, and fill only that part', () => {
    const { generator } = counting(from(1n, 3));
    const { buffer } = new BigUint64Array([9n, 9n, 9n, 9n]);
    generator.fill(new BigUint64Array(buffer, 8, 2));
    expect([...new BigUint64Array(buffer)]).toEqual([9n, 1n, 2n, 9n]);
  });
});

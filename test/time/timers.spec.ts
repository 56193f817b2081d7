/**
 * Delays between retries: full jitter over a span that doubles up to a maximum. Also fake timers.
 */
import { expect, it, jest } from '@jest/globals';
import { MemoryRows, MemorySupport, startSnowflake } from 'nestjs-snowflake';
import { RetryDelay } from '../../lib/time/timers.js';

const delays = (delay: RetryDelay, count: number) =>
  Array.from({ length: count }, () => delay.next());

it.each([
  [[], [100, 200, 400, 800, 1600, 2000, 2000]],
  [[1, 5] as const, [1, 2, 4, 5, 5]],
])('%j doubles: %j', (spans, longest) => {
  const delay = new RetryDelay(() => 1, ...spans);
  expect(delays(delay, longest.length)).toEqual(longest);
  delay.reset();
  expect(delay.next()).toBe(longest[0]);
});

it('a delay is a random part of its span', () => {
  expect(delays(new RetryDelay(() => 0.25), 2)).toEqual([25, 50]);
});

it('a one-time span does not affect the next delay', () => {
  const delay = new RetryDelay(() => 1, 1, 500);
  expect([delay.next(), delay.next(500), delay.next()]).toEqual([1, 500, 4]);
});

it('timers fire even if a test framework has installed fake timers', async () => {
  const rows = new MemoryRows();
  const support = new MemorySupport({ rows });
  rows.rows.clear();
  jest.useFakeTimers();
  const running = await startSnowflake({ support }).finally(() => jest.useRealTimers());
  expect(running.ids.nextId()).toBeGreaterThan(0n);
  await running.close();
}, 10_000);

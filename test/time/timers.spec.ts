/** Delays between tries: full jitter over a span that doubles up to its last. */
import { expect, it } from '@jest/globals';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { SharedAnswer } from '../../lib/time/call-record.js';
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

it('is any part of the span', () => {
  expect(delays(new RetryDelay(() => 0.25), 2)).toEqual([25, 50]);
});

it('a span for one time changes nothing of the next', () => {
  const delay = new RetryDelay(() => 1, 1, 500);
  expect([delay.next(), delay.next(500), delay.next()]).toEqual([1, 500, 4]);
});

/* One question for many who ask: once per period, one at a time, and an answer within a limit. */
function shared() {
  const time = new SettableTime();
  const open: ((answer: string) => void)[] = [];
  const ask = () => new Promise<string>((resolve) => open.push(resolve));
  const sharing = { everyMs: 1000, limitMs: 3000, over: () => 'silent', timers: time };
  const answer = new SharedAnswer(ask, sharing);
  return { time, open, read: () => answer.read(time.now()) };
}

it('is asked once for all who ask within a period, and again after it', async () => {
  const { time, open, read } = shared();
  const first = [read(), read()];
  open[0]!('one');
  expect(await Promise.all(first)).toEqual(['one', 'one']);
  await time.advance(999);
  expect(await read()).toBe('one');
  await time.advance(1);
  const next = read();
  open[1]!('two');
  expect(await next).toBe('two');
});

it('is not asked again while nobody has answered, and each is told so at the limit', async () => {
  const { time, open, read } = shared();
  const first = read();
  await time.advance(3000);
  expect(await first).toBe('silent');
  expect(await read()).toBe('silent');
  expect(open).toHaveLength(1);
});

it('is asked again at once where the clock was set back', async () => {
  const { time, open, read } = shared();
  const first = read();
  open[0]!('one');
  await first;
  time.wallMs -= 3_600_000;
  void read();
  expect(open).toHaveLength(2);
});

/**
 * A keeper on given stores, in time that the test moves.
 */
import type { CounterStore } from '../../lib/counters/counter-store.js';
import { SegmentKeeper } from '../../lib/counters/segments/segment-keeper.js';
import { segmentTerms, type SegmentOptions } from '../../lib/counters/segments/segment-options.js';
import { SettableTime } from '../../lib/testing/settable-time.js';

export type KeptOptions = Partial<Omit<SegmentOptions, 'store' | 'stores'>>;

export function kept(
  store: CounterStore | readonly CounterStore[],
  options: KeptOptions = {},
  time = new SettableTime(),
) {
  const stores = [store].flat() as CounterStore[];
  const terms = segmentTerms({ stores, counter: 'order', ...options });
  const environment = {
    clock: time,
    timers: time,
    callTimeoutMs: 2000,
    startTimeoutMs: 30_000,
    random: () => 0.5,
  };
  const keeper = new SegmentKeeper(terms, environment);
  const changes: string[] = [];
  const news: string[] = [];
  const woken = { count: 0 };
  keeper.listen({
    changed: ({ from, to }) => changes.push(`${from} -> ${to}`),
    news: (text) => news.push(text),
    woken: () => woken.count++,
  });
  return { keeper, generator: keeper.source, time, changes, news, woken };
}

/** Makes ids at a rate, a hundredth of a second at a time; those that fail are counted. */
export async function work(
  { generator, time }: Pick<ReturnType<typeof kept>, 'generator' | 'time'>,
  perSecond: number,
  ms: number,
): Promise<{ ids: bigint[]; failedCount: number }> {
  const ids: bigint[] = [];
  let failedCount = 0;
  const perStep = perSecond / 100;
  let due = 0;
  for (let passedMs = 0; passedMs < ms; passedMs += 10) {
    for (due += perStep; due >= 1; due--) {
      try {
        ids.push(generator.nextId());
      } catch {
        failedCount++;
      }
    }
    await time.advance(10);
  }
  return { ids, failedCount };
}

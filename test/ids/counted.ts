/**
 * Ids of counters in memory, in time that the test moves, with faults in the test's hands: a call
 * hangs, fails, or is carried out without an answer.
 */
import { CounterMap } from '../../lib/stores/memory/memory-counters.js';
import { StoreIds } from '../../lib/counters/ids/store-ids.js';
import { countedTerms, type IdOptions } from '../../lib/counters/ids/store-ids-options.js';
import type { CounterStore, TakeAnswer, TakeRequest } from '../../lib/counters/counter-store.js';
import type { OpenGenerator } from '../../lib/generator.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { turn } from '../../lib/time/timers.js';

type Fault = 'hang' | 'fail' | 'lose' | TakeAnswer;

export class FaultyCounters implements CounterStore {
  readonly requests: TakeRequest[] = [];
  /** What happens to the next calls, the first first; then all are answered. */
  readonly faults: Fault[] = [];
  /** Settle the calls that hang, the first first. */
  readonly hanging: (() => void)[] = [];
  map = new CounterMap();
  server = 'one';
  isDown = false;
  closedCount = 0;

  constructor(
    private readonly time: SettableTime,
    readonly lossWindowMs = 0,
    readonly location = 'counters in memory',
  ) {}

  async take(request: TakeRequest): Promise<TakeAnswer> {
    this.requests.push(request);
    const fault = this.isDown ? 'fail' : this.faults.shift();
    if (fault === 'fail') throw new Error('connection refused');
    if (typeof fault === 'object') return fault;
    const { server, lossWindowMs } = this;
    const random = `r${this.requests.length}`;
    const reading = { timeMs: this.time.now(), server, random, lossWindowMs };
    const answer = this.map.take(request, reading);
    if (fault === 'lose') return new Promise(() => undefined);
    if (fault === 'hang') await new Promise<void>((resolve) => this.hanging.push(resolve));
    return answer;
  }

  async close(): Promise<void> {
    this.closedCount++;
  }
}

export interface Counted {
  readonly generator: OpenGenerator;
  readonly changes: string[];
  readonly news: string[];
  readonly next: (fields?: Record<string, number>, signal?: AbortSignal) => Promise<bigint>;
  readonly many: (count: number, fields?: Record<string, number>) => Promise<bigint[]>;
}

export async function opened(
  time: SettableTime,
  stores: readonly CounterStore[],
  options: Partial<IdOptions> = {},
): Promise<Counted> {
  const generator = new StoreIds(countedTerms({ stores, tag: 'order', ...options }), {
    clock: time,
    timers: time,
    callTimeoutMs: 2000,
    startTimeoutMs: 30_000,
    random: () => 0.2,
  });
  const changes: string[] = [];
  const news: string[] = [];
  generator.listen({
    changed: ({ from, to }) => changes.push(`${from} -> ${to}`),
    news: (text) => news.push(text),
    woken: () => undefined,
  });
  const line = generator.line!;
  return {
    generator,
    changes,
    news,
    next: (fields, signal) => line.next({ ...(fields && { fields }), ...(signal && { signal }) }),
    many: (count, fields) => line.nextMany(count, fields === undefined ? {} : { fields }),
  };
}

/** Started, and the clock has come to where the new counter begins. */
export async function counted(...given: Parameters<typeof opened>): Promise<Counted> {
  const [time, stores] = given;
  const made = await opened(...given);
  const starting = made.generator.start();
  await time.advance(5000);
  await starting;
  for (const store of stores) (store as FaultyCounters).requests.length = 0;
  return made;
}

/** Lets calls that were asked for in this turn be sent and answered. */
export async function answered(): Promise<void> {
  for (let turns = 0; turns < 4; turns++) await turn();
}

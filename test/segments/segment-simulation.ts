/**
 * A fleet of keepers on stores that fail, hang, lose responses, lose data, or are flushed, all
 * determined by a seed. The simulation counts duplicates, and decreasing numbers within a process.
 */
import type {
  CounterStore,
  DenseTake,
  TakeAnswer,
  TakeRequest,
} from '../../lib/counters/counter-store.js';
import { SegmentKeeper } from '../../lib/counters/segments/segment-keeper.js';
import { segmentTerms } from '../../lib/counters/segments/segment-options.js';
import type { SegmentOptions } from '../../lib/counters/segments/segment-options.js';
import { isSnowflakeError } from '../../lib/errors.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { SettableTime } from '../../lib/testing/settable-time.js';

// A counter store with faults set by the test: it hangs, fails, loses responses, or moves back. It
// follows the contract only in granting ranges, so the results depend on the keeper alone.

export class CountingStore implements CounterStore {
  /** Undefined if the counter does not exist. */
  next: bigint | undefined = 1n;
  end = 2n ** 63n - 1n;
  readonly lossWindowMs: number = 0;
  readonly requests: DenseTake[] = [];
  readonly returned: (readonly [grant: string, unused: bigint])[] = [];
  closedCount = 0;
  /** The fates of the next calls in order; later calls get a response. */
  readonly faults: ('hang' | 'fail' | 'lose' | TakeAnswer)[] = [];
  /** Functions that settle the hanging calls, in order. */
  readonly hanging: (() => void)[] = [];
  isDown = false;

  constructor(readonly location = 'a counting store') {}

  async take(request: TakeRequest): Promise<TakeAnswer> {
    this.requests.push(request as DenseTake);
    const fault = this.isDown ? 'fail' : this.faults.shift();
    if (fault === 'fail') throw new Error('connection refused');
    if (typeof fault === 'object') return fault;
    const answer = this.answer(request as DenseTake);
    // The call succeeds, and its response never arrives.
    if (fault === 'lose') return new Promise(() => undefined);
    if (fault === 'hang') await new Promise<void>((resolve) => this.hanging.push(resolve));
    return answer;
  }

  /** Jumps after a loss, as the contract requires. */
  hasForgotten = false;
  private lastGrant = '';
  /** The position from which it continued after the last loss. */
  lastJump = 1n;

  private answer({ count, startAt, have, lossGap }: DenseTake): TakeAnswer {
    const known = this.next ?? startAt;
    if (known === undefined) return { status: 'absent' };
    const least = have > known ? have : known;
    const first = this.hasForgotten ? least + lossGap : known;
    if (this.hasForgotten || this.next === undefined) this.lastJump = first;
    this.hasForgotten = false;
    if (first >= this.end) return { status: 'full' };
    const end = first + count < this.end ? first + count : this.end;
    this.next = end;
    this.lastGrant = `${first}-${end}`;
    return { status: 'ok', first, end, grant: this.lastGrant, era: 1 };
  }

  async giveBack(grant: string, unused: bigint): Promise<void> {
    this.returned.push([grant, unused]);
    // Tied to the grant: after a loss another grant may have the same end.
    if (grant !== this.lastGrant || this.next === undefined) return;
    this.next -= unused;
    this.lastGrant = '';
  }

  async close(): Promise<void> {
    this.closedCount++;
  }
}

/*
 * A keeper on given stores, in settable time.
 */

export type KeptOptions = Partial<Omit<SegmentOptions, 'store' | 'stores'>>;

export function kept(
  store: CounterStore | readonly CounterStore[],
  options: KeptOptions = {},
  time = new SettableTime(),
  startTimeoutMs = 30_000,
) {
  const stores = [store].flat() as CounterStore[];
  const terms = segmentTerms({ stores, counter: 'order', ...options });
  const environment = {
    clock: time,
    timers: time,
    callTimeoutMs: 2000,
    startTimeoutMs,
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

/** Generates IDs at a rate, in steps of a hundredth of a second, and counts failures. */
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

export interface Outcome {
  readonly madeCount: number;
  readonly twiceCount: number;
  readonly downCount: number;
  /** Generated by a process after its stop. */
  readonly afterStopCount: number;
}

const LOSS_GAP = 4000n;
const STEPS = { stepMin: 10, stepMax: 40, lastsMs: 1000, lossGap: LOSS_GAP };
const PROCESS_COUNT = 4;

type Kept = ReturnType<typeof kept>;

interface Process extends Kept {
  last: bigint;
  isStopped: boolean;
}

export async function simulate(seed: number, storeCount = 1): Promise<Outcome> {
  return new Fleet(seed, storeCount).run();
}

class Fleet {
  private readonly random: SeededRandom;
  private readonly time = new SettableTime();
  private readonly stores: readonly CountingStore[];
  private readonly processes: Process[];
  private readonly seen = new Set<bigint>();
  private readonly made = { count: 0, twice: 0, down: 0, afterStop: 0 };
  /** The highest number in a table, the only source for recovery from a flush. */
  private stored = 0n;

  constructor(seed: number, storeCount: number) {
    this.random = new SeededRandom(seed);
    this.stores = Array.from({ length: storeCount }, (_, at) => new CountingStore(`store ${at}`));
    this.processes = Array.from({ length: PROCESS_COUNT }, () => this.begin());
  }

  async run(): Promise<Outcome> {
    const { processes, time, made } = this;
    for (let step = 0; step < 150; step++) {
      const at = this.below(PROCESS_COUNT);
      const event = this.random.pick(this.events);
      await event(processes[at]!, at);
      await time.advance(this.below(50));
    }
    await Promise.all([...processes.map(({ keeper }) => keeper.stop()), time.advance(10_000)]);
    return {
      madeCount: made.count,
      twiceCount: made.twice,
      downCount: this.stores.length === 1 ? made.down : 0,
      afterStopCount: made.afterStop,
    };
  }

  private readonly events: readonly ((process: Process, at: number) => unknown)[] = [
    (process) => this.make(process, this.below(60)),
    (process) => this.make(process, this.below(60)),
    (process) => this.make(process, this.below(60)),
    () => this.store.faults.push('hang'),
    () => this.store.faults.push('lose'),
    () => this.store.faults.push('fail'),
    () => this.store.hanging.shift()?.(),
    () => this.time.advance(this.below(3000)),
    () => (this.time.wallMs += this.below(20_000) - 10_000),
    () => this.random.chance(0.2) && this.forget(this.store),
    () => this.random.chance(0.05) && this.flush(this.store),
    (process, at) => this.restart(process, at),
    (_process, at) => void (this.processes[at] = this.begin()),
  ];

  private below(count: number): number {
    return Math.floor(this.random.next() * count);
  }

  private get store(): CountingStore {
    return this.random.pick(this.stores);
  }

  private begin(): Process {
    const made = kept(this.stores, { ...STEPS, startAt: () => this.stored }, this.time);
    // A process that cannot start generates nothing, as the result shows.
    made.keeper.start().catch(() => undefined);
    return { ...made, last: -1n, isStopped: false };
  }

  private async restart(process: Process, at: number): Promise<void> {
    const stopping = process.keeper.stop();
    process.isStopped = true;
    this.make(process, 5);
    await this.time.advance(4000);
    await stopping;
    this.make(process, 5);
    this.processes[at] = this.begin();
  }

  private make(process: Process, count: number): void {
    for (let at = 0; at < count; at++) {
      try {
        this.note(process, process.generator.nextId());
      } catch (error) {
        if (!isSnowflakeError(error)) throw error;
        return;
      }
    }
  }

  private note(process: Process, id: bigint): void {
    const { made, seen } = this;
    made.count++;
    if (seen.has(id)) made.twice++;
    if (id < process.last) made.down++;
    if (process.isStopped) made.afterStop++;
    seen.add(id);
    process.last = id;
    // A store may be lost before all its numbers reach a table.
    if (id > this.stored && this.random.chance(0.1)) this.stored = id;
  }

  private forget(store: CountingStore): void {
    if (store.next === undefined) return;
    store.next = store.next > 50n ? store.next - BigInt(this.below(50)) : 0n;
    store.hasForgotten = true;
  }

  /** Excludes a second loss without new table rows since the first, which has no guarantee. */
  private flush(store: CountingStore): void {
    const from = (store.lastJump - 1n) * BigInt(this.stores.length) + 1n;
    if (!store.hasForgotten && this.stored >= from) store.next = undefined;
  }
}

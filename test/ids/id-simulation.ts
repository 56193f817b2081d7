/**
 * Processes take IDs of one tag from the same stores, in an order from a seed. Calls hang, fail, or
 * lose their responses; stores lose all data, clocks move back, and processes stop.
 *
 * The simulation searches for a duplicate ID, an ID below one given before its request, an ID that
 * is too old, and an ID after the stop.
 */
import type { CounterStore, TakeAnswer, TakeRequest } from '../../lib/counters/counter-store.js';
import { countedTerms, type IdOptions } from '../../lib/counters/ids/store-ids-options.js';
import { StoreIds } from '../../lib/counters/ids/store-ids.js';
import type { OpenGenerator } from '../../lib/generator.js';
import { CounterMap } from '../models/counter-map.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { turn } from '../../lib/time/timers.js';

// IDs of memory counters in settable time, with faults set by the test: a call hangs, fails, or
// succeeds without a response.

type Fault = 'hang' | 'fail' | 'lose' | TakeAnswer;

export class FaultyCounters implements CounterStore {
  readonly requests: TakeRequest[] = [];
  /** The fates of the next calls in order; later calls get a response. */
  readonly faults: Fault[] = [];
  /** Functions that settle the hanging calls, in order. */
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
    monotonic: { now: () => time.passedMs },
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

/** Started, with a clock at the beginning of the new counter. */
export async function counted(...given: Parameters<typeof opened>): Promise<Counted> {
  const [time, stores] = given;
  const made = await opened(...given);
  const starting = made.generator.start();
  await time.advance(5000);
  await starting;
  for (const store of stores) (store as FaultyCounters).requests.length = 0;
  return made;
}

/** Lets calls of this turn be sent and settled. */
export async function answered(): Promise<void> {
  for (let turns = 0; turns < 4; turns++) await turn();
}

const STEP_COUNT = 150;
const PROCESS_COUNT = 2;
const WINDOW_MS = 300;
const AHEAD_MS = 200;
const STALE_MS = 400;

export interface Outcome {
  readonly idCount: number;
  twiceCount: number;
  downCount: number;
  staleCount: number;
  afterStopCount: number;
}

export async function simulate(seed: number, storeCount: number): Promise<Outcome> {
  return new Simulation(seed, storeCount).run();
}

class Simulation {
  private readonly chance: SeededRandom;
  private readonly time = new SettableTime();
  private readonly startMs = this.time.now();
  private readonly stores: FaultyCounters[];
  private readonly given = new Set<bigint>();
  private readonly isOne: boolean;
  private highest = 0n;
  private count = 0;
  private readonly wrong = { twiceCount: 0, downCount: 0, staleCount: 0, afterStopCount: 0 };

  constructor(seed: number, storeCount: number) {
    this.chance = new SeededRandom(seed);
    this.isOne = storeCount === 1;
    const storeAt = (_: unknown, at: number) =>
      new FaultyCounters(this.time, WINDOW_MS, `store ${at}`);
    this.stores = Array.from({ length: storeCount }, storeAt);
  }

  async run(): Promise<Outcome> {
    const prefetch = { count: 20, staleMs: STALE_MS };
    const options = { prefetch, aheadMs: AHEAD_MS };
    const processes: OpenGenerator[] = [];
    for (let count = 0; count < PROCESS_COUNT; count++) {
      const { generator } = await opened(this.time, this.stores, options);
      processes.push(generator);
      const starting = generator.start();
      await this.time.advance(2 * (WINDOW_MS + AHEAD_MS));
      await starting;
    }
    for (let step = 0; step < STEP_COUNT; step++) {
      const generator = processes[this.draw(PROCESS_COUNT)]!;
      if (this.chance.chance(0.5)) this.take(generator);
      else void this.ask(generator);
      if (this.chance.chance(0.2)) this.befall();
      // Sometimes no process needs an ID for longer than buffered IDs may be kept.
      await this.time.advance(this.chance.chance(0.02) ? 3000 : this.draw(20));
    }
    for (const generator of processes) {
      void this.ask(generator);
      await this.time.advance(0);
      await generator.stop();
      if (this.isMade(generator)) this.wrong.afterStopCount++;
      // Calls in flight are settled.
      for (const store of this.stores) for (const settle of store.hanging.splice(0)) settle();
      await this.time.advance(10);
      if (this.isMade(generator)) this.wrong.afterStopCount++;
    }
    return { idCount: this.count, ...this.wrong };
  }

  /** IDs for immediate use; the buffer belongs to this process only. */
  private take({ source, layout }: OpenGenerator): void {
    const length = 1 + this.draw(8);
    try {
      for (const id of source.nextIds(length)) {
        this.note(id);
        // The oldest time of a buffered ID; store IDs run ahead but never behind.
        const oldestMs = this.time.passedMs - STALE_MS - 2000;
        if (layout!.parse(id).timestampMs - this.startMs < oldestMs) this.wrong.staleCount++;
      }
    } catch {
      // Without buffered IDs.
    }
  }

  private async ask(generator: OpenGenerator): Promise<void> {
    const { highest } = this;
    try {
      for (const id of await generator.line!.nextMany(1 + this.draw(4), {})) {
        if (this.isOne && id <= highest) this.wrong.downCount++;
        this.note(id);
        if (id > this.highest) this.highest = id;
      }
    } catch {
      // The process has stopped.
    }
  }

  private befall(): void {
    const store = this.stores[this.draw(this.stores.length)]!;
    const what = this.draw(7);
    if (what === 0) store.faults.push('hang');
    if (what === 1) store.faults.push('fail');
    if (what === 2) store.faults.push('lose');
    if (what === 3 || what === 4) store.hanging.shift()?.();
    if (what === 5 && this.chance.chance(0.2)) store.map = new CounterMap();
    if (what === 6) this.time.wallMs -= this.draw(50);
  }

  private isMade({ source }: OpenGenerator): boolean {
    try {
      return source.nextId() > 0n;
    } catch {
      return false;
    }
  }

  private note(id: bigint): void {
    this.count++;
    if (this.given.has(id)) this.wrong.twiceCount++;
    this.given.add(id);
  }

  private draw(count: number): number {
    return Math.floor(this.chance.next() * count);
  }
}

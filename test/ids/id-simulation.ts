/**
 * Processes that take ids of the same tag from the same stores, in an order that a seed draws:
 * calls hang, fail and lose their answers, stores forget everything, clocks go back, and all stop.
 *
 * What it looks for: an id that came twice, one below another that was given before it was asked
 * for, one taken too long ago, one after the stop.
 */
import type { OpenGenerator } from '../../lib/generator.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { CounterMap } from '../../lib/stores/memory/memory-counters.js';
import { FaultyCounters, opened } from './counted.js';

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
      // Now and then nobody wants an id for longer than those buffered may be kept.
      await this.time.advance(this.chance.chance(0.02) ? 3000 : this.draw(20));
    }
    for (const generator of processes) {
      void this.ask(generator);
      await this.time.advance(0);
      await generator.stop();
      if (this.isMade(generator)) this.wrong.afterStopCount++;
      // What was on its way comes in.
      for (const store of this.stores) for (const settle of store.hanging.splice(0)) settle();
      await this.time.advance(10);
      if (this.isMade(generator)) this.wrong.afterStopCount++;
    }
    return { idCount: this.count, ...this.wrong };
  }

  /** Ids at once; what is buffered is of this process alone. */
  private take({ source, layout }: OpenGenerator): void {
    const length = 1 + this.draw(8);
    try {
      for (const id of source.nextIds(length)) {
        this.note(id);
        // Taken from a store no longer ago than that, whose ids run ahead but never behind.
        const oldestMs = this.time.passedMs - STALE_MS - 2000;
        if (layout!.parse(id).timestampMs - this.startMs < oldestMs) this.wrong.staleCount++;
      }
    } catch {
      // None buffered.
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
      // It has stopped.
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

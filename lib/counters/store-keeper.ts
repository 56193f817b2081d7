/**
 * The stores of one generator, which take turns, and the state that it reports.
 *
 * Guarantee: a store that fails to close keeps none of the others open.
 */
import type { GeneratorEnvironment, GeneratorListener, GeneratorState } from '../generator.js';
import { CallRecord, closedAfterLastCall } from '../time/call-record.js';
import { withinLimit } from '../time/timers.js';
import type { CounterClient } from './counter-client.js';
import type { CounterStore } from './counter-store.js';

/** The time limit for closing the connections. */
const CLOSE_MS = 1000;

export abstract class StoreKeeper<S extends CounterClient> {
  protected stores: readonly S[] = [];
  protected readonly calls = new CallRecord();
  protected readonly stopping = new AbortController();
  protected listener: GeneratorListener | undefined;
  /** The index of the store that is asked next. */
  private turn = 0;
  private lastState: GeneratorState = 'unassigned';

  constructor(protected readonly environment: GeneratorEnvironment) {}

  abstract get state(): GeneratorState;

  /** The locations of all stores, each named once. */
  get location(): string {
    return [...new Set(this.stores.map(({ location }) => location))].join(', ');
  }

  listen(listener: GeneratorListener): void {
    this.listener = listener;
  }

  async advice(): Promise<string[]> {
    const advice = await Promise.all(this.stores.map(async ({ store }) => store.advice?.()));
    return advice.flatMap((texts) => texts ?? []);
  }

  /** @param open is given the place of the store among all, from 1 on */
  protected open(stores: readonly CounterStore[], open: (store: CounterStore, place: number) => S) {
    this.stores = stores.map((store, at) => open(closedAfterLastCall(store), at + 1));
    // Processes begin with different stores.
    this.turn = Math.floor(this.environment.random() * stores.length);
  }

  /** Each store once, the next one first. */
  protected inTurn(): readonly S[] {
    return [...this.stores.slice(this.turn), ...this.stores.slice(0, this.turn)];
  }

  protected passOn(asked: S): void {
    this.turn = (this.stores.indexOf(asked) + 1) % this.stores.length;
  }

  protected async close(): Promise<void> {
    const { timers } = this.environment;
    const closing = Promise.allSettled(this.stores.map(async ({ store }) => store.close?.()));
    await withinLimit(closing, { timers, ms: CLOSE_MS, over: () => [] });
  }

  protected report(reason: string): void {
    const [from, to] = [this.lastState, this.state];
    if (from === to) return;
    this.lastState = to;
    this.listener?.changed({ from, to, reason });
  }
}

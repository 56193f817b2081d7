/**
 * Counters in any store of rows with compare-and-swap: read the row, apply the rule, write what it
 * says, and begin again where somebody else was faster.
 *
 * Promise: the contract of CounterStore in full, by the rules of every counter.
 */
import { randomUUID } from 'node:crypto';
import type { KeyedRows } from '../registry/keyed-rows.js';
import type { RefusedWrites } from '../registry/refused-writes.js';
import { RowTurns, type RowTurnsParts } from '../registry/row-turns.js';
import { checkNew, checkTake } from './check-take.js';
import type { CounterHeader, CounterReading, CounterSlice, CounterStep } from './counter-slice.js';
import type {
  CounterRecord,
  CounterStore,
  NewCounter,
  TakeAnswer,
  TakeRequest,
} from './counter-store.js';
import { counterOf, counterText } from './counter-text.js';
import { counterRecords } from './counter-view.js';
import { createCounter } from './create-counter.js';
import { giveBack } from './give-back.js';
import { namedGrant } from './grant-text.js';
import { take } from './take.js';

type Rule<T> = (slice: CounterSlice, reading: CounterReading) => CounterStep<T>;

export class RowCounters implements CounterStore {
  readonly place: string;
  readonly lossWindowMs: number;
  readonly #rows: KeyedRows;
  readonly #turns: RowTurns;

  constructor(rows: KeyedRows, parts?: RowTurnsParts) {
    this.#rows = rows;
    this.#turns = new RowTurns(rows.place, parts);
    this.place = rows.place;
    this.lossWindowMs = rows.lossWindowMs;
  }

  async take(request: TakeRequest): Promise<TakeAnswer> {
    checkTake(request);
    return this.#inTurn(request.counter, (slice, reading) => take(slice, request, reading));
  }

  async giveBack(grant: string, unused: bigint): Promise<void> {
    const named = namedGrant(grant);
    if (named === undefined) return;
    const given = { ...named, unused };
    await this.#inTurn(named.counter, (slice, reading) => giveBack(slice, given, reading));
  }

  async create(counter: NewCounter): Promise<boolean> {
    checkNew(counter);
    return this.#inTurn(counter.counter, (slice, reading) =>
      createCounter(slice, counter, reading),
    );
  }

  async counters(): Promise<CounterRecord[]> {
    const { timeMs, rows } = await this.#rows.readAll();
    const named = rows.map((stored) => ({ counter: stored.key, ...counterOf(stored) }));
    const { clock } = this.#rows;
    return counterRecords(named, { timeMs, ...(clock && { clock }) });
  }

  async advice(): Promise<string[]> {
    return (await this.#rows.advice?.()) ?? [];
  }

  async close(): Promise<void> {
    await this.#rows.close?.();
  }

  #inTurn<T>(counter: string, rule: Rule<T>): Promise<T> {
    return this.#turns.run(counter, (refused) => this.#attempt(counter, rule, refused));
  }

  /** Undefined where somebody else was faster. */
  async #attempt<T>(
    counter: string,
    rule: Rule<T>,
    refused: RefusedWrites,
  ): Promise<{ answer: T } | undefined> {
    const { timeMs, server, isPutBack, rows } = await this.#rows.read([counter]);
    const [stored] = rows;
    const read = stored && counterOf(stored);
    const { clock } = this.#rows;
    const { lossWindowMs } = this;
    const random = randomUUID();
    const reading = { timeMs, server, isPutBack, random, lossWindowMs, ...(clock && { clock }) };
    const step = rule({ header: read?.header, row: read?.row }, reading);
    const { answer, header = read?.header, row = read?.row } = step;
    if (header === undefined || row === undefined) return { answer };
    if (row === read?.row && !isWorthWriting(read.header, header)) return { answer };
    const text = counterText(header, row);
    const version = stored?.version;
    const write = { key: counter, number: row.next, text, version, server };
    const isWritten = await this.#rows.write(write);
    if (isWritten === false) refused.note(version, server);
    return isWritten === true ? { answer } : undefined;
  }
}

/** Who is told to wait has changed nothing but the time; one that went back must be known. */
function isWorthWriting(stored: CounterHeader, next: CounterHeader): boolean {
  return stored.era !== next.era || next.lastTimeMs < stored.lastTimeMs;
}

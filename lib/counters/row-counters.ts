/**
 * Counters in any store of rows with compare-and-swap: read the row, apply the rule, write what it
 * says, and begin again where somebody else was faster.
 *
 * Guarantee: the contract of CounterStore in full, by the rules of every counter.
 */
import { randomUUID } from 'node:crypto';
import { SnowflakeError } from '../errors.js';
import type { KeyedRow, KeyedRows } from '../rows/row-store.js';
import { CasRetry, type RefusedWrites, type RowTurnsParts } from '../rows/cas-retry.js';
import { fieldsIn, isWhole, numberIn } from '../rows/stored-fields.js';
import { checkNew, checkTake } from './check-take.js';
import { createCounter, giveBack, take } from './counter-rules.js';
import type {
  CounterHeader,
  CounterReading,
  CounterRow,
  CounterSlice,
  CounterStep,
} from './counter-slice.js';
import {
  type CounterRecord,
  type CounterStore,
  type NewCounter,
  type TakeAnswer,
  type TakeRequest,
  counterRecords,
  namedGrant,
} from './counter-store.js';

type Rule<T> = (slice: CounterSlice, reading: CounterReading) => CounterStep<T>;

/** Counters around a store of rows of your own. */
export class RowCounters implements CounterStore {
  readonly location: string;
  readonly lossWindowMs: number;
  readonly #rows: KeyedRows;
  readonly #turns: CasRetry;

  constructor(rows: KeyedRows, parts?: RowTurnsParts) {
    this.#rows = rows;
    this.#turns = new CasRetry(rows.location, parts);
    this.location = rows.location;
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

/*
 * A counter and the moment it was written in as the text that a store keeps, and back.
 *
 * Guarantee: what cannot be read is refused, never taken for a counter that begins.
 */

/** Of the protocol. A counter that is kept by another one is left alone. */
const VERSION = '1';

interface CounterOfRow {
  readonly header: CounterHeader;
  readonly row: CounterRow;
}

function counterText(header: CounterHeader, row: CounterRow): string {
  const { next: _, margin, windowCount, era, ...rest } = row;
  const amounts = { margin: String(margin), windowCount: String(windowCount), counterEra: era };
  return JSON.stringify({ version: VERSION, ...header, ...rest, ...amounts });
}

const NUMBERS = ['lastTimeMs', 'slewMs', 'era', 'counterEra', 'readyAtMs', 'windowAtMs'] as const;
const TEXTS = ['incarnation', 'server', 'form', 'grant'] as const;
const AMOUNTS = ['margin', 'windowCount'] as const;

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
function counterOf({ number: next, text }: Omit<KeyedRow, 'key'>): CounterOfRow {
  const fields = fieldsIn(text);
  const isCounter =
    fields['version'] === VERSION &&
    isWhole(fields, TEXTS, NUMBERS) &&
    AMOUNTS.every((name) => numberIn(fields[name]) !== undefined);
  if (!isCounter || next < 0n) throw unreadable(fields['version']);
  const whole = fields as Record<(typeof NUMBERS)[number], number> &
    Record<(typeof TEXTS | typeof AMOUNTS)[number], string>;
  const { incarnation, server, lastTimeMs, slewMs, era } = whole;
  const { form, counterEra, readyAtMs, windowAtMs, grant } = whole;
  const [margin, windowCount] = [BigInt(whole.margin), BigInt(whole.windowCount)];
  return {
    header: { incarnation, server, lastTimeMs, slewMs, era },
    row: { form, next, era: counterEra, margin, readyAtMs, windowAtMs, windowCount, grant },
  };
}

function unreadable(version: unknown): SnowflakeError {
  const isOther = typeof version === 'string' && version !== VERSION;
  const message = isOther
    ? 'The counter has a protocol version that this package does not know. Nothing was changed. ' +
      'Use one version of nestjs-snowflake for it.'
    : 'The row of the counter cannot be read: somebody else wrote into it. Nothing is granted ' +
      'from it. Restore the row, or delete it and create the counter above every number in use.';
  return new SnowflakeError('STORE_UNAVAILABLE', message, { retryable: false });
}

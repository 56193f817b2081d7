/**
 * Counters in any store of rows with compare-and-swap: each operation reads the row, applies the
 * rule and writes the result, and starts over if another process was faster.
 *
 * Guarantee: the contract of CounterStore in full, by the rules of every counter.
 */
import { SnowflakeError } from '../errors.js';
import { isNews, RowOperations } from '../rows/cas-retry.js';
import { fieldsIn, isWhole, numberIn, type Row } from '../rows/row-store.js';
import { nowAt, nowOf } from '../rows/store-clock.js';
import { checkNew, checkTake, createCounter, giveBack, take } from './counter-rules.js';
import {
  counterRecords,
  namedGrant,
  type CounterHeader,
  type CounterReading,
  type CounterRow,
  type CounterSnapshot,
  type CounterStep,
  type CounterRecord,
  type CounterStore,
  type NewCounter,
  type TakeAnswer,
  type TakeRequest,
} from './counter-store.js';

type Rule<T> = (snapshot: CounterSnapshot, reading: CounterReading) => CounterStep<T>;

/**
 * Counters in a store of your own.
 *
 * @throws SnowflakeError what the store throws; STORE_UNAVAILABLE where others change what it read
 * again and again.
 */
export class RowCounters extends RowOperations implements CounterStore {
  async take(request: TakeRequest): Promise<TakeAnswer> {
    checkTake(request);
    return this.#changed(request.counter, (snapshot, reading) => {
      const step = take(snapshot, request, reading);
      const { answer } = step;
      if (answer.status !== 'wait') return step;
      return { ...step, answer: { ...answer, waitMs: this.again.ms(answer.waitMs, reading, 0) } };
    });
  }

  async giveBack(grant: string, unused: bigint): Promise<void> {
    const named = namedGrant(grant);
    if (named === undefined) return;
    const given = { ...named, unused };
    await this.#changed(named.counter, (snapshot, reading) => giveBack(snapshot, given, reading));
  }

  async create(counter: NewCounter): Promise<boolean> {
    checkNew(counter);
    return this.#changed(counter.counter, (snapshot, reading) =>
      createCounter(snapshot, counter, reading),
    );
  }

  async counters(): Promise<CounterRecord[]> {
    const { timeMs, rows } = await this.rows.readAll();
    const named = rows.map((stored) => ({ counter: stored.key, ...counterOf(stored) }));
    return counterRecords(named, { timeMs, ...this.clock });
  }

  #changed<T>(counter: string, rule: Rule<T>): Promise<T> {
    let begun: CounterStep<T> | undefined;
    return this.inTurn([counter], async ({ rows, reading, refused }) => {
      const stored = rows.find(({ key }) => key === counter);
      const read = stored && counterOf(stored);
      const known = read && asSeen(read, reading);
      const step = begun ?? rule({ header: read?.header, row: known }, reading);
      const { answer, header = read?.header, row = known } = step;
      if (header === undefined || row === undefined) return { answer };
      // An answer to wait changes nothing but the time; only a time that went back must be stored.
      if (row === read?.row && !isNews(read.header, header, Infinity)) return { answer };
      const { server } = reading;
      const version = stored?.version;
      // The write may come long after the read, so the next read is the first to see it stored.
      const isChanged = row.era !== known?.era || row.margin !== known.margin;
      const isUnseen = isChanged && row.readyAtMs > nowOf(header);
      const text = counterText({ header, row, isUnseen });
      const next = { key: counter, number: row.next, text };
      const rests = { server, headerVersion: undefined, headerNumber: 0n };
      const isWritten = await this.rows.write({ ...rests, rows: [{ row: next, version }] });
      if (isWritten === false) refused.note(version, server);
      if (isWritten === true && isUnseen) begun = { answer };
      return isWritten === true && !isUnseen ? { answer } : undefined;
    });
  }
}

/** A counter that waits until it can no longer be lost does so from a read that finds it stored. */
function asSeen({ header, row, isUnseen }: CounterOfRow, reading: CounterReading): CounterRow {
  if (!isUnseen) return row;
  return { ...row, readyAtMs: nowAt(header, reading) + reading.lossWindowMs };
}

/*
 * Encodes a counter, with the header of its time, as the text that a store keeps, and parses it.
 *
 * Guarantee: a text that cannot be read is refused, and never taken for a new counter.
 */

/** The version of the protocol. A counter of another version is left alone. */
const VERSION = '1';

interface CounterOfRow {
  readonly header: CounterHeader;
  readonly row: CounterRow;
  /** True until a process has read it since it began to wait. */
  readonly isUnseen: boolean;
}

function counterText({ header, row, isUnseen }: CounterOfRow): string {
  const { next: _, margin, windowCount, era, ...rest } = row;
  const amounts = { margin: String(margin), windowCount: String(windowCount), counterEra: era };
  const flag = isUnseen ? { unseen: true } : {};
  return JSON.stringify({ version: VERSION, ...header, ...rest, ...amounts, ...flag });
}

const NUMBERS = ['lastTimeMs', 'slewMs', 'era', 'counterEra', 'readyAtMs', 'windowAtMs'] as const;
const TEXTS = ['incarnation', 'server', 'form', 'grant'] as const;
const AMOUNTS = ['margin', 'windowCount'] as const;

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
function counterOf({ number: next, text }: Pick<Row, 'number' | 'text'>): CounterOfRow {
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
    isUnseen: fields['unseen'] === true,
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

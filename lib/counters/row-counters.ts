/**
 * Counters in any store of rows with compare-and-swap. Each operation reads the row, applies the
 * rule, and writes the result. It starts over if another process was faster.
 *
 * Guarantee: the full contract of CounterStore, with the same rules as in every store.
 */
import { isNews, RowOperations } from '../rows/cas-retry.js';
import {
  formText,
  readForm,
  type Row,
  type StoreReading,
  type TextForm,
} from '../rows/row-store.js';
import { nowAt, nowOf } from '../rows/store-clock.js';
import { checkNew, checkTake, createCounter, giveBack, take } from './counter-rules.js';
import {
  counterRecords,
  namedGrant,
  type CounterHeader,
  type CounterRow,
  type CounterSnapshot,
  type CounterStep,
  type CounterRecord,
  type CounterStore,
  type NewCounter,
  type TakeAnswer,
  type TakeRequest,
} from './counter-store.js';

/**
 * Counters in a store of your own.
 *
 * @throws SnowflakeError the store's errors; STORE_UNAVAILABLE if other processes keep changing the
 * rows that it read.
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

  #changed<T>(
    counter: string,
    rule: (snapshot: CounterSnapshot, reading: StoreReading) => CounterStep<T>,
  ): Promise<T> {
    let begun: CounterStep<T> | undefined;
    return this.inTurn([counter], async ({ rows, reading, refused }) => {
      const stored = rows.find(({ key }) => key === counter);
      const read = stored && counterOf(stored);
      // A changed counter waits from the first read that finds it stored, until no loss can undo
      // it.
      const known = read?.isUnseen
        ? { ...read.row, readyAtMs: nowAt(read.header, reading) + reading.lossWindowMs }
        : read?.row;
      const step = begun ?? rule({ header: read?.header, row: known }, reading);
      const { answer, header = read?.header, row = known } = step;
      if (header === undefined || row === undefined) return { answer };
      // A 'wait' response changes only the time; only a time that moved back must be stored.
      if (row === read?.row && !isNews(read.header, header, Infinity)) return { answer };
      const { server } = reading;
      const version = stored?.version;
      // The write may come long after the read, so only the next read proves that it is stored.
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

/* Converts a counter, with the header of its time, to and from the text that a store keeps. */

interface CounterOfRow {
  readonly header: CounterHeader;
  readonly row: CounterRow;
  /** True until a process reads the counter after its wait begins. */
  readonly isUnseen: boolean;
}

function counterText({ header, row, isUnseen }: CounterOfRow): string {
  const { next: _, margin, windowCount, era: counterEra, ...rest } = row;
  const flag = isUnseen ? { unseen: true } : {};
  return formText({ ...header, ...rest, margin, windowCount, counterEra, ...flag });
}

const COUNTER: TextForm = {
  texts: ['incarnation', 'server', 'form', 'grant'],
  numbers: ['lastTimeMs', 'slewMs', 'era', 'counterEra', 'readyAtMs', 'windowAtMs'],
  bigints: ['margin', 'windowCount'],
  whose: 'The counter has',
  advice:
    'The row of the counter cannot be read: somebody else wrote into it. Nothing is granted ' +
    'from it. Restore the row, or delete it and create the counter above every number in use.',
};

type CounterFields = CounterHeader & CounterRow & { counterEra: number; unseen?: unknown };

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable */
function counterOf({ number: next, text }: Pick<Row, 'number' | 'text'>): CounterOfRow {
  const fields = readForm<CounterFields>(next < 0n ? '' : text, COUNTER);
  const { incarnation, server, lastTimeMs, slewMs, era, counterEra, unseen } = fields;
  const { form, margin, readyAtMs, windowAtMs, windowCount, grant } = fields;
  return {
    header: { incarnation, server, lastTimeMs, slewMs, era },
    row: { form, next, era: counterEra, margin, readyAtMs, windowAtMs, windowCount, grant },
    isUnseen: unseen === true,
  };
}

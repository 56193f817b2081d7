/**
 * series({...}): numbers that start again with each day, month or year, as texts.
 *
 * Promise: no text is given twice. The counter is named after the period, so a wrong clock picks
 * another day and never the same number.
 */
import { unknownNames } from '../../option-faults.js';
import type { CounterStore } from '../counter-store.js';
import { bigFaults, isCounterStore } from '../store-faults.js';
import { refusal } from '../asking/store-texts.js';
import {
  FORM_OPTIONS,
  SeriesForm,
  type SeriesFormOptions,
  type SeriesParts,
} from './series-form.js';

/** What helps where a period has to be waited for often. */
const WAIT_CURE = 'If this lasts, raise `skip`.';

/** Options of series(). */
export interface SeriesOptions extends SeriesFormOptions {
  /** One that loses no data, such as `sqlCounters({ ..., replicated: false })`. */
  readonly store: CounterStore;
  /** How far a period jumps once its store is found to have lost data. Default 1000. */
  readonly skip?: bigint | undefined;
}

/** Texts that are numbered without repetition, such as INV-20261121-000123. */
export interface Series {
  /** The next text, by one call to the store. @throws SnowflakeError of the store; COUNTER_FULL */
  next(): Promise<string>;
  /** Takes a text apart. @throws SnowflakeError ID_INVALID */
  parse(text: string): SeriesParts;
  /** Puts a text together. @throws SnowflakeError ARGUMENT_INVALID, COUNTER_FULL */
  textOf(parts: SeriesParts): string;
}

/**
 * Numbers such as INV-20261121-000123, which start again with each period. A number may be missing
 * where a process ended between taking it and using it; for a series without gaps see
 * `gaplessSeries` of nestjs-snowflake/sql.
 *
 * @throws SnowflakeError CONFIG_INVALID with every fault, such as a time zone that is not known, or
 * a store that can lose data: a period that is lost would start again.
 * @example
 * ```ts
 * import { MemoryCounters } from 'nestjs-snowflake';
 * import { series } from 'nestjs-snowflake/segments';
 *
 * const invoices = series({
 *   store: new MemoryCounters(),
 *   name: 'invoice',
 *   period: 'day',
 *   timeZone: 'Asia/Shanghai',
 *   form: 'INV-{date}-{000000}',
 * });
 * const text: string = await invoices.next();
 * ```
 */
export function series(options: SeriesOptions): Series {
  const strangers = unknownNames(options, `store, skip, ${FORM_OPTIONS}`, 'series()');
  const { store, skip = 1000n } = options;
  const form = new SeriesForm(options, [
    ...strangers,
    ...losingFaults(store),
    ...bigFaults('skip', skip, 1n),
  ]);
  const taker = new PeriodTaker(store, form, BigInt(skip));
  return {
    next: async () => {
      const { period } = form;
      return form.text({ period, number: await taker.take(period) });
    },
    parse: (text) => form.parse(text),
    textOf: (parts) => form.text(parts),
  };
}

class PeriodTaker {
  /** Of the period asked for last; that of any other is what the store remembers. */
  private known = { period: '', have: 0n };

  constructor(
    private readonly store: CounterStore,
    private readonly form: SeriesForm,
    private readonly skip: bigint,
  ) {}

  async take(period: string): Promise<number> {
    const counter = `${this.form.name}/${period}`;
    const have = this.known.period === period ? this.known.have : 0n;
    const request = { kind: 'dense', counter, count: 1n, have, skip: this.skip } as const;
    const answer = await this.store.take({ ...request, startAt: 1n });
    const place = this.store.place ?? 'the store of counters';
    if (answer.status !== 'ok') throw refusal({ counter, place }, answer, WAIT_CURE);
    const { first, end } = answer;
    const isFirst = this.known.period !== period || end > this.known.have;
    if (isFirst) this.known = { period, have: end };
    return Number(first);
  }
}

function losingFaults(store: CounterStore): string[] {
  if (isCounterStore(store) && store.lossWindowMs === 0) return [];
  return [
    'Expected `store` to be a store of counters that loses no data, such as ' +
      'sqlCounters({ ..., replicated: false }): each period begins at 1, and one that its store ' +
      'has lost would begin there again.',
  ];
}

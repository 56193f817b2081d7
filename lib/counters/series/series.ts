/**
 * series({...}): numbers that restart each day, month, or year, as strings.
 *
 * Guarantee: no duplicate string. The counter's name contains the period, so a wrong clock selects
 * another day but never the same number.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import { SnowflakeError } from '../../errors.js';
import { format, formatShort } from '../../messages.js';
import {
  checkedOptions,
  choice,
  methods,
  named,
  TIMER_METHODS,
  whole,
  type Completed,
  type OptionTable,
} from '../../options.js';
import { systemTimers, withinLimit, type Timers } from '../../time/timers.js';
import { refusal, silent } from '../counter-client.js';
import { bigFaults, isCounterStore, type CounterStore } from '../counter-store.js';

/** Advice for periods that often cause a wait. */
const WAIT_ADVICE = 'If this lasts, raise `lossGap`.';
/** Longer than a call waits for an earlier call on a dead connection. */
const CALL_TIMEOUT_MS = 10_000;

/** Options of series(). */
export interface SeriesOptions extends SeriesFormOptions {
  /** A store that loses no data, such as `sqlCounters({ ..., replicated: false })`. */
  readonly store: CounterStore;
  /** How far a period jumps after its store has lost data. Default 1000. */
  readonly lossGap?: bigint | undefined;
  /** How long next() waits for the store; a later response leaves a gap. Default 10 s. */
  readonly callTimeoutMs?: number | undefined;
  /** Sets timers; for tests. */
  readonly timers?: Timers | undefined;
}

/** Strings numbered without duplicates, such as INV-20261121-000123. */
export interface Series {
  /** Returns the next string, with one store call. @throws SnowflakeError, such as COUNTER_FULL */
  next(): Promise<string>;
  /** Splits a string into its parts. @throws SnowflakeError ID_INVALID */
  parse(text: string): SeriesParts;
  /** Composes a string from its parts. @throws SnowflakeError ARGUMENT_INVALID, COUNTER_FULL */
  textOf(parts: SeriesParts): string;
}

/**
 * Numbers such as INV-20261121-000123, which restart with each period. A number may be missing if a
 * process ended after taking it and before using it. For a series without gaps see `gaplessSeries`
 * of nestjs-snowflake/sql.
 *
 * @throws SnowflakeError CONFIG_INVALID with every error, such as an unknown time zone, or a store
 * that can lose data, because a lost period would restart.
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
  const terms = checkedOptions(options, SERIES, 'series()');
  const { store, lossGap, callTimeoutMs: ms, timers } = terms;
  const form = new SeriesForm(terms);
  const locationOf = () => store.location ?? 'the store of counters';
  const over = (): never => {
    throw silent(locationOf(), ms);
  };
  /** The end of the most recent period; the store keeps the ends of all others. */
  let known = { period: '', have: 0n };
  const take = async (period: string): Promise<number> => {
    const counter = `${terms.name}/${period}`;
    const have = known.period === period ? known.have : 0n;
    const request = { kind: 'dense', counter, count: 1n, have, lossGap: BigInt(lossGap) } as const;
    const answer = await store.take({ ...request, startAt: 1n });
    const location = locationOf();
    if (answer.status !== 'ok') throw refusal({ counter, location }, answer, WAIT_ADVICE);
    const { first, end } = answer;
    if (known.period !== period || end > known.have) known = { period, have: end };
    return Number(first);
  };
  return {
    next: async () => {
      const { period } = form;
      const number = await withinLimit(take(period), { timers, ms, over });
      return form.text({ period, number });
    },
    parse: (text) => form.parse(text),
    textOf: (parts) => form.text(parts),
  };
}

function losingFaults(_: string, store: unknown): string[] {
  if (isCounterStore(store) && store.lossWindowMs === 0) return [];
  return [
    'Expected `store` to be a store of counters that loses no data, such as ' +
      'sqlCounters({ ..., replicated: false }). Each period begins at 1, and one that its store ' +
      'has lost would begin there again.',
  ];
}

/*
 * Converts between numbers of a series and strings: `INV-{date}-{000000}` and INV-20261121-000123.
 *
 * Guarantee: a string reads as exactly the period and number from which it was written. A number
 * that does not fit its digits is refused, never truncated or extended.
 */

/** How the strings of a series look, and when its numbers restart. */
export interface SeriesFormOptions {
  /** The name of the series, e.g. `invoice`: 1 to 100 characters without spaces, / and |. */
  readonly name: string;
  /** When the series restarts at 1. */
  readonly period: Period;
  /** The time zone of the periods, from the IANA database: 'Asia/Shanghai'. */
  readonly timeZone: string;
  /** `{date}` is the period (yyyyMMdd, yyyyMM or yyyy), zeros in braces are the number. */
  readonly form: string;
  /** The clock that determines the period. Default: the clock of the host. */
  readonly clock?: Clock | undefined;
}

const NAME = { of: 'characters without spaces, / and |', without: /[\s\p{C}|/]/u, lengthMax: 100 };
/** How many of the digits yyyyMMdd name a period. */
const PERIOD_DIGITS: { readonly [period in Period]: number } = { day: 8, month: 6, year: 4 };
export const SERIES_FORM = {
  name: [named(NAME)],
  period: [choice(...Object.keys(PERIOD_DIGITS))],
  timeZone: [zoneFaults],
  form: [(_, form) => (partsOf(form) === undefined ? [formFault(form)] : [])],
  clock: [methods('now'), systemClock],
} satisfies OptionTable<SeriesFormOptions>;

export const SERIES = {
  ...SERIES_FORM,
  store: [losingFaults],
  lossGap: [(name, value) => bigFaults(name, value, 1n), 1000n],
  callTimeoutMs: [whole(10, 60_000), CALL_TIMEOUT_MS],
  timers: [methods(...TIMER_METHODS), systemTimers],
} satisfies OptionTable<SeriesOptions>;

/** The parts of a string of a series. */
export interface SeriesParts {
  /** The digits of the period, e.g. `20261121`. */
  readonly period: string;
  /** At least 1. */
  readonly number: number;
}

const WIDTH_MAX = 15;

export class SeriesForm {
  private readonly literals: readonly [before: string, between: string, after: string];
  private readonly width: number;
  private readonly periodDigits: number;
  private readonly pattern: RegExp;
  private readonly dates: Intl.DateTimeFormat;

  constructor(private readonly terms: Completed<SeriesFormOptions, typeof SERIES_FORM>) {
    const { period, timeZone, form } = terms;
    const [before, between, zeros, after] = partsOf(form)!;
    this.dates = dateIn(timeZone);
    this.literals = [before, between, after];
    this.width = zeros.length;
    this.periodDigits = PERIOD_DIGITS[period];
    const digits = `(\\d{${this.periodDigits}})${escaped(between)}(\\d{${this.width}})`;
    this.pattern = new RegExp(`^${escaped(before)}${digits}${escaped(after)}$`);
  }

  /** The current period. */
  get period(): string {
    const found = this.dates.formatToParts(this.terms.clock.now());
    const part = (type: string) => found.find((each) => each.type === type)?.value ?? '';
    const digits = `${part('year').padStart(4, '0')}${part('month')}${part('day')}`;
    return digits.slice(0, this.periodDigits);
  }

  /** @throws SnowflakeError COUNTER_FULL for a number that does not fit its digits */
  text({ period, number }: SeriesParts): string {
    const [before, between, after] = this.literals;
    const digits = String(number).padStart(this.width, '0');
    const isPeriod = /^\d+$/.test(period) && period.length === this.periodDigits;
    if (!isPeriod || !Number.isSafeInteger(number) || number < 1) {
      throw new SnowflakeError(
        'ARGUMENT_INVALID',
        `Expected a period of this series and a whole number from 1 up, got ${format(period)} ` +
          `and ${format(number)}.`,
      );
    }
    if (digits.length > this.width) {
      throw new SnowflakeError(
        'COUNTER_FULL',
        `The series ${this.terms.name} has used all numbers of ${this.width} digits in ` +
          `${period}. A wider form is another series: texts of two widths do not sort, and are ` +
          `not read alike.`,
        { details: { period } },
      );
    }
    return `${before}${period}${between}${digits}${after}`;
  }

  /** @throws SnowflakeError ID_INVALID for a string that does not belong to this series */
  parse(text: string): SeriesParts {
    const [, period, digits] = (typeof text === 'string' && this.pattern.exec(text)) || [];
    const number = Number(digits);
    if (period !== undefined && number > 0) return { period, number };
    const example = this.text({ period: '20261121'.slice(0, this.periodDigits), number: 1 });
    throw new SnowflakeError(
      'ID_INVALID',
      `Expected a text of the series ${this.terms.name}, such as ${example}, got ` +
        `${formatShort(text)}.`,
      { details: { value: text } },
    );
  }
}

/** The name of a counter is this name plus the period. */

function partsOf(form: unknown): [string, string, string, string] | undefined {
  const [, before = '', between = '', zeros = '', after = ''] =
    /^([^{}]*)\{date\}([^{}]*)\{(0+)\}([^{}]*)$/.exec(typeof form === 'string' ? form : '') ?? [];
  const isForm = zeros.length > 0 && zeros.length <= WIDTH_MAX;
  return isForm ? [before, between, zeros, after] : undefined;
}

function formFault(form: unknown): string {
  return (
    `Expected \`form\` to hold {date} and after it 1 to ${WIDTH_MAX} zeros in braces, such as ` +
    `'INV-{date}-{000000}', got ${format(form)}.`
  );
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/*
 * The day, month, or year in a time zone, in which a series counts from 1.
 *
 * Guarantee: the calendar is the Gregorian one with Latin digits, whatever the locale of the host.
 */

/** When the numbers of a series restart at 1. */
export type Period = 'day' | 'month' | 'year';

/** Reports a time zone that this version of Node does not support. */
function zoneFaults(_: string, timeZone: unknown): string[] {
  try {
    if (typeof timeZone === 'string' && dateIn(timeZone)) return [];
  } catch {
    // The error is the same as for a value that is no string, below.
  }
  return [
    `Expected \`timeZone\` to be a time zone of the IANA database, such as 'Asia/Shanghai' or ` +
      `'UTC', got ${format(timeZone)}.`,
  ];
}

function dateIn(timeZone: string): Intl.DateTimeFormat {
  const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  return new Intl.DateTimeFormat('en-u-ca-gregory-nu-latn', { ...parts, timeZone });
}

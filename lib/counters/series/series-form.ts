/**
 * The form of the texts of a series, both ways: `INV-{date}-{000000}` and INV-20261121-000123.
 *
 * Promise: a text is read as the one period and number that are written so, and as no other; a
 * number that does not fit its digits is refused and never written shorter or longer.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import { SnowflakeError } from '../../errors.js';
import { methodFaults, refuse } from '../../option-faults.js';
import { shown, shownShort } from '../../shown.js';
import { PERIOD_DIGITS, periodsOf, zoneFaults, type Period } from './period.js';

/** How the texts of a series look, and when its numbers start again. */
export interface SeriesFormOptions {
  /** Which series, e.g. `invoice`: 1 to 100 characters without spaces, / and |. */
  readonly name: string;
  /** When it starts again at 1. */
  readonly period: Period;
  /** By which a day begins, of the IANA database: 'Asia/Shanghai'. */
  readonly timeZone: string;
  /** `{date}` is the period (yyyyMMdd, yyyyMM or yyyy), zeros in braces are the number. */
  readonly form: string;
  /** Tells the day. Default: the clock of the host. */
  readonly clock?: Clock | undefined;
}

/** Their names. */
export const FORM_OPTIONS = 'name, period, timeZone, form, clock';

/** What a text of a series says. */
export interface SeriesParts {
  /** Such as `20261121`. */
  readonly period: string;
  /** From 1 up. */
  readonly number: number;
}

const WIDTH_MAX = 15;

export class SeriesForm {
  readonly name: string;
  private readonly literals: readonly [before: string, between: string, after: string];
  private readonly width: number;
  private readonly periodDigits: number;
  private readonly pattern: RegExp;
  private readonly clock: Clock;
  private readonly periodAt: (nowMs: number) => string;

  /**
   * @param others what is wrong with other options
   * @throws SnowflakeError CONFIG_INVALID with every fault in `details.faults`
   */
  constructor(options: SeriesFormOptions, others: readonly string[]) {
    const { name, period, timeZone, form, clock = systemClock } = options;
    const faults = [
      ...others,
      ...nameFaults(name),
      ...periodFaults(period),
      ...zoneFaults(timeZone),
      ...methodFaults('clock', clock, ['now']),
    ];
    const [, before = '', between = '', zeros = '', after = ''] =
      /^([^{}]*)\{date\}([^{}]*)\{(0+)\}([^{}]*)$/.exec(typeof form === 'string' ? form : '') ?? [];
    if (zeros.length < 1 || zeros.length > WIDTH_MAX) faults.push(formFault(form));
    refuse(faults);
    this.name = name;
    this.clock = clock;
    this.periodAt = periodsOf(period, timeZone);
    this.literals = [before, between, after];
    this.width = zeros.length;
    this.periodDigits = PERIOD_DIGITS[period];
    const digits = `(\\d{${this.periodDigits}})${escaped(between)}(\\d{${this.width}})`;
    this.pattern = new RegExp(`^${escaped(before)}${digits}${escaped(after)}$`);
  }

  /** The period that it is now. */
  get period(): string {
    return this.periodAt(this.clock.now());
  }

  /** @throws SnowflakeError COUNTER_FULL for a number that does not fit */
  text({ period, number }: SeriesParts): string {
    const [before, between, after] = this.literals;
    const digits = String(number).padStart(this.width, '0');
    const isPeriod = /^\d+$/.test(period) && period.length === this.periodDigits;
    if (!isPeriod || !Number.isSafeInteger(number) || number < 1) throw wrongParts(period, number);
    if (digits.length > this.width) throw this.full(period);
    return `${before}${period}${between}${digits}${after}`;
  }

  /** @throws SnowflakeError ID_INVALID for a text that is not of this series */
  parse(text: string): SeriesParts {
    const [, period, digits] = (typeof text === 'string' && this.pattern.exec(text)) || [];
    const number = Number(digits);
    if (period !== undefined && number > 0) return { period, number };
    throw new SnowflakeError(
      'ID_INVALID',
      `Expected a text of the series ${this.name}, such as ${this.example}, got ` +
        `${shownShort(text)}.`,
      { details: { value: text } },
    );
  }

  private get example(): string {
    return this.text({ period: '20261121'.slice(0, this.periodDigits), number: 1 });
  }

  private full(period: string): SnowflakeError {
    return new SnowflakeError(
      'COUNTER_FULL',
      `The series ${this.name} has used all numbers of ${this.width} digits in ${period}. A ` +
        `wider form is another series: texts of two widths do not sort, and are not read alike.`,
      { details: { period } },
    );
  }
}

function nameFaults(name: unknown): string[] {
  if (typeof name === 'string' && /^[^\s\p{C}|/]{1,100}$/u.test(name)) return [];
  return ['Expected `name` to be 1 to 100 characters without spaces, / and |.'];
}

function periodFaults(period: unknown): string[] {
  if (typeof period === 'string' && Object.hasOwn(PERIOD_DIGITS, period)) return [];
  return [`Expected \`period\` to be 'day', 'month' or 'year', got ${shown(period)}.`];
}

function formFault(form: unknown): string {
  return (
    `Expected \`form\` to hold {date} and after it 1 to ${WIDTH_MAX} zeros in braces, such as ` +
    `'INV-{date}-{000000}', got ${shown(form)}.`
  );
}

function wrongParts(period: string, number: number): SnowflakeError {
  return new SnowflakeError(
    'ARGUMENT_INVALID',
    `Expected a period of this series and a whole number from 1 up, got ${shown(period)} and ` +
      `${shown(number)}.`,
  );
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

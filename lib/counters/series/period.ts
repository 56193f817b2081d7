/**
 * Which day, month or year it is in a time zone: the part of a series that starts again at 1.
 *
 * Promise: the calendar is the Gregorian one with Latin digits, whatever the locale of the host.
 */
import { shown } from '../../shown.js';

/** When the numbers of a series start again at 1. */
export type Period = 'day' | 'month' | 'year';

/** How many of the digits yyyyMMdd name a period. */
export const PERIOD_DIGITS: { readonly [period in Period]: number } = { day: 8, month: 6, year: 4 };

/** @param timeZone one that zoneFaults() knows */
export function periodsOf(period: Period, timeZone: string): (nowMs: number) => string {
  const format = dateIn(timeZone);
  return (nowMs) => {
    const found = format.formatToParts(nowMs);
    const part = (type: string) => found.find((each) => each.type === type)?.value ?? '';
    const digits = `${part('year').padStart(4, '0')}${part('month')}${part('day')}`;
    return digits.slice(0, PERIOD_DIGITS[period]);
  };
}

/** What is wrong with a time zone: this Node does not know it. */
export function zoneFaults(timeZone: unknown): string[] {
  try {
    if (typeof timeZone === 'string' && dateIn(timeZone)) return [];
  } catch {
    // Answered below, with what is no text.
  }
  return [
    `Expected \`timeZone\` to be a time zone of the IANA database, such as 'Asia/Shanghai' or ` +
      `'UTC', got ${shown(timeZone)}.`,
  ];
}

function dateIn(timeZone: string): Intl.DateTimeFormat {
  const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  return new Intl.DateTimeFormat('en-u-ca-gregory-nu-latn', { ...parts, timeZone });
}

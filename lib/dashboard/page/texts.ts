/**
 * Formats numbers and times, in the same way everywhere on the page.
 * Durations are short enough for a table.
 */
const NUMBER = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const LOCAL = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'long',
});

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
export const YEAR_MS = 365.25 * DAY_MS;

/** The largest first: the unit, its letter, and the smaller unit shown after it. */
const UNITS = [
  [YEAR_MS, 'y', DAY_MS, 'd'],
  [DAY_MS, 'd', HOUR_MS, 'h'],
  [HOUR_MS, 'h', MINUTE_MS, 'min'],
  [MINUTE_MS, 'min', SECOND_MS, 's'],
] as const;

export function numberText(number: number): string {
  return NUMBER.format(number);
}

/** Such as `2 h 5 min`, `48 s`, `350 ms`. */
export function spanText(ms: number): string {
  if (ms < 0) return `-${spanText(-ms)}`;
  const units = UNITS.find(([unitMs]) => ms >= unitMs);
  if (units === undefined) {
    return ms < SECOND_MS ? `${Math.round(ms)} ms` : `${Math.floor(ms / SECOND_MS)} s`;
  }
  const [unitMs, unit, restMs, rest] = units;
  const whole = Math.floor(ms / unitMs);
  const left = Math.floor((ms - whole * unitMs) / restMs);
  return left === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${left} ${rest}`;
}

/** How long ago, or how far ahead. */
export function agoText(ms: number): string {
  return ms >= 0 ? `${spanText(ms)} ago` : `in ${spanText(-ms)}`;
}

export function utcText(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').replace('Z', ' UTC');
}

/** In the time zone of the browser. */
export function localText(ms: number): string {
  return LOCAL.format(ms);
}

export function timeText(date: Date): string {
  return date.toLocaleTimeString('en-GB');
}

export function dayText(ms: number): string {
  return new Date(ms).toISOString().split('T')[0]!;
}

/** A count with its noun: `1 wait`, `2 waits`. */
export function countText(count: number, one: string): string {
  return `${numberText(count)} ${one}${count === 1 ? '' : 's'}`;
}

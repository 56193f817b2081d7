/**
 * When a job is due: the syntax of `@Cron`, and the arithmetic of its ticks.
 *
 * Guarantee: `next` depends only on its argument and the rules of the zone, and its result is later
 * than its argument. An hourly job is due whenever the zone's clock matches. A job with named hours
 * is due once for each of them: at the first of two equal local times, or at the end of a gap.
 */
import { quoted } from '../messages.js';
import { refused } from '../options.js';

/** When a job is due. */
export interface Schedule {
  /** The expression and its zone, for people. */
  readonly text: string;
  /** The first tick after a time, in Unix ms; undefined if there is none within nine years. */
  next(afterMs: number): number | undefined;
}

/** A part of an expression, with its lowest and highest values. */
type Part = readonly [name: string, low: number, high: number];

const PARTS: readonly Part[] = [
  ['second', 0, 59],
  ['minute', 0, 59],
  ['hour', 0, 23],
  ['day of the month', 1, 31],
  ['month', 1, 12],
  ['day of the week', 0, 7],
];
const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const WEEKDAYS = 'sun mon tue wed thu fri sat'.split(' ');
const PRESETS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@hourly': '0 * * * *',
  '@minutely': '* * * * *',
  '@secondly': '* * * * * *',
  '@weekdays': '0 0 * * 1-5',
  '@weekends': '0 0 * * 0,6',
};
const TEXT_LENGTH_MAX = 200;
const DAY_MS = 86_400_000;
/** Two 29ths of February may be eight years apart. */
const SEARCH_MS = 9 * 366 * DAY_MS;

/** The values of each part, in order. */
type Fields = readonly (readonly number[])[];

/**
 * @param zone its IANA name, or its offset from UTC in minutes
 * @throws SnowflakeError CONFIG_INVALID for an expression or a zone that is invalid
 */
export function scheduleOf(expression: string, zone: string | number): Schedule {
  const fields = fieldsOf(expression);
  const offset = typeof zone === 'string' ? offsetIn(zone) : () => zone * 60_000;
  const ticks = fields[2]!.length === 24 ? { fields, offset } : { fields, offset, isNamed: true };
  const zoneText = typeof zone === 'string' ? zone : `UTC${zone < 0 ? '' : '+'}${zone} min`;
  return {
    text: `${expression} ${zoneText}`.slice(0, TEXT_LENGTH_MAX),
    next: (afterMs) => nextTick(ticks, afterMs),
  };
}

/** @throws SnowflakeError CONFIG_INVALID that names the part */
export function fieldsOf(expression: string): Fields {
  const lower = expression.trim().toLowerCase();
  const texts = (PRESETS[lower] ?? lower).split(/\s+/);
  if (texts.length === 5) texts.unshift('0');
  if (texts.length !== PARTS.length) {
    throw refused([`Expected 5 or 6 parts of a schedule, got ${quoted(expression)}.`]);
  }
  return texts.map((text, at) => {
    const values = text.split(',').flatMap((range) => valuesOf(range, PARTS[at]!));
    // Sunday is both 0 and 7.
    const all = new Set(at === 5 ? values.map((value) => value % 7) : values);
    return [...all].toSorted((a, b) => a - b);
  });
}

function valuesOf(range: string, [name, low, high]: Part): number[] {
  const digits = range.replace(/[a-z]{3}/g, numberOf);
  const [, star, first, last, step] = /^(?:(\*)|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(digits) ?? [];
  const from = star === undefined ? Number(first) : low;
  const to = star === undefined ? Number(last ?? (step === undefined ? from : high)) : high;
  const by = Number(step ?? 1);
  if (!(from >= low && to <= high && from <= to && by > 0)) {
    const meant = `*, a value, a range or a step from ${low} to ${high}`;
    throw refused([`Expected the ${name} of a schedule to be ${meant}, got ${quoted(range)}.`]);
  }
  return Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, at) => from + at * by);
}

function numberOf(name: string): string {
  const month = MONTHS.indexOf(name);
  const weekday = WEEKDAYS.indexOf(name);
  return month >= 0 ? String(month + 1) : weekday >= 0 ? String(weekday) : name;
}

/** How far the clock of a zone is ahead of UTC, in ms. */
function offsetIn(timeZone: string): (ms: number) => number {
  const terms = { timeZone, timeZoneName: 'longOffset', year: 'numeric' } as const;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', terms);
  } catch {
    const expected = 'Expected `timeZone` to be a name of IANA, as Europe/Berlin';
    throw refused([`${expected}, got ${quoted(timeZone)}.`]);
  }
  return (ms) => {
    const [, sign, h, m, s = 0] = /GMT([+-])(\d+):(\d+)(?::(\d+))?/.exec(format.format(ms)) ?? [];
    if (sign === undefined) return 0;
    return (Number(h) * 3600 + Number(m) * 60 + Number(s)) * (sign === '-' ? -1000 : 1000);
  };
}

interface Ticks {
  readonly fields: Fields;
  readonly offset: (ms: number) => number;
  /** True if the job names hours, so a repeated local time counts only once. */
  readonly isNamed?: boolean;
}

/** Assumes that the offset of a zone changes at most once a day. */
function nextTick({ fields, offset, isNamed = false }: Ticks, afterMs: number): number | undefined {
  let from = afterMs;
  let ahead = offset(from);
  // Local times up to this are over.
  let wall = from + ahead;
  const before = offset(from - DAY_MS);
  if (isNamed && before > ahead) {
    // The clock was set back, so local times may repeat.
    wall = Math.max(wall, changeIn(offset, from - DAY_MS, from) + before - 1);
  }
  for (;;) {
    const due = nextWall(fields, wall);
    if (due === undefined) return undefined;
    const tick = due - ahead;
    const end = Math.min(tick, from + DAY_MS);
    const then = offset(end);
    if (then !== ahead) {
      const at = changeIn(offset, from, end);
      if (isNamed && due < at + then) return at;
      wall = at + (isNamed ? Math.max(ahead, then) : then) - 1;
      [from, ahead] = [at, then];
    } else if (end === tick) {
      return tick;
    } else {
      // No tick is due until a day before this one.
      from = Math.max(end, tick - DAY_MS);
      ahead = offset(from);
      wall = from + ahead;
    }
  }
}

/** Returns the first time at which the offset equals the offset at the end. */
function changeIn(offset: Ticks['offset'], startMs: number, endMs: number): number {
  const then = offset(endMs);
  let [low, high] = [startMs, endMs];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offset(middle) === then) high = middle;
    else low = middle;
  }
  return high;
}

/** Returns the first match after a local time; both are local times, stored as if they were UTC. */
function nextWall(fields: Fields, after: number): number | undefined {
  const [seconds, minutes, hours, days, months, weekdays] = fields as readonly number[][] & Fields;
  const isEither = days!.length < 31 && weekdays!.length < 7;
  for (let at = new Date(Math.floor(after / 1000) * 1000 + 1000); +at < after + SEARCH_MS;) {
    const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
    const isMonth = months!.includes(month + 1);
    const [isDay, isWeekday] = [days!.includes(day), weekdays!.includes(at.getUTCDay())];
    if (isMonth && (isEither ? isDay || isWeekday : isDay && isWeekday)) {
      const [h, m, s] = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()];
      for (const hour of hours!.filter((value) => value >= h)) {
        for (const minute of minutes!.filter((value) => hour > h || value >= m)) {
          const second = seconds!.find((value) => hour > h || minute > m || value >= s);
          if (second !== undefined) return Date.UTC(year, month, day, hour, minute, second);
        }
      }
    }
    at = new Date(isMonth ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1));
  }
  return undefined;
}

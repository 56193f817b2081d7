/**
 * The ticks by definition, computed the slow way: a walk through each minute of a zone's clock with
 * Intl, and expressions parsed by `cron`. It contains no code of the library.
 *
 * A wall time that occurs in two hours is due at its first occurrence, and a skipped wall time at
 * the end of the gap. A job that runs every hour is due whenever the wall time matches.
 */
import { createRequire } from 'node:module';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** How long a window extends before and after a clock change. */
const HALF = 3 * DAY;

type Fields = Readonly<
  Record<'second' | 'minute' | 'hour' | 'dayOfMonth' | 'month' | 'dayOfWeek', object>
>;

const scheduler = createRequire(import.meta.resolve('@nestjs/schedule'));
const { CronTime } = scheduler('cron') as { CronTime: new (text: string, zone: string) => Fields };
const NAMES = ['second', 'minute', 'hour', 'dayOfMonth', 'month', 'dayOfWeek'] as const;

/** The values of each field, as `cron` parses them. @throws Error if it rejects the text */
export function fieldsByCron(expression: string): number[][] {
  const read = new CronTime(expression, 'UTC');
  const valuesOf = (name: (typeof NAMES)[number]) => Object.keys(read[name]).map(Number);
  return NAMES.map((name) => valuesOf(name).toSorted((a, b) => a - b));
}

/** A time with or without a clock change in a zone, and the wall times around it. */
export interface Window {
  readonly zone: string;
  readonly atMs: number;
}

/** @returns the wall time, to the minute, as if it were UTC */
function clockOf(zone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  return (ms) => {
    const [month, day, year, hour, minute] = format.format(ms).match(/\d+/g)!.map(Number);
    return Date.UTC(year!, month! - 1, day, hour, minute);
  };
}

/** The clock changes of a zone within some years, to the minute. */
function changesOf(zone: string, fromMs: number, years: number): number[] {
  const clock = clockOf(zone);
  const aheadAt = (ms: number) => clock(ms) - ms;
  const changes: number[] = [];
  for (let at = fromMs; at < fromMs + years * 366 * DAY; at += DAY / 2) {
    if (aheadAt(at) === aheadAt(at + DAY / 2)) continue;
    let [low, high] = [at, at + DAY / 2];
    while (high - low > MINUTE) {
      const middle = Math.floor((low + high) / 2 / MINUTE) * MINUTE;
      if (aheadAt(middle) === aheadAt(at)) low = middle;
      else high = middle;
    }
    changes.push(high);
  }
  return changes;
}

/**
 * The clock changes: each change of each zone, and two ordinary weeks of a zone without changes. Or
 * each rule once, if zones share it.
 */
export function windowsOf(zones: readonly string[], { fromMs, years, each }: WindowTerms) {
  const seen = new Set<string>();
  return zones.flatMap((zone): Window[] => {
    const clock = clockOf(zone);
    const changes = changesOf(zone, fromMs, years);
    const times = changes.length > 0 || each === 'rule' ? changes : [fromMs, fromMs + 182 * DAY];
    return times.flatMap((atMs) => {
      const rule = `${atMs} ${clock(atMs - MINUTE) - atMs} ${clock(atMs) - atMs}`;
      if (each === 'rule' && seen.has(rule)) return [];
      seen.add(rule);
      return [{ zone, atMs }];
    });
  });
}

interface WindowTerms {
  readonly fromMs: number;
  readonly years: number;
  readonly each: 'rule' | 'zone';
}

/** All zones of this Node, and UTC. */
export const allZones = (): string[] => [...Intl.supportedValuesOf('timeZone'), 'UTC'];

/** The ticks of a window, in order. */
class Oracle {
  readonly startMs: number;
  readonly endMs: number;
  /** The wall time of each minute. */
  readonly #walls: readonly number[];
  /** The first minute with a given wall time. */
  readonly #first = new Map<number, number>();

  constructor({ zone, atMs }: Window) {
    this.startMs = atMs - HALF;
    this.endMs = atMs + HALF;
    const clock = clockOf(zone);
    const count = (2 * HALF) / MINUTE;
    this.#walls = Array.from({ length: count }, (_, at) => clock(this.startMs + at * MINUTE));
    this.#walls.forEach((wall, at) => this.#first.has(wall) || this.#first.set(wall, at));
  }

  ticks(fields: readonly number[][]): number[] {
    const isEveryHour = fields[2]!.length === 24;
    const isMatch = matcher(fields);
    const ticks = new Set<number>();
    this.#walls.forEach((wall, at) => {
      const before = this.#walls[at - 1];
      const startMs = this.startMs + at * MINUTE;
      const isFirst = this.#first.get(wall) === at;
      if ((isEveryHour || isFirst) && isMatch(wall)) {
        for (const second of fields[0]!) ticks.add(startMs + second * 1000);
      }
      if (isEveryHour || before === undefined) return;
      for (let gone = before + MINUTE; gone < wall; gone += MINUTE) {
        if (isMatch(gone) && !this.#first.has(gone)) ticks.add(startMs);
      }
    });
    return [...ticks].toSorted((a, b) => a - b);
  }
}

/** Whether the expression matches a minute of the wall time. */
function matcher([, minutes, hours, days, months, weekdays]: readonly number[][]) {
  const isDayFree = days!.length === 31;
  const isWeekdayFree = weekdays!.length === 7;
  return (wall: number): boolean => {
    const at = new Date(wall);
    if (!minutes!.includes(at.getUTCMinutes()) || !hours!.includes(at.getUTCHours())) return false;
    if (!months!.includes(at.getUTCMonth() + 1)) return false;
    const [isDay, isWeekday] = [
      days!.includes(at.getUTCDate()),
      weekdays!.includes(at.getUTCDay()),
    ];
    if (isDayFree || isWeekdayFree) return isDay && isWeekday;
    return isDay || isWeekday;
  };
}

export type ScheduleOf = (
  expression: string,
  zone: string,
) => { next(afterMs: number): number | undefined };

export interface Fuzz {
  readonly windows: readonly Window[];
  readonly expressionCount: number;
  readonly startCount: number;
  readonly random: (below: number) => number;
}

/** The incorrect results, as sentences. */
export function* wrongAnswers(scheduleOf: ScheduleOf, fuzz: Fuzz): Generator<string> {
  const { windows, expressionCount, startCount, random } = fuzz;
  const expressions = expressionsOf(random, expressionCount);
  for (const window of windows) {
    const oracle = new Oracle(window);
    for (const expression of expressions) {
      const ticks = oracle.ticks(fieldsByCron(expression));
      const schedule = scheduleOf(expression, window.zone);
      for (const startMs of startsOf(window, startCount, random)) {
        const tick = schedule.next(startMs);
        const expected = ticks.find((ms) => ms > startMs);
        // The oracle has no result beyond the window.
        const isRight = expected === undefined ? !(tick! < oracle.endMs) : tick === expected;
        if (isRight) continue;
        const times = [startMs, tick, expected].map((ms) => new Date(ms ?? NaN).toJSON());
        yield `${window.zone} '${expression}' after ${times.join(' is not, but ')}`;
      }
    }
  }
}

/** Hours of the three days around a change, and any time in the hours around it. */
function* startsOf({ atMs }: Window, count: number, random: Fuzz['random']) {
  for (let at = 0; at < count; at++) {
    if (at % 2 === 0) yield atMs - 36 * HOUR + Math.floor((at * 72) / count) * HOUR;
    else yield atMs - 4 * HOUR + random(8 * HOUR);
  }
}

/** Common expressions, most of which meet a clock change. */
const USUAL = `0 3 * * *|30 2 * * *|0 2 * * *|0 0 * * *|15 0 * * *|30 1 * * *|0 * * * *|*/10 * * * *
*/7 * * * *|0 */2 * * *|5 2-3 * * *|45 1,2,3 * * *|0 2 * * 0|0 0 1 * *|59 23 * * *|0 4 * * 1-5
*/15 2 * * *|0 0 29 2 *|30 * * * 0|0 1 31 * *|0 30 2 * * *|0,30 * * * * *|0 0 13 * 5|0 3 * 3,10 0
* 2 * * *|* * * * *`.split(/[|\n]/);

/** Half of the expressions are common, and half are drawn. */
function expressionsOf(random: Fuzz['random'], count: number): string[] {
  return Array.from({ length: count }, (_, at) =>
    at % 2 === 0 ? USUAL[random(USUAL.length)]! : randomExpression(random),
  );
}

function randomExpression(random: Fuzz['random']): string {
  const part = (low: number, high: number, free: number): string => {
    const values = Array.from({ length: 3 }, () => low + random(high - low + 1));
    const [from, to] = values.toSorted((a, b) => a - b);
    const kind = random(100) - free;
    if (kind < 0) return '*';
    if (kind < 10) return `*/${2 + random(12)}`;
    if (kind < 25) return `${from}-${to}`;
    if (kind < 35) return `${from}-${to}/${1 + random(6)}`;
    return kind < 45 ? values.join(',') : String(from);
  };
  const hour = random(2) === 0 ? part(0, 23, 30) : part(0, 4, 10);
  const seconds = random(8) === 0 ? `${random(60)} ` : '';
  const days = `${part(1, 28, 75)} ${part(1, 12, 85)} ${part(0, 7, 70)}`;
  return `${seconds}${part(0, 59, 15)} ${hour} ${days}`;
}

/** The same numbers for the same seed. */
export function randomFrom(seed: number): Fuzz['random'] {
  let state = seed % 2_147_483_648;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

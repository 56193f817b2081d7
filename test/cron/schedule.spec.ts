/**
 * The times of a job: expressions use the language of `@Cron`, and ticks follow their definition.
 * This file tries zones with unusual clock changes; schedule-fuzz.spec.ts tries all zones.
 */
import { describe, expect, it } from '@jest/globals';
import { fieldsOf, scheduleOf } from '../../lib/cron/schedule.js';
import { freshSeeds, seedsFrom } from '../seeds.mjs';
import { fieldsByCron, randomFrom, windowsOf, wrongAnswers } from './schedule-oracle.js';

/** Seeds that once failed. */
const BAD: readonly number[] = [];
const SEEDS = [...BAD, ...freshSeeds('schedule', 2)];
const PRESETS = 'yearly monthly weekly daily hourly minutely secondly weekdays weekends'.split(' ');
const ODD = `jan DEC sun Sat mon-fri monday l foo jul-sep ? L 5#2 ** *5 -1 0-7 7 1-7 15W`.split(
  ' ',
);

function read<T>(reader: () => T): T | undefined {
  try {
    return reader();
  } catch {
    return undefined;
  }
}

function textsOf(seed: number, count: number): string[] {
  const random = randomFrom(seed);
  const pick = <T>(all: readonly T[]): T => all[random(all.length)]!;
  const range = () => {
    if (random(3) > 0)
      return pick(['*', `${random(8)}`, `*/${1 + random(9)}`, `1-${3 + random(4)}`]);
    const value = pick([...ODD, '', `${random(65)}`, `${random(13)}-${random(13)}`]);
    return value + pick(['', '', '/2', '/15', '/0', '/', '/100']);
  };
  const part = () => Array.from({ length: random(4) === 0 ? 3 : 1 }, range).join(',');
  const space = () => pick([' ', ' ', '  ', '\t']);
  return Array.from({ length: count }, () =>
    Array.from({ length: pick([5, 5, 6, 6, 4, 7]) }, part).join(space()),
  );
}

describe('a schedule', () => {
  it.each(SEEDS)(`is parsed as @Cron parses it, by seed %s from ${seedsFrom}`, (seed) => {
    const texts = [...PRESETS.map((name) => `@${name}`), ...textsOf(seed, 4000)];
    const all = [...texts, '@Daily', '@midnight', '@reboot', '', ' ', '* * *'];
    const own = all.map((text) => read(() => fieldsOf(text)));
    const theirs = all.map((text) => read(() => fieldsByCron(text)));
    expect(own).toEqual(theirs);
    const refusedCount = own.filter((fields) => fields === undefined).length;
    expect(refusedCount).toBeGreaterThan(1000);
    expect(all.length - refusedCount).toBeGreaterThan(100);
  });

  it.each(SEEDS)(`has the ticks of its rule, by seed %s from ${seedsFrom}`, (seed) => {
    const zones = 'Europe/Berlin Australia/Lord_Howe Africa/Cairo Antarctica/Troll Asia/Tokyo';
    const windows = windowsOf(zones.split(' '), {
      fromMs: Date.UTC(2026, 10, 1),
      years: 1,
      each: 'zone',
    });
    const random = randomFrom(seed);
    const terms = { windows, expressionCount: 16, startCount: 15, random };
    expect(windows.length).toBeGreaterThan(8);
    expect([...wrongAnswers(scheduleOf, terms)]).toEqual([]);
  });

  it.each([
    ['0 0 0 30 2 *', 'UTC'],
    ['0 0 31 4,6,9,11 *', 'Europe/Berlin'],
  ])('without any due date has no tick: %s', (expression, zone) => {
    expect(scheduleOf(expression, zone).next(0)).toBeUndefined();
  });

  it('may be at an offset from UTC in minutes, without clock changes', () => {
    const schedule = scheduleOf('0 3 * * *', -210);
    const tick = schedule.next(Date.UTC(2027, 2, 28));
    expect(new Date(tick!).toJSON()).toBe('2027-03-28T06:30:00.000Z');
    expect(schedule.text).toBe('0 3 * * * UTC-210 min');
    expect(scheduleOf('0 3 * * *', 'Europe/Berlin').text).toBe('0 3 * * * Europe/Berlin');
  });

  it.each([
    ['0 3 L * *', 'UTC', 'the day of the month of a schedule', '"l"'],
    ['0 24 * * *', 'UTC', 'the hour of a schedule', '0 to 23, got "24"'],
    ['0 3 * *', 'UTC', '5 or 6 parts', '"0 3 * *"'],
    ['0 3 * * *', 'Mars/Base', '`timeZone`', '"Mars/Base"'],
  ])('is refused with the faulty part: %s %s', (expression, zone, part, value) => {
    expect(() => scheduleOf(expression, zone)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
    const refused = () => scheduleOf(expression, zone);
    expect(refused).toThrow(part);
    expect(refused).toThrow(value);
  });
});

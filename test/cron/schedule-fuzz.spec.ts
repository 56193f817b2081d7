/**
 * Ticks around each clock change of each zone, compared with a walk through its minutes. Also the
 * detection of broken arithmetic. `ZONES=all` tries all zones of this Node instead of each rule
 * once.
 */
import { describe, expect, it } from '@jest/globals';
import { scheduleOf } from '../../lib/cron/schedule.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { SCHEDULE_MUTANTS } from '../mutants/schedule-mutants.mjs';
import { firstSeeds, freshSeeds, seedsFrom } from '../seeds.mjs';
import {
  allZones,
  randomFrom,
  windowsOf,
  wrongAnswers,
  type ScheduleOf,
} from './schedule-oracle.js';

const SLOW_MS = 3_600_000;
const isAll = process.env['ZONES'] === 'all';
const EXPRESSION_COUNT = isAll ? 200 : 40;
/** Seeds that once failed. */
const BAD: readonly number[] = [];
const SEEDS = [...BAD, ...freshSeeds('schedule of all zones', 1)];
const WINDOWS = windowsOf(allZones(), {
  fromMs: Date.UTC(2026, 10, 1),
  years: 2,
  each: isAll ? 'zone' : 'rule',
});

function answersOf(schedule: ScheduleOf, seed: number) {
  const random = randomFrom(seed);
  const terms = { windows: WINDOWS, expressionCount: EXPRESSION_COUNT, startCount: 15, random };
  return wrongAnswers(schedule, terms);
}

describe('ticks around every change of a clock', () => {
  it.each(SEEDS)(
    `are those of their rule, by seed %s from ${seedsFrom}`,
    (seed) => {
      expect(WINDOWS.length).toBeGreaterThan(80);
      expect([...answersOf(scheduleOf, seed)]).toEqual([]);
    },
    SLOW_MS,
  );

  it.each(SCHEDULE_MUTANTS)(
    'are wrong where arithmetic is broken: $name',
    async ({ edits }) => {
      const { scheduleOf: broken } = (await loadLibrary(edits, 'cron/schedule.ts')) as {
        scheduleOf: ScheduleOf;
      };
      const [seed] = firstSeeds(1);
      expect(answersOf(broken, seed!).next().value).toEqual(expect.any(String));
    },
    SLOW_MS,
  );
});

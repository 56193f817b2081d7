/**
 * The broken variants of the arithmetic of ticks that the walk of every clock must catch.
 */
/** @import { Edit } from './load-library.mjs' */

/** @type {readonly { name: string, find: string, put: string }[]} */
const VARIANTS = [
  {
    name: 'a time that comes twice is due twice',
    find: 'if (isNamed && before > ahead) {',
    put: 'if (false) {',
  },
  {
    name: 'a job of every hour is not due in the second pass',
    find: 'if (isNamed && before > ahead) {',
    put: 'if (before > ahead) {',
  },
  {
    name: 'the last times of the first pass are due again',
    find: '+ before - 1);',
    put: '+ before - 1_800_000);',
  },
  {
    name: 'the first time after both passes is left out',
    find: '+ before - 1);',
    put: '+ before);',
  },
  {
    name: 'a job of every hour is due at the end of a gap',
    find: 'if (isNamed && due < at + then) return at;',
    put: 'if (due < at + then) return at;',
  },
  {
    name: 'a time that does not exist is left out',
    find: 'if (isNamed && due < at + then) return at;',
    put: '',
  },
  {
    name: 'a time is taken for one of the gap that comes right after it',
    find: 'due < at + then) return at;',
    put: 'due <= at + then + 60_000) return at;',
  },
  {
    name: 'a job of every hour waits until both passes are over',
    find: '(isNamed ? Math.max(ahead, then) : then) - 1;',
    put: 'Math.max(ahead, then) - 1;',
  },
  {
    name: 'a job that names hours goes on in the second pass',
    find: '(isNamed ? Math.max(ahead, then) : then) - 1;',
    put: 'then - 1;',
  },
  {
    name: 'the way to a far tick begins before what is over',
    find: 'Math.max(end, tick - DAY_MS)',
    put: 'tick - DAY_MS',
  },
  {
    name: 'the offset of today is that of the tick',
    find: 'if (then !== ahead) {',
    put: 'if (false) {',
  },
  {
    name: 'an offset has no minutes',
    find: 'Number(m) * 60',
    put: '0',
  },
  {
    name: 'days of the month and of the week have to be both',
    find: 'isEither ? isDay || isWeekday : ',
    put: '',
  },
];

/** @type {readonly { name: string, edits: readonly Edit[] }[]} */
export const SCHEDULE_MUTANTS = VARIANTS.map(({ name, find, put }) => ({
  name,
  edits: [{ file: 'cron/schedule.ts', find, put }],
}));

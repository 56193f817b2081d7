/**
 * Broken variants of the tick computation, which the walk through every clock must catch.
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
    name: 'a time that does not exist is left out',
    find: 'if (isNamed && due < at + then) return at;',
    put: '',
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

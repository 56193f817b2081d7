/**
 * The registry without one of its rules for clocks that are wrong: what a survivor tells of the
 * registry that was lost, and what keeps it from following a store to a wrong time. The model,
 * whose holders read no clock, cannot see them. That nobody is asked at all has a case in the
 * contract suite: in a fleet the ranges of survivors say nearly as much.
 */
/** @import { Mutant } from './mutant.mjs' */

const OPENING = 'registry/prologue.ts';
const CLOCK = 'rows/store-clock.ts';

/** @type {readonly Mutant[]} */
export const TIME_MUTANTS = [
  {
    name: 'a registry that was behind moves its clock, and not its safe floor',
    tryFirst: { scenario: 'step back, then loss, newcomers', seed: 30 },
    edits: [
      {
        file: OPENING,
        find: '{ ...header, slewMs, safeFloorMs, era: header.era + 1 }',
        put: '{ ...header, slewMs, era: header.era + 1 }',
      },
    ],
  },
  {
    name: 'a process tells the time it was told, and not what has gone by since',
    tryFirst: { scenario: 'step back, then loss', seed: 29 },
    edits: [
      {
        file: 'lease/renewal.ts',
        find: 'Math.ceil(this.askedAtMs - askedAtMs)',
        put: '0',
      },
    ],
  },
  {
    name: 'a registry follows its store wherever that goes',
    tryFirst: { scenario: 'step forward for seconds', seed: 2 },
    edits: [
      {
        file: CLOCK,
        find: 'const { lastTimeMs } = last;',
        put: 'const { lastTimeMs } = last;\n  if (lastTimeMs > 0) return timeMs;',
      },
    ],
  },
  {
    name: 'a registry follows its store where somebody new asks',
    tryFirst: { scenario: 'step forward for seconds', seed: 2 },
    edits: [{ file: CLOCK, find: '(fits ? wallMs : timeMs)', put: 'timeMs' }],
  },
];

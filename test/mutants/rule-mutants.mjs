/**
 * Variants without one of the rules for operators' mistakes, each with a fleet that the rule keeps
 * apart. Two rules move the odds by too little to be seen in one fleet. That a renewal claims a new
 * registry has a case in the contract suite. That a holder leaves a range in which another one was
 * granted has one in test/lease/renewal.spec.ts.
 */
/** @import { Mutant } from './mutant.mjs' */

const OPENING = 'registry/prologue.ts';
const BRANCH = 'registry/prologue.ts';
const TERMS = 'lease/renewal.ts';
const KEEPER = 'lease/lease-keeper.ts';

/** @type {readonly (Mutant & { readonly scenario: string, readonly seed: number })[]} */
export const RULE_MUTANTS = [
  {
    name: 'a registry that an operator creates is taken for new',
    scenario: 'create',
    seed: 24,
    edits: [
      {
        file: OPENING,
        find: 'reading.timeMs + quarantineMs',
        put: "reading.timeMs + (terms.fingerprint === '' ? 0 : quarantineMs)",
      },
    ],
  },
  {
    name: 'two layouts with ranges go on',
    scenario: 'relayout',
    seed: 36,
    edits: [
      {
        file: OPENING,
        find: '!contests(stored, terms.haveMs, nowAt(stored, reading))',
        put: 'true',
      },
    ],
  },
  {
    name: 'a holder refused for its layout uses its range',
    scenario: 'relayout',
    seed: 7,
    edits: [
      {
        file: KEEPER,
        find: 'return this.drop(otherLayout(answer.fingerprint, asked.fingerprint));',
        put: "return this.retryLater('another layout');",
      },
    ],
  },
  {
    name: 'a process forgets the longest quarantine',
    scenario: 'ttls',
    seed: 37,
    edits: [{ file: TERMS, find: 'this.quarantineMs = Math.max(', put: 'Math.max(' }],
  },
  {
    name: 'the floor of the last loss does not move',
    scenario: 'ttls',
    seed: 9,
    edits: [{ file: OPENING, find: 'header.safeFloorMs + longerMs', put: 'header.safeFloorMs' }],
  },
  {
    name: 'a server that is asked again does not hear what another one granted',
    scenario: 'there and back',
    seed: 110,
    edits: [
      {
        file: BRANCH,
        find: 'if (seen === undefined || !isOfAnother(header, seen)) return header;',
        put: 'if (seen !== null) return header;',
      },
    ],
  },
  {
    name: 'a holder keeps what a server granted that had been left',
    scenario: 'there and back',
    seed: 304,
    edits: [
      {
        file: BRANCH,
        find: ', safeFloorMs, leftEra: lost.era }',
        put: ', safeFloorMs, leftEra: 0 }',
      },
    ],
  },
];

/**
 * Every broken variant of the protocol that the tests must catch, by name, and the variants that
 * are safe and must pass: a mutant that lives where it should die means a test that is blind, and
 * one that dies where it should live means a test that cries wolf.
 */
import { CLIENT_MUTANTS } from './client-mutants.mjs';
import { REGISTRY_MUTANTS } from './registry-mutants.mjs';

/** @import { Mutant } from './load-library.mjs' */

// The registry without one of its rules for clocks that are wrong: what a survivor tells of the
// registry that was lost, and what keeps it from following a store to a wrong time. The model,
// whose holders read no clock, cannot see them. That nobody is asked at all has a case in the
// contract suite: in a fleet the ranges of survivors say nearly as much.

const OPENING = 'registry/prologue.ts';
const CLOCK = 'rows/store-clock.ts';

/** @type {readonly Mutant[]} */
const TIME_MUTANTS = [
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

// Changes that the protocol expects to be safe: they may cost accuracy or order, not uniqueness.

const MEMORY = 'stores/memory/memory.support.ts';
const RENEW = 'registry/renew.ts';

/** @type {readonly Mutant[]} */
const SAFE_VARIANTS = [
  {
    name: 'random choice among the free worker ids',
    edits: [
      {
        file: MEMORY,
        find: 'const lowest = slotOf(state, this.search(request, reading));',
        put: `const free = [];
    const { workerIdMin, workerIdMax } = request;
    // Of millions the first few thousand are choice enough, and the harder test.
    const highest = Math.min(workerIdMax, workerIdMin + 4095);
    for (let id = workerIdMin; state && id <= highest; id++)
      if ((state.ceilings.get(id) ?? 0) <= state.lastTimeMs + state.slewMs) free.push(id);
    const lowest = slotOf(state, free[(state?.operations * 7919) % free.length] ??
      this.search(request, reading));`,
      },
    ],
  },
  {
    name: 'raw TIME without slewing',
    edits: [
      {
        file: 'rows/store-clock.ts',
        find: 'return lastTimeMs + slewMs;',
        put: 'return lastTimeMs;',
      },
    ],
  },
  {
    name: 'renew without `have`',
    edits: [
      {
        file: RENEW,
        find: 'const { slot } = snapshot;',
        put: 'const { slot } = snapshot;\n  lease = { ...lease, haveMs: 0 };',
      },
    ],
  },
  {
    name: 'no nonce where there are no clones',
    skips: ['clones'],
    edits: [
      {
        file: RENEW,
        find: 'if (!knowsNonce && !(isNewEra && haveMs >= lastMs)) {',
        put: 'if (false) {',
      },
    ],
  },
];

export const BROKEN_VARIANTS = [...REGISTRY_MUTANTS, ...TIME_MUTANTS, ...CLIENT_MUTANTS];

export { CLIENT_MUTANTS, REGISTRY_MUTANTS, SAFE_VARIANTS, TIME_MUTANTS };

/**
 * Changes that the protocol expects to be safe: they may cost accuracy or order, not uniqueness.
 */
/** @import { Mutant } from './mutant.mjs' */

const MEMORY = 'stores/memory/memory.support.ts';
const RENEW = 'registry/renew.ts';

/** @type {readonly Mutant[]} */
export const SAFE_VARIANTS = [
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
    // Where a server is asked again that was left, the renewals of others are the proof.
    name: 'renew without `have`',
    skips: ['there and back'],
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

/**
 * Changes that the protocol expects to be safe: they may cost accuracy or order, not uniqueness.
 */
/** @import { Mutant } from './mutants.mjs' */

const REGISTRY = 'backends/memory/memory-registry.ts';

/** @type {readonly Mutant[]} */
export const SAFE_VARIANTS = [
  {
    name: 'random choice among the free worker ids',
    edits: [
      {
        file: REGISTRY,
        find: 'const workerId = longestFree(state, request.workerIdMin, request.workerIdMax);',
        put: `const free = [];
    for (let id = request.workerIdMin; id <= request.workerIdMax; id++)
      if ((state.ceilings.get(id) ?? 0) <= nowMs) free.push(id);
    const workerId = free[(state.operations * 7919) % free.length] ??
      longestFree(state, request.workerIdMin, request.workerIdMax);`,
      },
    ],
  },
  {
    name: 'raw TIME without slewing',
    edits: [
      {
        file: 'backends/memory/registry-state.ts',
        find: 'return state.lastTimeMs + state.slewMs;',
        put: 'return state.lastTimeMs;',
      },
    ],
  },
  {
    name: 'renew without `have`',
    edits: [
      {
        file: REGISTRY,
        find: 'const { workerId, haveMs } = lease;',
        put: 'const { workerId } = lease;\n    const haveMs = 0;',
      },
    ],
  },
  {
    name: 'no nonce where there are no clones',
    skips: ['clones'],
    edits: [
      {
        file: REGISTRY,
        find: 'if (!knowsNonce && !(isNewEra && haveMs >= lastMs)) {',
        put: 'if (false) {',
      },
    ],
  },
];

/**
 * The broken variants of lease-protocol that lie on the store's side, as edits of the reference
 * registry. `kills` names what must notice: the contract suite, the simulation, the model.
 */
/** @import { Mutant } from './mutants.mjs' */

const REGISTRY = 'backends/memory/memory-registry.ts';
const STATE = 'backends/memory/registry-state.ts';

const floorAtRegrant = 'const floorMs = Math.max(lastMs, state.safeFloorMs);';
const floorAtRenewal = 'const floorMs = Math.max(lastMs, haveMs, state.safeFloorMs);';
const renewedCeiling = 'this.store(workerId, Math.max(lastMs, haveMs, nowMs + lease.ttlMs), next);';
const holderAtRenewal = 'owner !== undefined && owner.token === lease.token';
const refusedAtAcquire = `?? 0;
    if (lastMs > nowMs) return { status: 'none-free'`;
const released = 'Math.min(lastMs, Math.max(usedMs, owner.floorMs))';

/** @type {readonly Mutant[]} */
export const REGISTRY_MUTANTS = [
  {
    name: 'no floor at re-grant',
    edits: [{ file: REGISTRY, find: floorAtRegrant, put: 'const floorMs = state.safeFloorMs;' }],
  },
  {
    name: 'floor off by one',
    edits: [
      {
        file: REGISTRY,
        find: floorAtRegrant,
        put: 'const floorMs = Math.max(lastMs - 1, state.safeFloorMs);',
      },
    ],
  },
  {
    name: 'renew answers but does not store',
    edits: [
      {
        file: REGISTRY,
        find: `${renewedCeiling}\n      return this.grant(workerId, owner.floorMs);`,
        put: `this.store(workerId, lastMs, next);
      const granted = this.grant(workerId, owner.floorMs);
      return { ...granted, ceilingMs: Math.max(lastMs, nowMs + lease.ttlMs) };`,
      },
    ],
  },
  {
    // The chain of nonces would notice, were it asked.
    name: 'renew without token check',
    edits: [
      { file: REGISTRY, find: holderAtRenewal, put: 'owner !== undefined' },
      { file: REGISTRY, find: 'if (!knowsNonce && !(isNewEra', put: 'if (false && !(isNewEra' },
    ],
  },
  {
    name: 'no nonce although processes are cloned',
    edits: [
      { file: REGISTRY, find: 'if (!knowsNonce && !(isNewEra', put: 'if (false && !(isNewEra' },
    ],
  },
  {
    name: 'release without token check',
    edits: [
      {
        file: REGISTRY,
        find: '|| owner.token !== lease.token) return;',
        put: ') return;',
      },
      {
        file: REGISTRY,
        find: 'if (owner.nonce !== lease.nonce && owner.nonce !== lease.nonceNext) return;',
        put: '',
      },
    ],
  },
  {
    // The ceilings are read in one call and written in a later one; up to 40 ms lie between.
    name: 'acquire in two steps',
    edits: [
      {
        file: REGISTRY,
        find: 'const workerId = longestFree(state,',
        put: `const before = this.before;
    this.before = { ceilings: new Map(state.ceilings), nowMs };
    const seen = before && nowMs - before.nowMs < 40 ? before : state;
    const workerId = longestFree(seen,`,
      },
      {
        file: REGISTRY,
        find: `const lastMs = state.ceilings.get(workerId) ${refusedAtAcquire}`,
        put: `const lastMs = seen.ceilings.get(workerId) ${refusedAtAcquire}`,
      },
    ],
  },
  {
    name: 'renew may lower the ceiling',
    edits: [
      {
        file: REGISTRY,
        find: renewedCeiling,
        put: 'this.store(workerId, nowMs + lease.ttlMs, next);',
      },
      {
        file: STATE,
        find: 'return state.lastTimeMs + state.slewMs;',
        put: 'return state.lastTimeMs;',
      },
    ],
  },
  {
    name: 'release stores last instead of last + 1',
    edits: [{ file: REGISTRY, find: 'lastIssuedMs + 1', put: 'lastIssuedMs' }],
  },
  {
    name: 'release clears the ceiling',
    edits: [{ file: REGISTRY, find: released, put: '0' }],
  },
  {
    name: 'release is not clamped to its own grant',
    edits: [{ file: REGISTRY, find: released, put: 'Math.min(lastMs, usedMs)' }],
  },
  {
    name: 'no quarantine of a new registry',
    edits: [
      {
        file: STATE,
        find: 'safeFloorMs: store.timeMs + quarantineMs',
        put: 'safeFloorMs: store.timeMs',
      },
    ],
  },
  {
    name: 'quarantine shorter than a lease',
    edits: [
      {
        file: STATE,
        find: 'Math.max(terms.ttlMs + store.lossWindowMs, terms.quarantineMs ?? 0)',
        put: 'Math.floor(terms.ttlMs / 2)',
      },
    ],
  },
  {
    name: 'server change ignored',
    edits: [{ file: STATE, find: 'if (state.server !== store.server) noteLoss(state);', put: '' }],
  },
  {
    name: 'range extended across an era',
    edits: [
      {
        file: REGISTRY,
        find: 'const isNewEra = owner.era !== state.era;',
        put: 'const isNewEra = false;',
      },
    ],
  },
  {
    name: 'ceiling = max(now, floor) + ttl',
    edits: [
      {
        file: REGISTRY,
        find: 'const waitMs = floorMs + request.minRangeMs - ceilingMs;\n    if (waitMs > 0)',
        put: 'const waitMs = 0;\n    if (waitMs > 0)',
      },
      {
        file: REGISTRY,
        find: 'this.store(workerId, ceilingMs, owner);',
        put: 'this.store(workerId, Math.max(nowMs, floorMs) + request.ttlMs, owner);',
      },
    ],
  },
  {
    name: 'safe floor kept but not applied',
    edits: [
      { file: REGISTRY, find: floorAtRegrant, put: 'const floorMs = lastMs;' },
      { file: REGISTRY, find: floorAtRenewal, put: 'const floorMs = Math.max(lastMs, haveMs);' },
    ],
  },
];

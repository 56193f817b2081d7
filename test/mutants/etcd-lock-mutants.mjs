/**
 * Broken variants of the locks in etcd, by name. The contract suite must reject those with one of
 * its cases. A client that stalls while another process gets the lock must detect the others.
 */

/** @import { Mutant } from './load-library.mjs' */

const etcdEdit = (/** @type {string} */ find, put = '') => ({
  file: 'stores/etcd/etcd-locks.ts',
  find,
  put,
});

const absentInGrant = 'ttlMs > provenMs ? [wait, key, raise] : [wait, key]';

/** @type {readonly (Mutant & { by: string })[]} */
export const ETCD_LOCK_MUTANTS = [
  {
    name: 'a lock that is held is granted',
    by: 'grants a lock to one, and tells others by whom it is held',
    edits: [
      etcdEdit('if (held !== undefined) {', 'if (held === null) {'),
      etcdEdit(absentInGrant, '[wait]'),
    ],
  },
  {
    name: 'anybody extends and releases',
    by: 'extends for the holder alone',
    edits: [etcdEdit('held?.holder === holder && held.token', 'held?.token')],
  },
  {
    name: 'tokens are revisions alone',
    by: 'grants a token that is higher than one that somebody has',
    edits: [etcdEdit('const tokenBase = known', 'const tokenBase = 0n * known')],
  },
  {
    name: 'a token that was never granted is no proof of a loss',
    by: 'takes a young token of a lock that it does not know for such a proof',
    edits: [etcdEdit('if (isForgotten || highest > token)', 'if (have < 0n)')],
  },
  {
    name: 'a change of clusters is ignored',
    by: 'grants nothing when another server answers, until what was forgotten has ended',
    edits: [
      etcdEdit("const same = fate === 'same' && {", 'const same = stored && {'),
      etcdEdit("=== 'same' ? seen : undefined", "=== '' ? undefined : seen"),
    ],
  },
  {
    name: 'the loss window is left out of the wait',
    by: 'grants nothing when another server answers, until what was forgotten has ended',
    edits: [etcdEdit('waitMs = longestMs + this.lossWindowMs;', 'waitMs = longestMs;')],
  },
  {
    name: 'a grant rests on nothing that was read',
    by: 'is not granted to an attempt that stalled until all data was lost',
    edits: [
      etcdEdit('[has(this.#keys.header, headerText), ...compare]', 'compare'),
      etcdEdit(absentInGrant, '[key]'),
    ],
  },
  {
    name: 'an extension takes the lock from whoever holds it',
    by: 'is not extended by a holder that stalled until another one held it',
    edits: [
      etcdEdit(
        'const compare = [isUnchanged(row.key, row.modRevision)];',
        'const compare: object[] = [];',
      ),
    ],
  },
  {
    name: 'a keep-alive extends a lock also in a later run',
    by: 'outlives its lease of before an election, which the old leader may revoke late',
    edits: [etcdEdit('own?.server === header.server && own.lease.id', 'own?.lease.id')],
  },
  {
    name: 'an election takes all locks away',
    by: 'stays with its holder through an election',
    edits: [etcdEdit("(fate === 'elected' ? 0 : 1)", '1')],
  },
];

/**
 * Broken variants of the locks in etcd, by name. The contract suite must reject those with one of
 * its cases. A client that stalls while another process gets the lock must detect the others.
 */

/** @import { Mutant } from './load-library.mjs' */

const STORE = 'stores/etcd/etcd-locks.ts';
const CALLS = 'stores/etcd/etcd-lock-transactions.ts';

const etcdEdit = (/** @type {string} */ file, /** @type {string} */ find, put = '') => ({
  file,
  find,
  put,
});

const isOf = 'held.holder === holder && held.token === (token ?? held.token)';
const comparesOfGrant = 'compare: [isAbsent(this.#keys.wait), isAbsent(key), noteIsAsRead],';
const comparesOfHold = 'const compare = [isUnchanged(key, modRevision)];';

/** @type {readonly (Mutant & { by: string })[]} */
export const ETCD_LOCK_MUTANTS = [
  {
    name: 'a lock that is held is granted',
    by: 'grants a lock to one, and tells others by whom it is held',
    edits: [
      etcdEdit(STORE, 'if (held !== undefined) return this.#refused(held);'),
      etcdEdit(CALLS, comparesOfGrant, 'compare: [isAbsent(this.#keys.wait), noteIsAsRead],'),
    ],
  },
  {
    name: 'anybody extends and releases',
    by: 'extends for the holder alone',
    edits: [etcdEdit(STORE, isOf, 'held.token === (token ?? held.token)')],
  },
  {
    name: 'tokens are revisions alone',
    by: 'grants a token that is higher than one that somebody has',
    edits: [etcdEdit(CALLS, 'const tokenBase = known', 'const tokenBase = 0n * known')],
  },
  {
    name: 'a change of clusters is ignored',
    by: 'grants nothing when another server answers, until what was forgotten has ended',
    edits: [
      etcdEdit(CALLS, "header: fate === 'same' ? stored : undefined", 'header: stored'),
      etcdEdit(CALLS, "if (fate === 'same') return", 'if (mark !== undefined) return'),
    ],
  },
  {
    name: 'the loss window is left out of the wait',
    by: 'grants nothing when another server answers, until what was forgotten has ended',
    edits: [
      etcdEdit(
        CALLS,
        'lease = await this.#leases.grant(longestMs + this.#lossWindowMs)',
        'lease = await this.#leases.grant(longestMs)',
      ),
    ],
  },
  {
    name: 'a grant rests on nothing that was read',
    by: 'is not granted to an attempt that stalled until all data was lost',
    edits: [
      etcdEdit(CALLS, 'const isAsRead = isText(this.#keys.header, found.headerText);'),
      etcdEdit(CALLS, 'compare: [isAsRead, ...compare]', 'compare'),
      etcdEdit(CALLS, comparesOfGrant, 'compare: [isAbsent(key)],'),
    ],
  },
  {
    name: 'an extension takes the lock from whoever holds it',
    by: 'is not extended by a holder that stalled until another one held it',
    edits: [etcdEdit(CALLS, comparesOfHold, 'const compare: object[] = [];')],
  },
  {
    name: 'an election takes all locks away',
    by: 'stays with its holder through an election',
    edits: [etcdEdit(CALLS, "(fate === 'elected' ? 0 : 1)", '1')],
  },
];

/**
 * Broken variants of the locks in etcd, by name. The contract suite must reject those that name a
 * case of it; the others are shown by a client that stalls while somebody else gets the lock.
 */

/** @import { Mutant } from './load-library.mjs' */

const STORE = 'stores/etcd/etcd-locks.ts';
const CALLS = 'stores/etcd/etcd-lock-transactions.ts';
const RUN = 'stores/etcd/restore-detector.ts';

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
    name: 'a lock is granted with a note that is not the last one',
    by: 'is granted with the note of whoever held it while an attempt stalled',
    edits: [
      etcdEdit(CALLS, comparesOfGrant, 'compare: [isAbsent(this.#keys.wait), isAbsent(key)],'),
    ],
  },
  {
    name: 'an attempt that asks again is somebody else',
    by: 'answers an attempt that asks again with the same token',
    edits: [
      etcdEdit(STORE, 'isOfNow && held.holder === holder;', 'isOfNow && held.holder === "";'),
    ],
  },
  {
    name: 'anybody extends and releases',
    by: 'extends for the holder alone',
    edits: [etcdEdit(STORE, isOf, 'held.token === (token ?? held.token)')],
  },
  {
    name: 'an old token extends and releases',
    by: 'releases for the holder alone',
    edits: [etcdEdit(STORE, isOf, 'held.holder === holder')],
  },
  {
    name: 'an extension shortens',
    by: 'extends from now on, and never shortens',
    edits: [etcdEdit(CALLS, 'Math.max(ttlMs, held.leaseMs)', 'ttlMs')],
  },
  {
    name: 'an extension is not written',
    by: 'extends from now on, and never shortens',
    edits: [
      etcdEdit(
        STORE,
        'if (!(await this.#transactions.prolonged(found, held, request))) return undefined;',
      ),
    ],
  },
  {
    name: 'a lock is held by no lease',
    by: 'frees a lock when its time is over, to the millisecond, with a higher token',
    edits: [etcdEdit(CALLS, 'valueText(put.value), lease.id), ', 'valueText(put.value)), ')],
  },
  {
    name: 'nothing is kept from others',
    by: 'keeps a released lock from others for as long as was asked',
    edits: [etcdEdit(STORE, 'if (keepMs > 0) {', 'if (keepMs < 0) {')],
  },
  {
    name: 'the token ignores what somebody has',
    by: 'grants a token that is higher than one that somebody has',
    edits: [etcdEdit(CALLS, '[timed, have, highest, survived]', '[timed, highest, survived]')],
  },
  {
    name: 'what somebody was granted by a run ahead of this one proves nothing',
    by: 'learns from survivors how far ahead of its clock a store was that was lost',
    edits: [etcdEdit(CALLS, 'if (highest !== undefined && highest >', 'if (0n >')],
  },
  {
    name: 'tokens are revisions alone',
    by: 'grants a token that is higher than one that somebody has',
    edits: [etcdEdit(CALLS, 'const tokenBase = known', 'const tokenBase = 0n * known')],
  },
  {
    name: 'an absent store is a new one',
    by: 'grants nothing after everything was lost, until what was forgotten has ended',
    edits: [etcdEdit(CALLS, ', putWith(wait, server, lease.id)]', ']')],
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
    name: 'a lock of before a loss is extended',
    by: 'is lost with its cluster, also where tokens are ahead of the time',
    // Tokens of the next run begin higher, mostly.
    edits: [
      etcdEdit(
        STORE,
        'held !== undefined && held.era === found.header?.era && isOf',
        'held !== undefined && isOf',
      ),
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
    name: 'the longest time is that of who asks',
    by: 'waits for the longest time that anybody may hold a lock, not for that of who asks',
    edits: [etcdEdit(CALLS, 'Math.max(old?.longestMs ?? 0, asked.longestMs)', 'asked.longestMs')],
  },
  {
    name: 'a longer time is learnt too late',
    by: 'waits longer where it learns later that a lock may have been held for longer',
    edits: [etcdEdit(CALLS, 'if (wait !== undefined) {', 'if (wait === null) {')],
  },
  {
    name: 'a longer time is granted before its record is safe',
    by: 'grants nothing for a longer time than before until the record of it cannot be lost',
    edits: [etcdEdit(STORE, 'if (raise !== undefined && ttlMs', 'if (raise === null && ttlMs')],
  },
  {
    name: 'what somebody has proves nothing',
    by: 'takes a token that it does not remember for a proof that writes were lost',
    edits: [etcdEdit(CALLS, 'if (held !== undefined) return token > held.token;', 'return false;')],
  },
  {
    name: 'a lock that is not there was never held',
    by: 'takes a young token of a lock that it does not know for such a proof',
    edits: [etcdEdit(CALLS, 'if (at > BigInt(revision)) return true;', 'return false;')],
  },
  {
    name: 'the same proof counts again and again',
    by: 'takes a token that it does not remember for a proof that writes were lost',
    edits: [etcdEdit(CALLS, 'if (token <= header.forgottenTo) return false;')],
  },
  {
    name: 'a grant rests on nothing that was read',
    by: 'is not granted by an attempt that stalled until everything was lost',
    edits: [
      etcdEdit(CALLS, 'const isAsRead = isText(this.#keys.header, found.headerText);'),
      etcdEdit(CALLS, 'compare: [isAsRead, ...compare]', 'compare'),
      etcdEdit(CALLS, comparesOfGrant, 'compare: [isAbsent(key)],'),
    ],
  },
  {
    name: 'a grant looks at no other holder when it is written',
    by: 'is not granted by an attempt that stalled until another one held it',
    edits: [etcdEdit(CALLS, comparesOfGrant, 'compare: [isAbsent(this.#keys.wait)],')],
  },
  {
    name: 'whatever cluster answers has written it',
    by: 'is not granted by an answer of another cluster',
    edits: [etcdEdit(CALLS, "if (fate === 'same') return", 'if (mark !== undefined) return')],
  },
  {
    name: 'an extension takes the lock from whoever holds it',
    by: 'is not extended by a holder that stalled until another one held it',
    edits: [etcdEdit(CALLS, comparesOfHold, 'const compare: object[] = [];')],
  },
  {
    name: 'a release takes the lock from whoever holds it',
    by: 'is not released by a holder that stalled until another one held it',
    edits: [etcdEdit(STORE, '|| !isOf(held, request)) return done', ') return done')],
  },
  {
    name: 'another leader is believed to lack nothing',
    by: 'is granted to nobody after an election, until those before have ended',
    edits: [etcdEdit(RUN, 'now.term === run.term', 'now.term >= run.term')],
  },
  {
    name: 'an attempt that asks again after an election holds what it held',
    by: 'is granted to nobody after an election, until those before have ended',
    edits: [etcdEdit(STORE, '(isMine || !isOfNow)', '!isOfNow')],
  },
  {
    name: 'an election takes all locks away',
    by: 'stays with its holder through an election',
    edits: [etcdEdit(CALLS, "(fate === 'elected' ? 0 : 1)", '1')],
  },
  {
    name: 'a holder lets go in vain after an election',
    by: 'is released through an election',
    edits: [
      etcdEdit(
        STORE,
        'return this.#begin(found, { longestMs: held.leaseMs',
        'return done; void ({ a: 1',
      ),
    ],
  },
];

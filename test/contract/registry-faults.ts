/**
 * Registry faults that a suite could overlook, as edits of the reference, each with the case that
 * must reject it. Also the rejecting case for each mutant of the protocol.
 */
import type { Edit } from '../mutants/load-library.mjs';

export interface Fault {
  readonly name: string;
  /** The case of the suite for this fault. */
  readonly by: string;
  readonly edits: readonly Edit[];
}

const editIn = (file: string) => (find: string, put: string) => ({ file, find, put });
const inMemory = editIn('../test/models/memory-registry.ts');
const inAcquire = editIn('registry/acquire.ts');
const inRenew = editIn('registry/renew.ts');
const inRelease = editIn('registry/renew.ts');
const inOpening = editIn('registry/prologue.ts');
const inClock = editIn('rows/store-clock.ts');

export const REGISTRY_FAULTS: readonly Fault[] = [
  {
    name: 'repeated acquire answered, not stored',
    by: 'raises the ceiling at a repeated acquire, and remembers it',
    edits: [
      inAcquire(
        'return grantKept(header, { ...held, ceilingMs }, { ...since, terms: request, reading });',
        'return { ...grantLease(header, { ...held, ceilingMs }), slots: [] };',
      ),
    ],
  },
  {
    name: 'a token leads to the lease of its successor',
    by: 'does not answer a token with the lease of whoever came after it',
    edits: [inMemory('if (former !== undefined) state.workers.delete(former.token);', '')],
  },
  {
    name: 'release raises the ceiling',
    by: 'never raises a ceiling by a release',
    edits: [
      inRelease(
        'Math.min(lastMs, Math.max(usedMs, holder.floorMs))',
        'Math.max(usedMs, holder.floorMs)',
      ),
    ],
  },
  {
    name: 'free a millisecond too soon',
    by: 'keeps a worker id from others to the last millisecond of its range, and no longer',
    edits: [inAcquire('if (lastMs > nowMs && ', 'if (lastMs > nowMs + 1 && ')],
  },
  {
    name: 'second range answered, not stored',
    by: 'prolongs the second range of a holder like any other, and remembers it',
    edits: [
      inRenew(
        'return grantKept(header, { ...slot, ceilingMs, holder }, terms);',
        `const answered = grantKept(header, { ...slot, ceilingMs, holder }, terms);
  return { ...answered, slots: [{ ...slot, holder }] };`,
      ),
    ],
  },
  {
    name: 'lost operations are not noticed',
    by: 'takes an operation it does not remember for a proof that writes were lost',
    edits: [inRenew('mine.operations - 1 < mark.operations || ', '')],
  },
  {
    name: 'a lost ceiling is not noticed',
    by: 'takes a ceiling it does not remember for a proof that writes were lost',
    edits: [inRenew('isHolder && lease.haveMs > lastMs)', 'false)')],
  },
  {
    name: 'no loss window when another server answers',
    by: 'grants nothing before a quarantine when another server answers',
    edits: [inOpening('terms.ttlMs + reading.lossWindowMs', 'terms.ttlMs')],
  },
  {
    name: 'the clock stands still after a step back',
    by: 'continues raising ceilings after its clock stepped back',
    edits: [inClock('Math.floor(elapsedMs / 2)', 'elapsedMs')],
  },
  {
    name: 'a stranger prolongs',
    by: 'prolongs nothing for a stranger, also where it only answers that it will not',
    edits: [
      inRenew(
        'floorMs: holder.floorMs }, header, slots: raised };',
        `floorMs: holder.floorMs }, header,
    slots: [{ ...believed, ceilingMs: nowOf(header) + lease.ttlMs }] };`,
      ),
    ],
  },
  {
    name: 'the highest worker id is not looked at',
    by: 'keeps pools of worker ids apart: what one lacks is not taken from another',
    edits: [
      inMemory(
        'nextWorkerId(spanToSearch(request, state, nowMs), {',
        'nextWorkerId({ ...spanToSearch(request, state, nowMs), workerIdMax: 1023 }, {',
      ),
    ],
  },
  {
    name: 'another layout is not noticed',
    by: 'refuses another layout in the same registry, naming the one it knows',
    edits: [
      inOpening(
        'const isOther = admittedSpan(text, terms.fingerprint, nowMs + terms.ttlMs) === undefined;',
        'const isOther = false;',
      ),
    ],
  },
  {
    name: 'repeated acquire turns the nonces back',
    by: 'does not turn the chain of nonces back when an acquire comes again',
    edits: [
      inAcquire(
        'return grantKept(header, { ...held, ceilingMs }, { ...since, terms: request, reading });',
        `const holder = { ...held.holder, nonce: request.nonce };
  return grantLease(header, { ...held, ceilingMs, holder });`,
      ),
    ],
  },
  {
    name: 'release of an unknown lease throws',
    by: 'does nothing at the release of a lease that it never granted',
    edits: [
      inRelease(
        'if (!isHolder || !knowsNonce) return { header, slots: [] };',
        'if (!isHolder || !knowsNonce) throw Error();',
      ),
    ],
  },
  {
    name: 'a former holder proves a loss',
    by: 'does not take the late renewal of a former holder for a proof of anything',
    edits: [inRenew('isHolder && lease.haveMs > lastMs)', 'lease.haveMs > lastMs)')],
  },
  {
    name: 'a renewal is accepted once',
    by: 'accepts the same renewal again, because its answer may have been lost',
    edits: [
      inRenew('holder.nonce === nonce || holder.nonce === nonceNext', 'holder.nonce === nonce'),
    ],
  },
  {
    name: 'what is free is not listed',
    by: 'lists who holds what, and what is free',
    edits: [inMemory('[...state.ceilings.keys()]', '[...state.holders.keys()]')],
  },
];

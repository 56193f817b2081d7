/**
 * Faults of a registry that a suite may overlook, as edits of the reference, each with the case
 * that must reject it; and the case that must reject each mutant of the protocol.
 */
import type { Edit } from '../mutants/load-library.mjs';

export interface Fault {
  readonly name: string;
  /** The case of the suite that is about it. */
  readonly by: string;
  readonly edits: readonly Edit[];
}

const editIn = (file: string) => (find: string, put: string) => ({ file, find, put });
const inMemory = editIn('../test/models/memory-registry.ts');
const inAcquire = editIn('registry/acquire.ts');
const inRenew = editIn('registry/renew.ts');
const inRelease = editIn('registry/renew.ts');
const inOpening = editIn('registry/prologue.ts');
const inSearch = editIn('../test/models/worker-id-search.ts');
const inClock = editIn('rows/store-clock.ts');

export const REGISTRY_FAULTS: readonly Fault[] = [
  {
    name: 'a fenced holder not told where the new range begins',
    by: 'tells a holder that came too late that somebody else has its worker id, and since when',
    edits: [
      inRenew(
        "answer: { status: 'fenced', floorMs: holder.floorMs }",
        "answer: { status: 'fenced' }",
      ),
    ],
  },
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
    name: 'repeated acquire lowers the ceiling',
    by: 'lowers no ceiling when less is asked for than before',
    edits: [
      inAcquire(
        'Math.max(held.ceilingMs, nowOf(header) + request.ttlMs)',
        'nowOf(header) + request.ttlMs',
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
    name: 'a token leads to the lease of its successor',
    by: 'does not answer a token with the lease of whoever came after it',
    edits: [inMemory('if (former !== undefined) state.workers.delete(former.token);', '')],
  },
  {
    name: 'repeated acquire extends a range across an era',
    by: 'extends no range at a repeated acquire when another server answers',
    edits: [inAcquire('held.holder.era === header.era &&', 'true &&')],
  },
  {
    name: 'release only with the nonce of the last answer',
    by: 'takes a worker id back also when the answer to the last renewal was lost',
    edits: [inRelease(' || holder?.nonce === lease.nonceNext', '')],
  },
  {
    name: 'release with any nonce',
    by: 'takes a worker id back only from whoever knows the nonce',
    edits: [inRelease('if (!isHolder || !knowsNonce)', 'if (!isHolder)')],
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
    name: 'release of an unused lease keeps the ceiling',
    by: 'takes an unused lease back whole',
    edits: [
      inRelease('lastIssuedMs === undefined ? 0 :', 'lastIssuedMs === undefined ? Infinity :'),
    ],
  },
  {
    name: 'release below the floor of the lease',
    by: 'never lowers a ceiling below the floor of the lease given back',
    edits: [
      inRelease('Math.min(lastMs, Math.max(usedMs, holder.floorMs))', 'Math.min(lastMs, usedMs)'),
    ],
  },
  {
    name: 'wait for none free too short',
    by: 'says how long it is until the first of several worker ids is free',
    edits: [inAcquire('waitMs: lastMs - nowMs', 'waitMs: 1')],
  },
  {
    name: 'wait for none free too long',
    by: 'says that none is free, and for how long at most, when every worker id is leased',
    edits: [inAcquire('waitMs: lastMs - nowMs', 'waitMs: 2 * (lastMs - nowMs)')],
  },
  {
    name: 'free a millisecond too soon',
    by: 'keeps a worker id from others to the last millisecond of its range, and no longer',
    edits: [inAcquire('if (lastMs > nowMs && ', 'if (lastMs > nowMs + 1 && ')],
  },
  {
    name: 'wait after a loss too long',
    by: 'makes a new holder wait for a worthwhile range after a loss, and no longer',
    edits: [inAcquire("status: 'wait', waitMs }", "status: 'wait', waitMs: waitMs + 60_000 }")],
  },
  {
    name: 'hold after a loss too long',
    by: 'makes a holder wait for a worthwhile second range after a loss, and no longer',
    edits: [inRenew("status: 'hold', waitMs }", "status: 'hold', waitMs: waitMs + 60_000 }")],
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
    name: 'second range ends at floor + ttl',
    by: 'lets others start only after the second range of a holder',
    edits: [
      inRenew(
        'return grantKept(header, { ...slot, ceilingMs, holder }, terms);',
        'return grantKept(header, { ...slot, ceilingMs: floorMs + lease.ttlMs, holder }, terms);',
      ),
    ],
  },
  {
    name: 'a forgotten nonce is never forgiven',
    by: 'goes on with a holder of whose nonces it has forgotten some',
    edits: [inRenew('!(isNewEra && haveMs >= lastMs)', 'true')],
  },
  {
    name: 'any nonce is forgiven after a loss',
    by: 'tells a copy that knows less than the store that it is one, also after a loss',
    edits: [inRenew('!(isNewEra && haveMs >= lastMs)', '!isNewEra')],
  },
  {
    name: 'the mark of an old server proves a loss',
    by: 'counts a change of servers once, whatever those who knew the old one remember',
    edits: [inRenew('if (isOfAnother(header, seen))', 'if (header.incarnation === undefined)')],
  },
  {
    name: 'only a holder is believed that operations were lost',
    by: 'believes that operations were lost also one who holds nothing any more',
    edits: [
      inRenew(
        'provesLoss(mine, lease.mark, isHolder && lease.haveMs > lastMs)',
        'isHolder && provesLoss(mine, lease.mark, lease.haveMs > lastMs)',
      ),
    ],
  },
  {
    name: 'lost operations are not noticed',
    by: 'takes an operation it does not remember for a proof that writes were lost',
    edits: [inRenew('header.operations - 1 < seen.operations || hasMore', 'hasMore')],
  },
  {
    name: 'a lost ceiling is not noticed',
    by: 'takes a ceiling it does not remember for a proof that writes were lost',
    edits: [inRenew('isHolder && lease.haveMs > lastMs)', 'false)')],
  },
  {
    name: 'a former holder proves a loss',
    by: 'does not take the late renewal of a former holder for a proof of anything',
    edits: [inRenew('isHolder && lease.haveMs > lastMs)', 'lease.haveMs > lastMs)')],
  },
  {
    name: 'operations are not counted',
    by: 'says in each answer which registry it is, and counts up during a lease',
    edits: [inOpening('operations = stored.operations + 1', 'operations = stored.operations')],
  },
  {
    name: 'no loss window when another server answers',
    by: 'grants nothing before a quarantine when another server answers',
    edits: [inOpening('terms.ttlMs + reading.lossWindowMs', 'terms.ttlMs')],
  },
  {
    name: 'the longest ttl is forgotten',
    by: 'remembers the longest ttl ever granted for its quarantine',
    edits: [
      inOpening(
        'if (longerMs <= 0) return header;',
        'if (longerMs <= 0) return { ...header, quarantineMs };',
      ),
    ],
  },
  {
    name: 'a longer ttl of a renewal is not recorded',
    by: 'remembers for its quarantine also a longer ttl that came with a renewal',
    edits: [
      inOpening(
        'reopened(stored, terms, reading);',
        "reopened(stored, 'workerId' in terms ? { ...terms, ttlMs: 0 } : terms, reading);",
      ),
    ],
  },
  {
    name: 'each step back forgets the last',
    by: 'never turns its clock back, however often the host clock steps to and fro',
    edits: [inClock('? slewMs - elapsedMs', '? -elapsedMs')],
  },
  {
    name: 'the clock stands still after a step back',
    by: 'goes on raising ceilings after its clock stepped back',
    edits: [inClock('Math.floor(elapsedMs / 2)', 'elapsedMs')],
  },
  {
    name: 'the clock never comes home',
    by: 'comes back to the host clock some time after that stepped back',
    edits: [inClock('Math.max(0, slewMs - Math.floor(elapsedMs / 2))', 'slewMs')],
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
    name: 'any ceiling is believed',
    by: 'does not believe a ceiling further than a day ahead',
    edits: [
      inRenew(
        'haveMs < nowMs + SANE_MS ? Math.max(lastMs, haveMs) : lastMs',
        'Math.max(lastMs, haveMs)',
      ),
    ],
  },
  {
    name: 'no former holder is believed',
    by: 'lets others start only after a ceiling that a former holder was told',
    edits: [
      inRenew(
        'believed.ceilingMs > lastMs ? [believed]',
        'isHolder && believed.ceilingMs > lastMs ? [believed]',
      ),
    ],
  },
  {
    name: 'no former holder is believed where somebody else holds the worker id',
    by: 'lets others start only after such a ceiling if somebody else has the worker id by now',
    edits: [
      inRenew(
        'believed.ceilingMs > lastMs ? [believed]',
        '(isHolder || holder === undefined) && believed.ceilingMs > lastMs ? [believed]',
      ),
    ],
  },
  {
    name: 'release in another layout',
    by: 'takes nothing back for another layout',
    edits: [
      inRelease(
        '{ ...lease, haveMs: 0 }',
        '{ ...lease, fingerprint: stored?.fingerprint ?? lease.fingerprint, haveMs: 0 }',
      ),
    ],
  },
  {
    name: 'a lease that ran out is gone',
    by: 'prolongs a lease that ran out as long as nobody else has the worker id',
    edits: [inRenew('if (isHolder) {', 'if (isHolder && lastMs >= nowOf(header)) {')],
  },
  {
    name: 'a renewal is accepted once',
    by: 'accepts the same renewal again, because its answer may have been lost',
    edits: [
      inRenew('holder.nonce === nonce || holder.nonce === nonceNext', 'holder.nonce === nonce'),
    ],
  },
  {
    name: 'FENCED where nobody holds the worker id',
    by: 'answers UNKNOWN where nobody holds the worker id',
    edits: [inRenew("'moved' : 'unknown'", "'moved' : 'fenced'")],
  },
  {
    name: 'the lowest worker id is taken for 0',
    by: 'leases a worker id within the bounds asked for, both included',
    edits: [
      inMemory(
        'nextWorkerId(spanToSearch(request, state, nowMs), {',
        'nextWorkerId({ ...spanToSearch(request, state, nowMs), workerIdMin: 0 }, {',
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
    name: 'a draw that leaves its span',
    by: 'keeps wide pools apart',
    edits: [
      inSearch('span.workerIdMin + Math.floor(draw() * reach)', 'Math.floor(draw() * reach)'),
    ],
  },
  {
    name: 'a ceiling two ttl ahead',
    by: 'sets no ceiling further ahead of its clock than one ttl',
    edits: [
      inAcquire(
        'const ceilingMs = nowMs + request.ttlMs;',
        'const ceilingMs = nowMs + 2 * request.ttlMs;',
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
    name: 'a token is not remembered',
    by: 'answers a repeated acquire with the same lease, and takes no second worker id',
    edits: [inMemory('state?.workers.get(request.token)', "state?.workers.get('')")],
  },
  {
    name: 'the worker id released last is taken first',
    by: 'takes the worker id that has been free for longest',
    edits: [
      inSearch('IdSpan, { ceilingOf }: Searched', 'IdSpan, { ceilingOf, nowMs }: Searched'),
      inSearch(
        'if (ceilingMs < ceilingOf(best)) best',
        'if (ceilingMs <= nowMs && ceilingMs > ceilingOf(best)) best',
      ),
    ],
  },
  {
    name: 'what is free is not listed',
    by: 'lists who holds what, and what is free',
    edits: [inMemory('[...state.ceilings.keys()]', '[...state.holders.keys()]')],
  },
  {
    name: 'what is listed takes no account of a step back that has been caught up with',
    by: 'lists how long a lease lasts by the clock of its renewals, also after a step back',
    edits: [inMemory('slots, nowAt(state, { timeMs })', 'slots, timeMs + state.slewMs')],
  },
];

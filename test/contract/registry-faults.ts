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

const inRegistry = (find: string, put: string): Edit => {
  return { file: 'backends/memory/memory-registry.ts', find, put };
};
const inState = (find: string, put: string): Edit => {
  return { file: 'backends/memory/registry-state.ts', find, put };
};

export const REGISTRY_FAULTS: readonly Fault[] = [
  {
    name: 'a fenced holder not told where the new range begins',
    by: 'tells a holder that came too late that somebody else has its worker id, and since when',
    edits: [
      inRegistry(
        "return { status: 'fenced', floorMs: owner.floorMs };",
        "return { status: 'fenced' };",
      ),
    ],
  },
  {
    name: 'repeated acquire answered, not stored',
    by: 'raises the ceiling at a repeated acquire, and remembers it',
    edits: [
      inRegistry(
        `state.ceilings.set(held, Math.max(state.ceilings.get(held)!, ceilingMs));
      return this.grant(held, state.owners.get(held)!.floorMs);`,
        `const again = this.grant(held, state.owners.get(held)!.floorMs);
      return { ...again, ceilingMs };`,
      ),
    ],
  },
  {
    name: 'repeated acquire lowers the ceiling',
    by: 'lowers no ceiling when less is asked for than before',
    edits: [inRegistry('Math.max(state.ceilings.get(held)!, ceilingMs)', 'ceilingMs')],
  },
  {
    name: 'repeated acquire turns the nonces back',
    by: 'does not turn the chain of nonces back when an acquire comes again',
    edits: [
      inRegistry(
        'return this.grant(held, state.owners.get(held)!.floorMs);',
        `const { nonce: first } = request;
      state.owners.set(held, { ...state.owners.get(held)!, nonce: first });
      return this.grant(held, state.owners.get(held)!.floorMs);`,
      ),
    ],
  },
  {
    name: 'a token leads to the lease of its successor',
    by: 'does not answer a token with the lease of whoever came after it',
    edits: [
      inRegistry(
        `this.forget(workerId, state);
    const { token`,
        'const { token',
      ),
    ],
  },
  {
    name: 'repeated acquire extends a range across an era',
    by: 'extends no range at a repeated acquire when another server answers',
    edits: [
      inRegistry(
        'if (state.owners.get(workerId)!.era === state.era) return workerId;',
        'return workerId;',
      ),
    ],
  },
  {
    name: 'release only with the nonce of the last answer',
    by: 'takes a worker id back also when the answer to the last renewal was lost',
    edits: [
      inRegistry(
        'owner.nonce !== lease.nonce && owner.nonce !== lease.nonceNext',
        'owner.nonce !== lease.nonce',
      ),
    ],
  },
  {
    name: 'release with any nonce',
    by: 'takes a worker id back only from whoever knows the nonce',
    edits: [
      inRegistry('if (owner.nonce !== lease.nonce && owner.nonce !== lease.nonceNext) return;', ''),
    ],
  },
  {
    name: 'release raises the ceiling',
    by: 'never raises a ceiling by a release',
    edits: [
      inRegistry(
        'Math.min(lastMs, Math.max(usedMs, owner.floorMs))',
        'Math.max(usedMs, owner.floorMs)',
      ),
    ],
  },
  {
    name: 'release of an unknown lease throws',
    by: 'does nothing at the release of a lease that it never granted',
    edits: [
      inRegistry(
        'owner === undefined || owner.token !== lease.token) return;',
        'owner === undefined || owner.token !== lease.token) throw Error();',
      ),
    ],
  },
  {
    name: 'release of an unused lease keeps the ceiling',
    by: 'takes an unused lease back whole',
    edits: [
      inRegistry('lastIssuedMs === undefined ? 0 :', 'lastIssuedMs === undefined ? Infinity :'),
    ],
  },
  {
    name: 'release below the floor of the lease',
    by: 'never lowers a ceiling below the floor of the lease given back',
    edits: [
      inRegistry('Math.min(lastMs, Math.max(usedMs, owner.floorMs))', 'Math.min(lastMs, usedMs)'),
    ],
  },
  {
    name: 'wait for none free too short',
    by: 'says how long it is until the first of several worker ids is free',
    edits: [inRegistry('waitMs: lastMs - nowMs', 'waitMs: 1')],
  },
  {
    name: 'wait for none free too long',
    by: 'says that none is free, and for how long at most, when every worker id is leased',
    edits: [inRegistry('waitMs: lastMs - nowMs', 'waitMs: 2 * (lastMs - nowMs)')],
  },
  {
    name: 'free a millisecond too soon',
    by: 'keeps a worker id from others to the last millisecond of its range, and no longer',
    edits: [inRegistry('if (lastMs > nowMs)', 'if (lastMs > nowMs + 1)')],
  },
  {
    name: 'wait after a loss too long',
    by: 'makes a new holder wait for a worthwhile range after a loss, and no longer',
    edits: [
      inRegistry(
        "return { status: 'wait', waitMs };",
        "return { status: 'wait', waitMs: waitMs + 60_000 };",
      ),
    ],
  },
  {
    name: 'hold after a loss too long',
    by: 'makes a holder wait for a worthwhile second range after a loss, and no longer',
    edits: [
      inRegistry(
        "return { status: 'hold', waitMs };",
        "return { status: 'hold', waitMs: waitMs + 60_000 };",
      ),
    ],
  },
  {
    name: 'second range answered, not stored',
    by: 'prolongs the second range of a holder like any other, and remembers it',
    edits: [
      inRegistry(
        'this.store(workerId, nowMs + lease.ttlMs, { ...next, floorMs',
        'this.store(workerId, lastMs, { ...next, floorMs',
      ),
    ],
  },
  {
    name: 'second range ends at floor + ttl',
    by: 'keeps others behind the second range of a holder',
    edits: [
      inRegistry(
        'this.store(workerId, nowMs + lease.ttlMs, { ...next, floorMs',
        'this.store(workerId, floorMs + lease.ttlMs, { ...next, floorMs',
      ),
    ],
  },
  {
    name: 'a forgotten nonce is never forgiven',
    by: 'goes on with a holder of whose nonces it has forgotten some',
    edits: [inRegistry('!(isNewEra && haveMs >= lastMs)', 'true')],
  },
  {
    name: 'any nonce is forgiven after a loss',
    by: 'tells a copy that knows less than the store that it is one, also after a loss',
    edits: [inRegistry('!(isNewEra && haveMs >= lastMs)', '!isNewEra')],
  },
  {
    name: 'the mark of an old server proves a loss',
    by: 'counts a change of servers once, whatever those who knew the old one remember',
    edits: [inRegistry('|| seen.server !== state.server) return false;', ') return false;')],
  },
  {
    name: 'only a holder is believed that operations were lost',
    by: 'believes that operations were lost also one who holds nothing any more',
    edits: [
      inRegistry(
        'provesLoss(state, lease.mark, isHolder && haveMs > lastMs)',
        'isHolder && provesLoss(state, lease.mark, haveMs > lastMs)',
      ),
    ],
  },
  {
    name: 'lost operations are not noticed',
    by: 'takes an operation it does not remember for a proof that writes were lost',
    edits: [inRegistry('state.operations - 1 < seen.operations || hasMore', 'hasMore')],
  },
  {
    name: 'a lost ceiling is not noticed',
    by: 'takes a ceiling it does not remember for a proof that writes were lost',
    edits: [inRegistry('isHolder && haveMs > lastMs)', 'false)')],
  },
  {
    name: 'a former holder proves a loss',
    by: 'does not take the late renewal of a former holder for a proof of anything',
    edits: [inRegistry('isHolder && haveMs > lastMs)', 'haveMs > lastMs)')],
  },
  {
    name: 'operations are not counted',
    by: 'says in each answer which registry it is, and counts its operations',
    edits: [
      inRegistry(
        `state.operations++;
    if (!isOther) return`,
        'if (!isOther) return',
      ),
    ],
  },
  {
    name: 'no loss window when another server answers',
    by: 'grants nothing before a quarantine when another server answers',
    edits: [inState('terms.ttlMs + store.lossWindowMs', 'terms.ttlMs')],
  },
  {
    name: 'the longest ttl is forgotten',
    by: 'remembers the longest ttl ever granted for its quarantine',
    edits: [
      inState(
        'if (longerMs <= 0) return;',
        'state.quarantineMs = quarantineMs; if (longerMs <= 0) return;',
      ),
    ],
  },
  {
    name: 'a longer ttl of a renewal is not recorded',
    by: 'remembers for its quarantine also a longer ttl that came with a renewal',
    edits: [
      inRegistry(
        'reopenState(state, terms, store);',
        "reopenState(state, 'workerId' in terms ? { ...terms, ttlMs: 0 } : terms, store);",
      ),
    ],
  },
  {
    name: 'each step back forgets the last',
    by: 'never turns its clock back, however often the host clock steps to and fro',
    edits: [inState('? slewMs - elapsedMs', '? -elapsedMs')],
  },
  {
    name: 'the clock stands still after a step back',
    by: 'goes on raising ceilings after its clock stepped back',
    edits: [inState('Math.floor(elapsedMs / 2)', 'elapsedMs')],
  },
  {
    name: 'the clock never comes home',
    by: 'comes back to the host clock some time after that stepped back',
    edits: [inState('Math.max(0, slewMs - Math.floor(elapsedMs / 2))', 'slewMs')],
  },
  {
    name: 'a stranger prolongs',
    by: 'prolongs nothing for a stranger, also where it only answers that it will not',
    edits: [
      inRegistry(
        'if (believedMs > lastMs) state.ceilings.set(workerId, believedMs);',
        'state.ceilings.set(workerId, Math.max(believedMs, nowMs + lease.ttlMs));',
      ),
    ],
  },
  {
    name: 'any ceiling is believed',
    by: 'does not believe a ceiling further than a day ahead',
    edits: [
      inRegistry(
        'haveMs < nowMs + SANE_MS ? Math.max(lastMs, haveMs) : lastMs',
        'Math.max(lastMs, haveMs)',
      ),
    ],
  },
  {
    name: 'no former holder is believed',
    by: 'keeps others behind a ceiling that a former holder was answered',
    edits: [
      inRegistry('if (believedMs > lastMs) state', 'if (isHolder && believedMs > lastMs) state'),
    ],
  },
  {
    name: 'no former holder is believed where somebody else holds the worker id',
    by: 'keeps others behind such a ceiling also where somebody else has the worker id by now',
    edits: [
      inRegistry(
        'if (believedMs > lastMs) state',
        'if ((isHolder || owner === undefined) && believedMs > lastMs) state',
      ),
    ],
  },
  {
    name: 'release in another layout',
    by: 'takes nothing back for another layout',
    edits: [
      inRegistry(
        'this.open(lease, store, 0)',
        'this.open({ ...lease, ...this.state, ttlMs: lease.ttlMs }, store, 0)',
      ),
    ],
  },
  {
    name: 'a lease that ran out is gone',
    by: 'prolongs a lease that ran out as long as nobody else has the worker id',
    edits: [inRegistry('if (!isHolder) return', 'if (!isHolder || lastMs < nowMs) return')],
  },
  {
    name: 'a renewal is accepted once',
    by: 'accepts the same renewal again, because its answer may have been lost',
    edits: [
      inRegistry(
        'owner.nonce === lease.nonce || owner.nonce === lease.nonceNext',
        'owner.nonce === lease.nonce',
      ),
    ],
  },
  {
    name: 'FENCED where nobody holds the worker id',
    by: 'answers UNKNOWN where nobody holds the worker id',
    edits: [inRegistry("return { status: 'unknown' };", "return { status: 'fenced' };")],
  },
  {
    name: 'the lowest worker id is taken for 0',
    by: 'leases a worker id within the bounds asked for, both included',
    edits: [inRegistry('request.workerIdMin, request.workerIdMax)', '0, request.workerIdMax)')],
  },
  {
    name: 'the highest worker id is not looked at',
    by: 'keeps pools of worker ids apart: what one lacks is not taken from another',
    edits: [inRegistry('request.workerIdMin, request.workerIdMax)', 'request.workerIdMin, 1023)')],
  },
  {
    name: 'a ceiling two ttl ahead',
    by: 'sets no ceiling further ahead of its clock than one ttl',
    edits: [
      inRegistry(
        'const ceilingMs = nowMs + request.ttlMs;',
        'const ceilingMs = nowMs + 2 * request.ttlMs;',
      ),
    ],
  },
  {
    name: 'another layout is not noticed',
    by: 'refuses another layout in the same registry, naming the one it knows',
    edits: [
      inRegistry('const isOther = isForAnother(state, fingerprint);', 'const isOther = false;'),
    ],
  },
  {
    name: 'a token is not remembered',
    by: 'answers a repeated acquire with the same lease, and takes no second worker id',
    edits: [inRegistry('this.heldBy(request.token, state)', "this.heldBy('', state)")],
  },
  {
    name: 'the worker id released last is taken first',
    by: 'takes the worker id that has been free for longest',
    edits: [
      inRegistry(
        'ceilingMs < state.ceilings.get(best)!',
        'ceilingMs <= nowOf(state) && ceilingMs > state.ceilings.get(best)!',
      ),
    ],
  },
  {
    name: 'what is free is not listed',
    by: 'lists who holds what, and what is free',
    edits: [
      inRegistry(
        'return [...this.state.ceilings]',
        'return [...this.state.ceilings].filter(([id]) => this.state!.owners.has(id))',
      ),
    ],
  },
];

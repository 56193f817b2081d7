/**
 * Supports with common errors, each with the case that rejects it.
 */
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import type { StoreReading } from '../../lib/registry/snapshot.js';
import { MemoryRegistry } from '../models/memory-registry.js';
import { SettableTime, type HarnessParts, type ContractNeed } from '../../lib/testing/index.js';
import type { Fault } from './registry-faults.js';
type Store = Omit<HarnessParts, 'expect'>;

/** The shared state of the processes on one registry. */
interface Shared {
  count: number;
  readonly holders: Map<number, { token: string; endMs: number }>;
}

function storeOf(build: (shared: Shared, clock: SettableTime) => IDistributedSupport): Store {
  const clock = new SettableTime();
  const registries = new Map<string, Shared>();
  return {
    clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
    createSupport(name) {
      if (!registries.has(name)) registries.set(name, { count: 0, holders: new Map() });
      return build(registries.get(name)!, clock);
    },
    lossControl: {
      wipe: (name) => registries.get(name)?.holders.clear(),
      restart: () => undefined,
      remember: () => undefined,
      restore: () => undefined,
    },
  };
}

/** INCR modulo the number of worker IDs: after enough starts, it grants a worker ID in use. */
const counterThatWraps = () =>
  storeOf((shared) => ({
    async getNextWorkId({ workerIdMin, workerIdMax }: LeaseRequest): Promise<LeaseAnswer> {
      const workerId = workerIdMin + (shared.count++ % (workerIdMax - workerIdMin + 1));
      return { status: 'ok', workerId, floorMs: -Infinity, ceilingMs: Infinity };
    },
    async refreshAlive({ workerId }: WorkerLease): Promise<LeaseAnswer> {
      return { status: 'ok', workerId, floorMs: -Infinity, ceilingMs: Infinity };
    },
  }));

/** SET NX PX with renewal by the owner: the usual lease, without ranges. */
const leaseWithoutRanges = () =>
  storeOf(({ holders }, clock) => {
    const grant = (workerId: number, token: string, ttlMs: number): LeaseAnswer => {
      const nowMs = clock.now();
      holders.set(workerId, { token, endMs: nowMs + ttlMs });
      return { status: 'ok', workerId, floorMs: nowMs, ceilingMs: nowMs + ttlMs, nowMs };
    };
    return {
      async getNextWorkId({ token, ttlMs, workerIdMin, workerIdMax }: LeaseRequest) {
        for (let workerId = workerIdMin; workerId <= workerIdMax; workerId++) {
          const endMs = holders.get(workerId)?.endMs ?? 0;
          if (endMs <= clock.now()) return grant(workerId, token, ttlMs);
        }
        return { status: 'none-free', waitMs: ttlMs } as const;
      },
      async refreshAlive({ workerId, token, ttlMs }: WorkerLease): Promise<LeaseAnswer> {
        if (holders.get(workerId)?.token !== token) return { status: 'fenced' };
        return grant(workerId, token, ttlMs);
      },
      async release({ workerId, token }: WorkerLease) {
        if (holders.get(workerId)?.token === token) holders.delete(workerId);
      },
    };
  });

type Operation = 'acquire' | 'renew' | 'release';

/** Loads the registry, takes a step, and stores it; the named operations do so without a lock. */
function rowWithoutLock(...unlocked: readonly Operation[]): Store {
  const clock = new SettableTime();
  const rows = new Map<string, MemoryRegistry['state']>();
  const reading = { server: 'one', random: 'text', lossWindowMs: 0 };
  return {
    clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
    createSupport(name) {
      const step = async <T>(
        operation: Operation,
        run: (registry: MemoryRegistry, at: StoreReading) => T,
      ): Promise<T> => {
        const isUnlocked = unlocked.includes(operation);
        const registry = new MemoryRegistry();
        registry.state = structuredClone(rows.get(name));
        if (isUnlocked) await Promise.resolve();
        const answer = run(registry, { ...reading, timeMs: clock.now() });
        if (isUnlocked) await Promise.resolve();
        rows.set(name, registry.state);
        return answer;
      };
      return {
        getNextWorkId: (request) =>
          step('acquire', (registry, at) => registry.acquire(request, at)),
        refreshAlive: (lease) => step('renew', (registry, at) => registry.renew(lease, at)),
        release: (lease, lastMs) =>
          step('release', (registry, at) => registry.release(lease, lastMs, at)),
      };
    },
  };
}

export const WRONG_SUPPORTS: readonly {
  readonly name: string;
  /** The case of the suite for this fault. */
  readonly by: string;
  readonly build: () => Store;
  readonly leaveOut: readonly ContractNeed[];
}[] = [
  {
    name: 'a counter that wraps (INCR % n)',
    by: 'says that none is free, and for how long at most, when every worker id is leased',
    build: counterThatWraps,
    leaveOut: ['version', 'release', 'workers'],
  },
  {
    name: 'a lease without ranges (SET NX PX)',
    by: 'starts the next holder right after the last id that was generated',
    build: leaseWithoutRanges,
    leaveOut: ['version', 'workers'],
  },
  {
    name: 'a row read and written without a lock',
    by: 'gives 30 who ask at once as many different worker ids',
    build: () => rowWithoutLock('acquire', 'renew', 'release'),
    leaveOut: ['losses', 'version', 'workers'],
  },
  {
    name: 'a renewal that reads and writes without a lock',
    by: 'gives a worker id to one of two when its holder and a new one come at once',
    build: () => rowWithoutLock('renew'),
    leaveOut: ['losses', 'version', 'workers'],
  },
  {
    name: 'a release that reads and writes without a lock',
    by: 'loses no new lease to a release that comes at once',
    build: () => rowWithoutLock('release'),
    leaveOut: ['losses', 'version', 'workers'],
  },
];

/*
 * Faults of a registry after a loss, or of a store with a wrong clock, each with the case that must
 * reject it.
 */

const inOpening = (find: string, put: string) => ({ file: 'registry/prologue.ts', find, put });

export const TIME_FAULTS: readonly Fault[] = [
  {
    name: 'a floor that is told late is for newcomers only',
    by: 'moves the floor for all where it is told late that a lost registry was ahead',
    edits: [
      inOpening(
        'raised(moved, Math.max(safeFloorMs, windowEndMs))',
        '{ ...moved, safeFloorMs: Math.max(safeFloorMs, windowEndMs) }',
      ),
    ],
  },
  {
    name: 'a witness counts also after a loss',
    by: 'follows its store after a loss, whatever clock whoever asks has',
    edits: [
      inOpening('isSame ? { ...reading, timeMs }', 'stored ? { ...reading, timeMs }'),
      inOpening('isReckonedHere ? reckoned : undefined', 'reckoned'),
    ],
  },
];

/*
 * Faults of a registry after a failover and a failback, each with the case that must reject it.
 */

const inBranch = (find: string, put: string) => ({ file: 'registry/prologue.ts', find, put });

export const BRANCH_FAULTS: readonly Fault[] = [
  {
    name: 'what another server granted is no proof',
    by: 'starts above what another server granted in the meantime, once somebody renews who knows',
    edits: [
      inBranch('if (seen === undefined || !isOfAnother(header, seen))', 'if (seen !== null)'),
    ],
  },
  {
    name: 'what a server granted that had been left is kept',
    by: 'has everybody leave who was granted a range by a server that had been left',
    edits: [inBranch(', safeFloorMs, leftEra: lost.era }', ', safeFloorMs }')],
  },
];

/*
 * Faults of claims that a suite could overlook, as edits of the reference, each with the case that
 * must reject it.
 */

const ACQUIRE = 'registry/acquire.ts';
const RENEW = 'registry/renew.ts';

export const CLAIM_FAULTS: readonly Fault[] = [
  {
    name: 'a holder fenced by a claim prolonged',
    by: 'lets a worker id be taken over, from where the range of its holder ends',
    edits: [
      {
        file: RENEW,
        find: "return { answer: { status: 'fenced', floorMs: holder.floorMs }, header,",
        put:
          'const heir = { ...holder, nonce: lease.nonce };\n' +
          'return { ...prolonged(header, { ...believed, holder: heir }, lease),',
      },
    ],
  },
  {
    name: 'a claim that lowers a ceiling',
    by: 'lets a claim wait until there is a range worth having, and lowers no ceiling for it',
    edits: [
      {
        file: ACQUIRE,
        find: "if (waitMs > 0) return { answer: { status: 'wait', waitMs }",
        put: "if (waitMs > 0 && !isClaim(request)) return { answer: { status: 'wait', waitMs }",
      },
    ],
  },
];

/**
 * The contract case for each broken variant of the protocol. Any case may reject a mutant that is
 * not listed here.
 */
export const MUTANT_REJECTED_BY: Readonly<Record<string, readonly string[]>> = {
  'no floor at re-grant': ['starts a new holder where the range of the last one ended, not before'],
  'renew answers but does not store': ['raises the ceiling of a lease, and remembers it'],
  'renew without token check': ['prolongs only for the token that holds the worker id'],
  'release without token check': ['takes a worker id back only from the token that holds it'],
  'acquire in two steps': ['gives 30 who ask at once as many different worker ids'],
  'renew may lower the ceiling': [
    'never lowers a ceiling, and never turns its clock back, when the host clock steps back',
  ],
  'no quarantine of a new registry': [
    'starts after everything that an absent registry could have forgotten',
  ],
  'server change ignored': ['grants nothing before a quarantine when another server answers'],
  'range extended across an era': [
    'never extends a range across a change of servers: the holder gets another one after it',
  ],
  'a claim starts at now, not at the stored ceiling': [
    'lets a worker id be taken over, from where the range of its holder ends',
    'keeps apart the ranges of two who take a worker id over from each other',
  ],
  'safe floor kept but not applied': [
    'starts after every forgotten range when the registry was wiped',
  ],
  'a drawn worker id granted without reading its ceiling': [
    'leases from millions of worker ids, each to one holder at a time',
  ],
};

/**
 * The only contract cases that each safe variant fails. The suite demands more than uniqueness
 * needs: accurate times, detected copies, and early proof of a loss.
 */
export const SAFE_VARIANT_IS_WITHOUT: Readonly<Record<string, readonly string[]>> = {
  'random choice among the free worker ids': ['takes the worker id that has been free for longest'],
  'raw TIME without slewing': [
    'never lowers a ceiling, and never turns its clock back, when the host clock steps back',
    'continues raising ceilings after its clock stepped back',
    'never turns its clock back, however often the host clock steps to and fro',
    'lets nobody wait for longer than a quarantine, however far ahead that range ends',
    'begins no range below the floor of another registry, and takes its time up',
    'starts after what a lost registry granted before an operator set its clock back',
  ],
};

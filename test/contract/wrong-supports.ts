/**
 * Supports as they are written elsewhere, each wrong in its own way, and the case that says so.
 */
import { MemoryRegistry } from '../../lib/stores/memory/index.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import type { StoreReading } from '../../lib/registry/snapshot.js';
import { SettableTime, type BenchParts, type ContractNeed } from '../../lib/testing/index.js';

type Store = Omit<BenchParts, 'expect'>;

/** What the processes on one registry share. */
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

/** INCR, modulo the number of worker ids: after so many starts it lands on somebody alive. */
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

/** SET NX PX and a renewal by the owner: the usual lease, which knows no ranges. */
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

/** Loads the registry, takes a step and stores it; what is named does so without a lock. */
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
  /** The case of the suite that is about it. */
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
    by: 'starts the next holder right after the last id that was made',
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

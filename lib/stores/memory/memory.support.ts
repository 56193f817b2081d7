/**
 * Worker ids from a registry in this process: for tests, and for several generators of one
 * process. Guarantee: the contract of IDistributedSupport in full, by the reference registry.
 * It is empty at each start, so that processes cannot agree by it, and the clock alone keeps the
 * ids of a process apart from those of the one before it.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
  WorkerRecord,
} from '../../lease/distributed-support.js';
import { methodFaults, nameFaults, refuse, unknownNames } from '../../options.js';
import { processWide } from '../../process-wide.js';
import { acquire, nextWorkerId, spanToSearch } from '../../registry/acquire.js';
import { newHeader } from '../../registry/prologue.js';
import {
  workerRecords,
  checkChanges,
  type AcquireSnapshot,
  type Changes,
  type HeldSlot,
  type RegistryHeader,
  type SlotHolder,
  type StoreReading,
  type WorkerSnapshot,
  type WorkerSlot,
} from '../../registry/snapshot.js';
import { release, renew } from '../../registry/renew.js';
import { nowAt } from '../../rows/store-clock.js';

/** Options of MemorySupport. */
export interface MemorySupportOptions {
  /**
   * One id space: supports of this process with the same namespace (and the same clock) share one
   * registry. Default 'default'.
   */
  readonly namespace?: string | undefined;
  /** A registry of its own, shared only with supports that are given the same one. */
  readonly registry?: MemoryRegistry | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Starts at once with exact times: no process that is alive can know more than its registry. Ids do
 * not run ahead of the host's clock unless `aheadMsMax` says so, since a restart forgets them.
 * A worker thread has a memory of its own; let it share the lease of another thread.
 *
 * @example
 * ```ts
 * import { MemorySupport, SnowflakeModule } from 'nestjs-snowflake';
 *
 * SnowflakeModule.forRoot({ support: new MemorySupport() });
 * ```
 */
export class MemorySupport implements IDistributedSupport {
  readonly location = 'the memory of this process';
  readonly lossWindowMs = 0;
  /** A clock that is set belongs to a test: no process goes on in its time after this one. */
  readonly isVolatile: boolean;
  private readonly registry: MemoryRegistry;
  private readonly clock: Clock;

  constructor(options: MemorySupportOptions = {}) {
    const { namespace = 'default', clock = systemClock, registry } = options;
    refuse([
      ...unknownNames(options, 'namespace, registry, clock', 'MemorySupport'),
      ...nameFaults('namespace', namespace),
      ...methodFaults('clock', clock, ['now']),
      ...(registry === undefined ? [] : methodFaults('registry', registry, ['acquire', 'renew'])),
    ]);
    this.clock = clock;
    this.isVolatile = isHosts(clock);
    const asked = registry ?? sharedRegistry(namespace, options.clock);
    this.registry = begun(asked, this.reading());
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    return this.registry.acquire(request, this.reading());
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    return this.registry.renew(lease, this.reading());
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    this.registry.release(lease, lastIssuedMs, this.reading());
  }

  async workers(): Promise<WorkerRecord[]> {
    return this.registry.workers(this.clock.now());
  }

  private reading(): StoreReading {
    // Two processes have two registries: `status.incarnation` must show it.
    const random = `memory ${Math.random().toString(36).slice(2)}`;
    return { timeMs: this.clock.now(), server: 'memory', random, lossWindowMs: 0 };
  }
}

/*
 * A registry in memory: Maps around the rules of `lib/registry`.
 *
 * Time, server and randomness are given at each call, and each call is one step, so that tests and
 * simulations decide what happens.
 */

/** The header, and the slots by what they are looked up by. */
export type RegistryState = { -readonly [Name in keyof RegistryHeader]: RegistryHeader[Name] } & {
  readonly ceilings: Map<number, number>;
  readonly holders: Map<number, SlotHolder>;
  /** The worker id that is held by a token. */
  readonly workers: Map<string, number>;
};

/**
 * The registry that a MemorySupport keeps; give the same one to supports that shall share it. Set
 * its `state` to undefined, and it has lost its data.
 */
export class MemoryRegistry {
  /** Undefined where there is none, or where it was lost. */
  state: RegistryState | undefined;

  /** @param wholeCountMax of how many worker ids a span is searched whole; for tests */
  constructor(private readonly wholeCountMax?: number) {}

  acquire(request: LeaseRequest, reading: StoreReading): LeaseAnswer {
    const step = acquire(this.snapshotFor(request, reading), request, reading);
    this.write(step);
    return step.answer;
  }

  renew(lease: WorkerLease, reading: StoreReading): LeaseAnswer {
    const step = renew(this.snapshotOf(lease.workerId), lease, reading);
    this.write(step);
    return step.answer;
  }

  release(lease: WorkerLease, lastIssuedMs: number | undefined, reading: StoreReading): void {
    this.write(release(this.snapshotOf(lease.workerId), lease, lastIssuedMs, reading));
  }

  workers(timeMs: number): WorkerRecord[] {
    const { state } = this;
    if (state === undefined) return [];
    const slots = [...state.ceilings.keys()].map((workerId) => slotOf(state, workerId));
    return workerRecords(slots, nowAt(state, { timeMs }));
  }

  private snapshotOf(workerId: number): WorkerSnapshot {
    const { state } = this;
    return { header: headerOf(state), slot: slotOf(state, workerId) };
  }

  private snapshotFor(request: LeaseRequest, reading: StoreReading): AcquireSnapshot {
    const { state } = this;
    const heldId = state?.workers.get(request.token);
    const held = heldId === undefined ? undefined : (slotOf(state, heldId) as HeldSlot);
    const lowest = slotOf(state, this.search(request, reading));
    return { header: headerOf(state), held, lowest };
  }

  private search(request: LeaseRequest, { timeMs, random: seed }: StoreReading): number {
    const { state, wholeCountMax } = this;
    const nowMs = state === undefined ? timeMs : nowAt(state, { timeMs });
    const ceilingOf = (workerId: number) => state?.ceilings.get(workerId) ?? 0;
    return nextWorkerId(spanToSearch(request, state, nowMs), {
      ceilingOf,
      nowMs,
      seed,
      wholeCountMax,
    });
  }

  private write(changes: Changes): void {
    const { header, slots } = changes;
    checkChanges(this.state, changes);
    if (header !== undefined) this.state = Object.assign(this.state ?? noSlots(), header);
    for (const slot of slots) writeSlot(this.state!, slot);
  }
}

/** A registry of which nothing is known but its header. */
export function stateOf(header: RegistryHeader): RegistryState {
  return { ...header, ...noSlots() };
}

function noSlots() {
  return {
    ceilings: new Map<number, number>(),
    holders: new Map<number, SlotHolder>(),
    workers: new Map<string, number>(),
  };
}

function headerOf(state: RegistryState | undefined): RegistryHeader | undefined {
  if (state === undefined) return undefined;
  const { ceilings: _, holders: __, workers: ___, ...header } = state;
  return header;
}

function slotOf(state: RegistryState | undefined, workerId: number): WorkerSlot {
  const holder = state?.holders.get(workerId);
  return { workerId, ceilingMs: state?.ceilings.get(workerId) ?? 0, ...(holder && { holder }) };
}

function writeSlot(state: RegistryState, { workerId, ceilingMs, holder }: WorkerSlot): void {
  const former = state.holders.get(workerId);
  if (former !== undefined) state.workers.delete(former.token);
  state.ceilings.set(workerId, ceilingMs);
  state.holders.delete(workerId);
  if (holder === undefined) return;
  state.holders.set(workerId, holder);
  state.workers.set(holder.token, workerId);
}

/*
 * The registries of this process: one for each namespace, shared by all that ask for it.
 *
 * Guarantee: two supports of one namespace cannot lease the same worker id, even if two copies of
 * this package are loaded. Only a registry that begins here, with the process, is known to be new.
 */

interface ProcessRegistries {
  /** A clock of its own is another time, in which the registries of this one mean nothing. */
  readonly byClock: WeakMap<object, Map<string, MemoryRegistry>>;
  readonly begun: WeakSet<MemoryRegistry>;
  /** Stands for the clock of the host. */
  readonly hostClock: object;
}

const ofProcess = (): ProcessRegistries =>
  processWide('memory-registries', () => ({
    byClock: new WeakMap(),
    begun: new WeakSet(),
    hostClock: {},
  }));

/** Another copy of the package has another object for the same clock. */
function isHosts(clock: Clock): boolean {
  return clock.now === systemClock.now;
}

function sharedRegistry(namespace: string, clock: Clock | undefined): MemoryRegistry {
  const { byClock, hostClock } = ofProcess();
  const key = clock === undefined || isHosts(clock) ? hostClock : clock;
  const registries = byClock.get(key) ?? new Map<string, MemoryRegistry>();
  byClock.set(key, registries);
  const registry = registries.get(namespace) ?? new MemoryRegistry();
  registries.set(namespace, registry);
  return registry;
}

/** Begins a registry that was never used; one that lost what it knew is not taken for new. */
function begun(registry: MemoryRegistry, reading: StoreReading): MemoryRegistry {
  const { begun: known } = ofProcess();
  if (!known.has(registry)) registry.state ??= stateOf(newHeader(reading));
  known.add(registry);
  return registry;
}

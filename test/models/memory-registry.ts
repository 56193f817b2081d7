/**
 * The reference registry of the tests: Maps around the rules of `lib/registry`.
 *
 * Each call takes the time, the server and the random value, and is one step. So tests and
 * simulations control the sequence of events.
 */
import type {
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
  WorkerRecord,
} from '../../lib/lease/distributed-support.js';
import { acquire, spanToSearch } from '../../lib/registry/acquire.js';
import { release, renew } from '../../lib/registry/renew.js';
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
} from '../../lib/registry/snapshot.js';
import { nowAt } from '../../lib/rows/store-clock.js';
import { nextWorkerId } from './worker-id-search.js';

/** The header, and the slots by their search keys. */
export type RegistryState = { -readonly [Name in keyof RegistryHeader]: RegistryHeader[Name] } & {
  readonly ceilings: Map<number, number>;
  readonly holders: Map<number, SlotHolder>;
  /** The worker ID of each token. */
  readonly workers: Map<string, number>;
};

/** A registry in memory. To lose its data, set `state` to undefined. */
export class MemoryRegistry {
  /** Undefined before the registry exists, or after a loss. */
  state: RegistryState | undefined;

  /** @param wholeCountMax the largest span of worker IDs that is searched whole; for tests */
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

/** A registry with a header only. */
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

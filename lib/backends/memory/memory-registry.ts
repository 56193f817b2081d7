/**
 * The registry in memory: the reference of the rules that every store follows.
 *
 * Pure: time, server and randomness are given at each call, and each call is one step.
 * Promise: ranges granted for one worker id never overlap, as long as the state is kept; if it is
 * lost, none granted afterwards begins before the forgotten ones end.
 */
import type {
  LeaseAnswer,
  LeaseRequest,
  RegistryMark,
  WorkerLease,
  WorkerRecord,
} from '../../lease/distributed-support.js';
import { SANE_MS, contest, contests, isForAnother, isLive } from './registry-layout.js';
import {
  VERSION,
  createState,
  noteLoss,
  nowOf,
  reopenState,
  type OpeningTerms,
  type RegistryOwner,
  type RegistryState,
  type StoreReading,
} from './registry-state.js';

export class MemoryRegistry {
  state: RegistryState | undefined;

  acquire(request: LeaseRequest, store: StoreReading): LeaseAnswer {
    const refusal = this.open(request, store, request.haveMs);
    if (refusal !== undefined) return refusal;
    const state = this.state!;
    const nowMs = nowOf(state);
    if (isLive(request.haveMs, nowMs)) state.fingerprint = request.fingerprint;
    const ceilingMs = nowMs + request.ttlMs;
    const held = this.heldBy(request.token, state);
    if (held !== undefined) {
      state.ceilings.set(held, Math.max(state.ceilings.get(held)!, ceilingMs));
      return this.grant(held, state.owners.get(held)!.floorMs);
    }
    const workerId = longestFree(state, request.workerIdMin, request.workerIdMax);
    const lastMs = state.ceilings.get(workerId) ?? 0;
    if (lastMs > nowMs) return { status: 'none-free', waitMs: lastMs - nowMs };
    const floorMs = Math.max(lastMs, state.safeFloorMs);
    const waitMs = floorMs + request.minRangeMs - ceilingMs;
    if (waitMs > 0) return { status: 'wait', waitMs };
    this.forget(workerId, state);
    const { token, nonce, holder: label } = request;
    const owner = { token, nonce, floorMs, era: state.era, sinceMs: nowMs, label };
    state.workers.set(token, workerId);
    // Only now: a newcomer who has to wait may be refused yet, for a holder who was here before.
    state.fingerprint = request.fingerprint;
    this.store(workerId, ceilingMs, owner);
    return this.grant(workerId, floorMs);
  }

  renew(lease: WorkerLease, store: StoreReading): LeaseAnswer {
    const refusal = this.open(lease, store, lease.haveMs);
    if (refusal !== undefined) return refusal;
    const state = this.state!;
    state.fingerprint = lease.fingerprint;
    const { workerId, haveMs } = lease;
    const nowMs = nowOf(state);
    const lastMs = state.ceilings.get(workerId) ?? 0;
    const owner = state.owners.get(workerId);
    const isHolder = owner !== undefined && owner.token === lease.token;
    if (provesLoss(state, lease.mark, isHolder && haveMs > lastMs)) {
      noteLoss(state);
      // What was proved once must not be proved again by the same holder, or nobody gets on.
      state.operations = Math.max(state.operations, lease.mark.operations);
    }
    const believedMs = haveMs < nowMs + SANE_MS ? Math.max(lastMs, haveMs) : lastMs;
    if (believedMs > lastMs) state.ceilings.set(workerId, believedMs);
    if (owner === undefined) return { status: 'unknown' };
    if (!isHolder) return { status: 'fenced', floorMs: owner.floorMs };
    const isNewEra = owner.era !== state.era;
    const knowsNonce = owner.nonce === lease.nonce || owner.nonce === lease.nonceNext;
    if (!knowsNonce && !(isNewEra && haveMs >= lastMs)) {
      // No copy knows this nonce, so that the other one is told at its next renewal too.
      this.store(workerId, believedMs, { ...owner, nonce: '' });
      return { status: 'cloned' };
    }
    const next = { ...owner, nonce: lease.nonceNext };
    if (!isNewEra) {
      this.store(workerId, Math.max(lastMs, haveMs, nowMs + lease.ttlMs), next);
      return this.grant(workerId, owner.floorMs);
    }
    const floorMs = Math.max(lastMs, haveMs, state.safeFloorMs);
    const waitMs = floorMs + lease.minRangeMs - (nowMs + lease.ttlMs);
    if (waitMs > 0) return { status: 'hold', waitMs };
    this.store(workerId, nowMs + lease.ttlMs, { ...next, floorMs, era: state.era });
    return this.grant(workerId, floorMs);
  }

  /** Only for the holder and its nonce; the ceiling falls to the last id, never below the floor. */
  release(lease: WorkerLease, lastIssuedMs: number | undefined, store: StoreReading): void {
    // Whoever leaves makes no more ids, so that it claims and contests nothing.
    if (this.open(lease, store, 0) !== undefined) return;
    const state = this.state!;
    const owner = state.owners.get(lease.workerId);
    if (owner === undefined || owner.token !== lease.token) return;
    if (owner.nonce !== lease.nonce && owner.nonce !== lease.nonceNext) return;
    const usedMs = lastIssuedMs === undefined ? 0 : lastIssuedMs + 1;
    const lastMs = state.ceilings.get(lease.workerId)!;
    state.ceilings.set(lease.workerId, Math.min(lastMs, Math.max(usedMs, owner.floorMs)));
    this.forget(lease.workerId, state);
  }

  workers(timeMs: number): WorkerRecord[] {
    if (this.state === undefined) return [];
    const nowMs = timeMs + this.state.slewMs;
    return [...this.state.ceilings]
      .toSorted(([a], [b]) => a - b)
      .map(([workerId, ceilingMs]) => {
        const owner = this.state!.owners.get(workerId);
        const freeInMs = Math.max(0, ceilingMs - nowMs);
        const holder = owner && { ...owner.label, sinceMs: owner.sinceMs };
        return { workerId, ceilingMs, freeInMs, ...(holder && { holder }) };
      });
  }

  /** The answer to whoever has no business here, or undefined. */
  private open(terms: OpeningTerms, store: StoreReading, haveMs: number): LeaseAnswer | undefined {
    const { state } = this;
    if (state === undefined) {
      this.state = createState(terms, store);
      this.state.operations++;
      return undefined;
    }
    if (state.version !== VERSION) return { status: 'other-version', version: state.version };
    const { fingerprint } = terms;
    const isOther = isForAnother(state, fingerprint);
    if (isOther && !contests(state, haveMs, store.timeMs)) return this.otherLayout();
    reopenState(state, terms, store);
    state.operations++;
    if (!isOther) return undefined;
    contest(state, fingerprint);
    return this.otherLayout();
  }

  private heldBy(token: string, state: RegistryState): number | undefined {
    const workerId = state.workers.get(token);
    if (workerId === undefined) return undefined;
    if (state.owners.get(workerId)!.era === state.era) return workerId;
    this.forget(workerId, state);
    return undefined;
  }

  private store(workerId: number, ceilingMs: number, owner: RegistryOwner): void {
    this.state!.ceilings.set(workerId, ceilingMs);
    this.state!.owners.set(workerId, owner);
  }

  private forget(workerId: number, state: RegistryState): void {
    const owner = state.owners.get(workerId);
    if (owner === undefined) return;
    state.workers.delete(owner.token);
    state.owners.delete(workerId);
  }

  private grant(workerId: number, floorMs: number): LeaseAnswer {
    const { incarnation, server, operations, ceilings, quarantineMs } = this.state!;
    const mark = { incarnation, server, operations };
    const ceilingMs = ceilings.get(workerId)!;
    const nowMs = nowOf(this.state!);
    return { status: 'ok', workerId, floorMs, ceilingMs, nowMs, mark, quarantineMs };
  }

  private otherLayout(): LeaseAnswer {
    return { status: 'layout-mismatch', fingerprint: this.state!.fingerprint };
  }
}

/** ICH's rule: the worker id that has been free for longest, which has the lowest ceiling. */
function longestFree(state: RegistryState, min: number, max: number): number {
  let best = min;
  for (let workerId = min; workerId <= max; workerId++) {
    const ceilingMs = state.ceilings.get(workerId);
    if (ceilingMs === undefined) return workerId;
    if (ceilingMs < state.ceilings.get(best)!) best = workerId;
  }
  return best;
}

/** The holder was answered something that this registry does not remember. */
function provesLoss(state: RegistryState, seen: RegistryMark, hasMore: boolean): boolean {
  if (seen.incarnation !== state.incarnation || seen.server !== state.server) return false;
  return state.operations - 1 < seen.operations || hasMore;
}

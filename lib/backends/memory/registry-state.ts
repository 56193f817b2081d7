/**
 * What a registry remembers, and the beginning that all its operations share.
 *
 * Promise: the registry's clock never goes back, and a loss event pushes every later grant behind
 * whatever could have been forgotten. The Lua of backends/redis says the same, line by line.
 */
import type { HolderLabel } from '../../lease/distributed-support.js';

/** Who holds a worker id. */
export interface RegistryOwner {
  readonly token: string;
  readonly nonce: string;
  readonly floorMs: number;
  readonly era: number;
  readonly sinceMs: number;
  readonly label: HolderLabel;
}

export interface RegistryState {
  fingerprint: string;
  incarnation: string;
  server: string;
  lastTimeMs: number;
  /** Added to the store's time so that it never goes back; decays by half of what elapses. */
  slewMs: number;
  /** The longest ttl ever granted plus its loss window: all that can be forgotten ends by then. */
  quarantineMs: number;
  safeFloorMs: number;
  era: number;
  operations: number;
  readonly ceilings: Map<number, number>;
  readonly owners: Map<number, RegistryOwner>;
  readonly workers: Map<string, number>;
}

/** What the store itself brings to an operation. */
export interface StoreReading {
  readonly timeMs: number;
  readonly server: string;
  /** Becomes the incarnation of a registry created now. */
  readonly random: string;
  readonly lossWindowMs: number;
}

export interface OpeningTerms {
  readonly fingerprint: string;
  readonly ttlMs: number;
  readonly trustsFreshRegistry: boolean;
}

export function createState(terms: OpeningTerms, store: StoreReading): RegistryState {
  const quarantineMs = terms.ttlMs + store.lossWindowMs;
  return {
    fingerprint: terms.fingerprint,
    incarnation: store.random,
    server: store.server,
    lastTimeMs: store.timeMs,
    slewMs: 0,
    quarantineMs,
    safeFloorMs: store.timeMs + (terms.trustsFreshRegistry ? 0 : quarantineMs),
    era: 1,
    operations: 0,
    ceilings: new Map(),
    owners: new Map(),
    workers: new Map(),
  };
}

/** Moves the clock on and notices a change of servers. */
export function reopenState(state: RegistryState, terms: OpeningTerms, store: StoreReading): void {
  const elapsedMs = store.timeMs - state.lastTimeMs;
  state.slewMs =
    elapsedMs < 0
      ? state.slewMs - elapsedMs
      : Math.max(0, state.slewMs - Math.floor(elapsedMs / 2));
  state.lastTimeMs = store.timeMs;
  state.quarantineMs = Math.max(state.quarantineMs, terms.ttlMs + store.lossWindowMs);
  if (state.server !== store.server) noteLoss(state);
  state.server = store.server;
}

export function nowOf(state: RegistryState): number {
  return state.lastTimeMs + state.slewMs;
}

/** Acknowledged writes may be gone: nothing granted from here on starts before they would end. */
export function noteLoss(state: RegistryState): void {
  state.era++;
  state.safeFloorMs = Math.max(state.safeFloorMs, nowOf(state) + state.quarantineMs);
}

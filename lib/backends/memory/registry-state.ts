/**
 * What a registry remembers, and the beginning that all its operations share.
 *
 * Promise: the registry's clock never goes back, and a loss event pushes every later grant behind
 * whatever could have been forgotten. The Lua of backends/redis says the same, line by line.
 */
import type { LeaseTerms } from '../../lease/distributed-support.js';
import type { HolderLabel } from '../../patience/process-identity.js';

/** Of the protocol. Whoever keeps a registry by another one is left alone. */
export const VERSION = '1';

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
  version: string;
  /** Empty until somebody has a range; of two layouts where both had one. */
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

export type OpeningTerms = Pick<LeaseTerms, 'fingerprint' | 'ttlMs' | 'quarantineMs'>;

/** An absent registry cannot be told from a lost one, so that none is believed to be new. */
export function createState(terms: OpeningTerms, store: StoreReading): RegistryState {
  const quarantineMs = quarantineOf(terms, store);
  return { ...emptyState(store), quarantineMs, safeFloorMs: store.timeMs + quarantineMs };
}

/** A registry that begins with the store it lies in: there was nothing before it to be lost. */
export function emptyState(store: StoreReading): RegistryState {
  return {
    version: VERSION,
    fingerprint: '',
    incarnation: store.random,
    server: store.server,
    lastTimeMs: store.timeMs,
    slewMs: 0,
    quarantineMs: 0,
    safeFloorMs: 0,
    era: 1,
    operations: 0,
    ceilings: new Map(),
    owners: new Map(),
    workers: new Map(),
  };
}

/** Moves the clock on and notices a longer quarantine and a change of servers. */
export function reopenState(state: RegistryState, terms: OpeningTerms, store: StoreReading): void {
  state.slewMs = slewAt(state, store.timeMs);
  state.lastTimeMs = store.timeMs;
  noteQuarantine(state, quarantineOf(terms, store));
  if (state.server !== store.server) noteLoss(state);
  state.server = store.server;
}

export function nowOf(state: RegistryState): number {
  return state.lastTimeMs + state.slewMs;
}

/** The registry's clock at a time of the store, without moving it on. */
export function nowAt(state: RegistryState, timeMs: number): number {
  return timeMs + slewAt(state, timeMs);
}

/** Acknowledged writes may be gone: nothing granted from here on starts before they would end. */
export function noteLoss(state: RegistryState): void {
  state.era++;
  state.safeFloorMs = Math.max(state.safeFloorMs, nowOf(state) + state.quarantineMs);
}

function slewAt({ lastTimeMs, slewMs }: RegistryState, timeMs: number): number {
  const elapsedMs = timeMs - lastTimeMs;
  return elapsedMs < 0 ? slewMs - elapsedMs : Math.max(0, slewMs - Math.floor(elapsedMs / 2));
}

function quarantineOf(terms: OpeningTerms, store: StoreReading): number {
  // A keeper of an older copy of this package asks without it.
  return Math.max(terms.ttlMs + store.lossWindowMs, terms.quarantineMs ?? 0);
}

/** What the last loss forgot may end later than was known then: its floor moves as far. */
function noteQuarantine(state: RegistryState, quarantineMs: number): void {
  const longerMs = quarantineMs - state.quarantineMs;
  if (longerMs <= 0) return;
  state.quarantineMs = quarantineMs;
  state.safeFloorMs += longerMs;
  if (state.safeFloorMs > nowOf(state)) state.era++;
}

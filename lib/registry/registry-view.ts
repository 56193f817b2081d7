/**
 * A registry as an operator sees it, and the inspector that every backend offers.
 *
 * Guarantee: read() and findings() change nothing; what changes something goes through the
 * operations that processes use.
 */
import type { IDistributedSupport, WorkerRecord } from '../lease/distributed-support.js';
import type { RegistryHeader, SlotHolder, WorkerSlot } from './snapshot.js';

/** How bad it is; only a note leaves the exit code alone. */
export type Level = 'ok' | 'note' | 'warning' | 'fault';

/** One thing that `doctor` looked at, and how it stands. */
export interface Finding {
  readonly level: Level;
  readonly topic: string;
  readonly text: string;
}

export function finding(level: Level, topic: string, text: string): Finding {
  return { level, topic, text };
}

/** The facts of a registry besides its worker ids. */
export type RegistryFacts = Omit<RegistryHeader, 'lastTimeMs'>;

/** The secret that proves a holder to the store. It is never printed. */
export type HolderProof = Pick<SlotHolder, 'token' | 'nonce'>;

export interface RegistryView {
  /** The store's clock as it stands. */
  readonly storeMs: number;
  /** The registry's clock, which never goes back. */
  readonly nowMs: number;
  /** Absent until the first lease. */
  readonly facts?: RegistryFacts;
  /** True if the namespace holds data, but no registry. */
  readonly isUnfinished: boolean;
  readonly workers: readonly WorkerRecord[];
  proofOf(workerId: number): HolderProof | undefined;
}

export interface StorePreparation {
  readonly text: string;
  run(): Promise<void>;
}

/** A registry in a store, as the operator uses it. */
export interface RegistryInspector {
  /** Names the store in messages; holds no password. */
  readonly where: string;
  /** Names the location of the registry in the store. */
  readonly key: string;
  readonly lossWindowMs: number;
  /** The statement that must be run before a registry can exist, and the program that runs it. */
  readonly preparation?: StorePreparation;
  /** @param countMax so many worker ids are enough, whichever; absent for all */
  read(countMax?: number): Promise<RegistryView>;
  /** Advice for the operator about the server and its settings. */
  findings(): Promise<Finding[]>;
  /** The last message of the connection, for errors about an answer that does not come. */
  lastFault?(): Error | undefined;
  release: NonNullable<IDistributedSupport['release']>;
  close(): Promise<void>;
}

/** The records of the slots in use, in order. */
export function workerRecords(slots: Iterable<WorkerSlot>, nowMs: number): WorkerRecord[] {
  return [...slots]
    .toSorted((a, b) => a.workerId - b.workerId)
    .map(({ workerId, ceilingMs, holder }) => {
      const freeInMs = Math.max(0, ceilingMs - nowMs);
      const format = holder && { holder: { ...holder.label, sinceMs: holder.sinceMs } };
      return { workerId, ceilingMs, freeInMs, ...format };
    });
}

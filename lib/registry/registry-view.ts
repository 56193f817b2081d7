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

/** What the registry remembers besides its worker ids. */
export type RegistryFacts = Omit<RegistryHeader, 'lastTimeMs'>;

/** What proves to the store who a holder is. Never shown. */
export type HolderProof = Pick<SlotHolder, 'token' | 'nonce'>;

export interface RegistryView {
  /** The store's clock as it stands. */
  readonly storeMs: number;
  /** The registry's clock, which never goes back. */
  readonly nowMs: number;
  /** Absent where nobody has leased anything yet. */
  readonly facts?: RegistryFacts;
  /** Something is there, but what makes a registry is not. */
  readonly isUnfinished: boolean;
  readonly workers: readonly WorkerRecord[];
  proofOf(workerId: number): HolderProof | undefined;
}

export interface StorePreparation {
  readonly text: string;
  run(): Promise<void>;
}

/** One registry in one store, opened for an operator. */
export interface RegistryInspector {
  /** The store, for messages; without a password. */
  readonly where: string;
  /** Where in the store the registry lies. */
  readonly key: string;
  readonly lossWindowMs: number;
  /** What has to be in the store before a registry can be: the statement, and what runs it. */
  readonly preparation?: StorePreparation;
  /** @param countMax so many worker ids are enough, whichever; absent for all */
  read(countMax?: number): Promise<RegistryView>;
  /** What the operator should know about the server and its settings. */
  findings(): Promise<Finding[]>;
  /** What the connection said last, for a message about an answer that does not come. */
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

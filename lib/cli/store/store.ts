/**
 * A store of leases as commands see it, whatever store it is.
 *
 * Promise: read() and findings() change nothing; what changes something goes through the support,
 * by the same operations that processes use.
 */
import type { IDistributedSupport, WorkerRecord } from '../../lease/distributed-support.js';

/** How bad it is; only a note leaves the exit code alone. */
export type Level = 'ok' | 'note' | 'warning' | 'fault';

export interface Finding {
  readonly level: Level;
  readonly topic: string;
  readonly text: string;
}

/** What the registry remembers besides its worker ids. */
export interface RegistryFacts {
  readonly version: string;
  readonly fingerprint: string;
  readonly incarnation: string;
  readonly server: string;
  readonly slewMs: number;
  readonly quarantineMs: number;
  readonly safeFloorMs: number;
  readonly era: number;
  readonly operations: number;
}

/** What proves to the store who a holder is. Never shown. */
export interface HolderProof {
  readonly token: string;
  readonly nonce: string;
}

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

/** A namespace that is misspelt looks like one in which nobody has begun. */
export function noRegistryText(key: string): string {
  return `There is no registry yet (${key}); nobody has leased anything. Is the namespace right?`;
}

export const UNFINISHED =
  'What is there was begun by a script that did not end, because the user lacked a right or the ' +
  'server stopped. It counts as absent, so the next process begins the registry anew; nothing ' +
  'has to be deleted.';

export interface Store {
  /** For messages; without a password. */
  readonly where: string;
  /** Where in the store the registry lies. */
  readonly key: string;
  readonly lossWindowMs: number;
  read(): Promise<RegistryView>;
  /** What the operator should know about the server and its settings. */
  findings(): Promise<Finding[]>;
  release: NonNullable<IDistributedSupport['release']>;
  close(): Promise<void>;
}

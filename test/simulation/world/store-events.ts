/** The calls of processes to a simulated store, and the events in it. */
import type {
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../../lib/lease/distributed-support.js';
import type { StoreReading } from '../../../lib/registry/snapshot.js';
import type { StoredRow } from '../../../lib/rows/row-store.js';
import type { RegistryState } from '../../models/memory-registry.js';

/** A process's call to the store. */
export type StoreCall =
  | { readonly op: 'acquire'; readonly request: LeaseRequest }
  | { readonly op: 'renew'; readonly lease: WorkerLease }
  | {
      readonly op: 'release';
      readonly lease: WorkerLease;
      readonly lastIssuedMs: number | undefined;
    };

/** The events of one registry, in order, for a replay elsewhere. */
export type StoreEvent =
  | {
      readonly kind: 'call';
      readonly registry: number;
      readonly call: StoreCall;
      /** The largest span of worker IDs that is searched whole. */
      readonly wholeCountMax: number | undefined;
      readonly reading: StoreReading;
      readonly answer: LeaseAnswer | undefined;
      /** The true time. */
      readonly atMs: number;
    }
  /** A process calls the store. */
  | {
      readonly kind: 'sent';
      readonly process: string;
      readonly call: StoreCall;
      readonly atMs: number;
    }
  /** The answer reaches the process. */
  | {
      readonly kind: 'heard';
      readonly process: string;
      readonly call: StoreCall;
      readonly answer: LeaseAnswer;
    }
  /** One write over rows, which is a step of an operation. */
  | {
      readonly kind: 'written';
      readonly registry: number;
      readonly call: StoreCall;
      readonly reading: StoreReading;
      /** The header that it depends on. */
      readonly read: StoredRow | undefined;
      /** The rows as stored now. */
      readonly rows: readonly StoredRow[];
      readonly workerIds: readonly number[];
    }
  /** The answer to a process for its steps over rows. */
  | { readonly kind: 'answered'; readonly call: StoreCall; readonly answer: LeaseAnswer }
  | { readonly kind: 'lost'; readonly registry: number; readonly key: string }
  | { readonly kind: 'wiped'; readonly registry: number }
  /** `to` becomes what `from` is now. */
  | { readonly kind: 'copied'; readonly from: number; readonly to: number };

/** Includes the state of a registry in memory after the call. */
export type RecordEvent = (event: StoreEvent, state?: RegistryState) => void;

/** What processes ask of a simulated store, and what happens to it. */
import type {
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../../lib/lease/distributed-support.js';
import type { StoreReading } from '../../../lib/registry/snapshot.js';
import type { StoredRow } from '../../../lib/rows/row-store.js';
import type { RegistryState } from '../../models/memory-registry.js';

/** What a process asks of the store. */
export type StoreCall =
  | { readonly op: 'acquire'; readonly request: LeaseRequest }
  | { readonly op: 'renew'; readonly lease: WorkerLease }
  | {
      readonly op: 'release';
      readonly lease: WorkerLease;
      readonly lastIssuedMs: number | undefined;
    };

/** What happened to one of the registries, in order, for a replay elsewhere. */
export type StoreEvent =
  | {
      readonly kind: 'call';
      readonly registry: number;
      readonly call: StoreCall;
      /** Of how many worker ids a span is searched whole. */
      readonly wholeCountMax: number | undefined;
      readonly reading: StoreReading;
      readonly answer: LeaseAnswer | undefined;
      /** The true time. */
      readonly atMs: number;
    }
  /** A process makes a call. */
  | {
      readonly kind: 'sent';
      readonly process: string;
      readonly call: StoreCall;
      readonly atMs: number;
    }
  /** The answer reaches it. */
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
      /** The header that it rests on. */
      readonly read: StoredRow | undefined;
      /** As they are stored now. */
      readonly rows: readonly StoredRow[];
      readonly workerIds: readonly number[];
    }
  /** What a process was told of its steps over rows. */
  | { readonly kind: 'answered'; readonly call: StoreCall; readonly answer: LeaseAnswer }
  | { readonly kind: 'lost'; readonly registry: number; readonly key: string }
  | { readonly kind: 'wiped'; readonly registry: number }
  /** `to` becomes what `from` is now. */
  | { readonly kind: 'copied'; readonly from: number; readonly to: number };

/** With what a registry in memory knows after it was called. */
export type RecordEvent = (event: StoreEvent, state?: RegistryState) => void;

/**
 * What processes ask of a simulated store, and what happens to it.
 */
import type {
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../../lib/lease/distributed-support.js';
import type { StoreReading } from '../../../lib/registry/snapshot.js';

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
    }
  | { readonly kind: 'wiped'; readonly registry: number }
  /** `to` becomes what `from` is now. */
  | { readonly kind: 'copied'; readonly from: number; readonly to: number };

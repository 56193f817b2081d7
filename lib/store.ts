/**
 * The entry `nestjs-snowflake/store`, for authors of stores. It has the contract of rows with
 * compare-and-swap, the classes that build worker IDs, counters, and locks on rows, and the three
 * contracts that a store may implement without rows. `IDistributedSupport` is in the root entry.
 */
export { RegistrySupport, type RegistrySupportParts } from './registry/registry-support.js';
export type { Finding, Level } from './registry/snapshot.js';

export { RowCounters } from './counters/row-counters.js';
export { RowLocks } from './lock/row-locks.js';
export {
  HEADER_KEY,
  type Row,
  type RowChange,
  type RowQuery,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
  type StoredRow,
} from './rows/row-store.js';
export type { RetryParts } from './rows/cas-retry.js';
export { highest, slewed, type ClockPolicy, type ClockState } from './rows/store-clock.js';

export type {
  ClockTake,
  CounterRecord,
  CounterStore,
  DenseTake,
  NewCounter,
  TakeAnswer,
  TakeGrant,
  TakeRequest,
} from './counters/counter-store.js';
export type { ReleaseNotifier } from './lock/releases.js';
export type {
  AcquireAnswer,
  AcquireRequest,
  CallerClocks,
  ExtendAnswer,
  ExtendRequest,
  HeldLock,
  LockGrant,
  LockRecord,
  LockRefusal,
  LockStore,
  ReleaseRequest,
  StoreClocks,
} from './lock/lock-store.js';

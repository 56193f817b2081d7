/**
 * `nestjs-snowflake/lock`: a lock that several processes share, with a fencing token.
 */
export type {
  AcquireAnswer,
  AcquireRequest,
  ExtendAnswer,
  ExtendRequest,
  HeldLock,
  LockGrant,
  LockRecord,
  LockRefusal,
  LockStore,
  ReleaseRequest,
} from '../../lock/lock-store.js';

/**
 * `nestjs-snowflake/lock`: a lock that several processes share, with a fencing token.
 */
export { LockModule, type LockOptionsFactory } from './lock.module.js';
export type { LockModuleOptions } from './lock-module-options.js';
export {
  Locked,
  type LockedDecorator,
  type LockedOptions,
  type LockKey,
} from './locked.decorator.js';
export { lockKey } from '../../lock/lock-key.js';
export { DistributedLock } from '../../lock/holding/distributed-lock.js';
export type { AcquiredLock, LockStatus } from '../../lock/holding/distributed-lock.js';
export type { LockSection } from '../../lock/holding/held-section.js';
export type { HoldOptions, LockOptions } from '../../lock/holding/lock-options.js';
export type { LockCounts, LockEvent, LockListener } from '../../lock/holding/lock-events.js';
export type { LossReason } from '../../lock/holding/lock-texts.js';
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

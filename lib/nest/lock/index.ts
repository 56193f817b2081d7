/**
 * `nestjs-snowflake/lock`: a lock that several processes share, with a fencing token.
 */
export { LockModule, type LockOptionsFactory } from './lock.module.js';
export type { LockModuleOptions } from './lock.module.js';
export {
  Locked,
  type LockedDecorator,
  type LockedOptions,
  type LockKey,
} from './locked.decorator.js';
export { lockKey } from '../../lock/lock-store.js';
export { DistributedLock } from '../../lock/distributed-lock.js';
export type { AcquiredLock, LockStatus } from '../../lock/distributed-lock.js';
export type { LockSection } from '../../lock/held-section.js';
export type { HoldOptions, LockOptions } from '../../lock/lock-options.js';
export type { LockCounts, LockEvent, LockListener, LossReason } from '../../lock/lock-events.js';
export type { LockRecord, LockStore } from '../../lock/lock-store.js';

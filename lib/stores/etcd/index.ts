/**
 * Worker IDs, counters and locks in etcd, without a third-party client: `nestjs-snowflake/etcd`.
 */
export {
  etcdCounters,
  etcdSupport,
  type EtcdCounterOptions,
  type EtcdSupportOptions,
} from './etcd.support.js';
export { etcdLocks, type EtcdLockOptions } from './etcd-locks.js';
export type { EtcdTls } from './http-request.js';

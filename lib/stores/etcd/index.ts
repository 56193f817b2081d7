/**
 * Worker IDs leased from etcd, counters and locks in it, without a client of another maker:
 * `nestjs-snowflake/etcd`.
 */
export {
  etcdCounters,
  etcdSupport,
  type EtcdCounterOptions,
  type EtcdSupportOptions,
} from './etcd.support.js';
export { etcdLocks, type EtcdLockOptions } from './etcd-locks.js';
export type { EtcdTls } from './http-request.js';

/**
 * Worker ids leased from etcd and locks in it, without a client of another maker:
 * `nestjs-snowflake/etcd`.
 */
export { etcdSupport, supportFromUrl } from './worker-ids/etcd.support.js';
export type { EtcdSupportOptions } from './worker-ids/etcd.support.js';
export { etcdLocks, etcdLocksFromUrl } from './locks/etcd-locks.js';
export type { EtcdLockOptions } from './locks/etcd-locks.js';
export type { EtcdTls } from './connection/http-request.js';

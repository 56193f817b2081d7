/**
 * Worker ids leased from etcd and locks in it, without a client of another maker:
 * `nestjs-snowflake/etcd`.
 */
export { etcdSupport, type EtcdSupportOptions } from './etcd.support.js';
export { etcdLocks, type EtcdLockOptions } from './etcd-locks.js';
export type { EtcdTls } from './http-request.js';

/**
 * Worker ids leased from etcd and locks in it, without a client of another maker:
 * `nestjs-snowflake/etcd`.
 */
export { etcdSupport } from './etcd.support.js';
export type { EtcdSupportOptions } from './etcd.support.js';
export { etcdLocks } from './etcd-locks.js';
export type { EtcdLockOptions } from './etcd-locks.js';
export type { EtcdTls } from './http-request.js';

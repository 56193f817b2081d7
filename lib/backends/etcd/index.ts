/**
 * Worker ids leased from etcd, without a client of another maker: `nestjs-snowflake/etcd`.
 */
export { etcdSupport, supportFromUrl } from './worker-ids/etcd.support.js';
export type { EtcdSupportOptions } from './worker-ids/etcd.support.js';
export type { EtcdTls } from './connection/http-request.js';

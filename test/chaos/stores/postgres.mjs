/**
 * A registry in PostgreSQL under attack.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { NETWORK_FAULTS } from '../network-faults.mjs';
import { STORE_PACE } from '../pace.mjs';
import { Proxy } from '../proxy.mjs';
import { forgetLease } from './forgotten-lease.mjs';
import { PostgresNode } from './postgres-node.mjs';
import { isRemoved, loadDump, rightsTaken, storeFault } from './store-fault.mjs';

const OURS = `application_name = 'nestjs-snowflake'`;
const TABLE = 'snowflake_registry';
export const CREATE =
  `CREATE TABLE IF NOT EXISTS ${TABLE} (namespace varchar(200) NOT NULL, ` +
  `worker_id bigint NOT NULL, version bigint NOT NULL, ceiling bigint NOT NULL, ` +
  `token varchar(200), data text, PRIMARY KEY (namespace, worker_id))`;

/** Who owns nothing; what is made later is given to it as well. */
const APPLICATION =
  `CREATE ROLE shop LOGIN; ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ` +
  `ON TABLES TO shop`;
/** Of the application, and how each is given back. @param {string} table */
const rightsOn = (table) =>
  /** @type {const} */ ([
    [`REVOKE UPDATE ON ${table} FROM shop`, `GRANT UPDATE ON ${table} TO shop`],
    [`REVOKE SELECT ON ${table} FROM shop`, `GRANT SELECT ON ${table} TO shop`],
    [
      `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`,
      `ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`,
    ],
    [
      `REVOKE EXECUTE ON FUNCTION pg_control_system FROM PUBLIC`,
      `GRANT EXECUTE ON FUNCTION pg_control_system TO PUBLIC`,
    ],
  ]);

const deleted = (/** @type {PostgresNode} */ node, where = 'true') =>
  isRemoved(async () => {
    const rows = await node.sql(`DELETE FROM ${TABLE} WHERE ${where} RETURNING 1`);
    return rows.length;
  });

/** As an operator changes them, one after the other; new connections have them all at once. */
async function changed(/** @type {PostgresNode} */ node) {
  const set = [
    ['timezone', "'Asia/Kathmandu'"],
    ['full_page_writes', 'off'],
    ['default_transaction_isolation', 'serializable'],
    ['default_transaction_read_only', 'on'],
  ];
  for (const [name, value] of set) {
    await node.sql(`ALTER SYSTEM SET ${name} = ${value}`);
    await node.sql('SELECT pg_reload_conf()');
    await sleep(500);
  }
  await node.sql('ALTER SYSTEM RESET ALL');
  await node.sql('SELECT pg_reload_conf()');
}

export const POSTGRES_FAULTS = [
  storeFault('postgres kill -9', async ({ node }) => {
    await node.kill();
    await node.start();
  }),
  storeFault('postgres from an old copy', ({ node }, world) =>
    forgetLease(world, { keep: () => node.backup(), forget: () => node.restore() }),
  ),
  storeFault('postgres dump loaded while it runs', loadDump),
  storeFault('postgres settings changed', ({ node }) => changed(node)),
  storeFault('postgres rights taken away', ({ node, table }) => rightsTaken(node, rightsOn(table))),
  storeFault('postgres backend killed', async ({ node }) => {
    const [row] = await node.sql(`SELECT pid FROM pg_stat_activity WHERE ${OURS} LIMIT 1`);
    if (row === undefined) return false;
    process.kill(row.pid, 'SIGKILL');
    await node.until();
    return true;
  }),
  storeFault('postgres connections ended', async ({ node }) => {
    const ends = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${OURS}`;
    return (await node.sql(ends)).length > 0;
  }),
  storeFault('postgres rows deleted', ({ node }) => deleted(node)),
  storeFault('postgres header deleted', ({ node }) => deleted(node, 'worker_id = -1')),
  storeFault('postgres workers deleted', ({ node }) => deleted(node, 'worker_id >= 0')),
  storeFault('postgres table created again', async ({ node }) => {
    await node.sql(`DROP TABLE ${TABLE}`);
    await sleep(500);
    await node.sql(CREATE);
  }),
  storeFault('postgres SIGSTOP', async ({ node }) => {
    const rows = await node.sql(`SELECT pid FROM pg_stat_activity WHERE ${OURS}`);
    const pids = [node.pid, ...rows.map(({ pid }) => pid)];
    const signal = (/** @type {NodeJS.Signals} */ name) => {
      for (const pid of pids) process.kill(pid, name);
    };
    signal('SIGSTOP');
    await sleep(2500);
    signal('SIGCONT');
  }),
];

export class Postgres {
  name = 'postgres';
  create = CREATE;
  table = TABLE;
  forgetful = forgetLease;
  quarantineMs = 0;
  pace = STORE_PACE;
  faults = [...POSTGRES_FAULTS, ...NETWORK_FAULTS];
  proxy = new Proxy();
  node = new PostgresNode();

  async start() {
    await this.node.create();
    await this.node.sql(APPLICATION);
    await this.node.sql(this.create);
    await this.proxy.listen(() => this.node.port);
    const query = 'namespace=chaos&replicated=false';
    return `postgres://shop@127.0.0.1:${this.proxy.port}/postgres?${query}`;
  }

  async stop() {
    this.proxy.close();
    await this.node.stop();
  }
}

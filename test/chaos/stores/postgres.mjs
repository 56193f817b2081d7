/**
 * A registry in PostgreSQL under attack.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { NETWORK_FAULTS } from '../network-faults.mjs';
import { Proxy } from '../proxy.mjs';
import { PostgresNode } from './postgres-node.mjs';

const OURS = `application_name = 'nestjs-snowflake'`;
const TABLE = 'snowflake_registry';
const CREATE =
  `CREATE TABLE IF NOT EXISTS ${TABLE} (namespace varchar(200) NOT NULL, ` +
  `worker_id bigint NOT NULL, version bigint NOT NULL, ceiling bigint NOT NULL, ` +
  `token varchar(200), data text, PRIMARY KEY (namespace, worker_id))`;

/** @param {string} name @param {(topology: Postgres) => Promise<unknown>} run */
const fault = (name, run) => ({
  name,
  level: /** @type {'store'} */ ('store'),
  apply: (/** @type {any} */ { topology }) => run(topology),
});

const FAULTS = [
  fault('postgres kill -9', async ({ node }) => {
    await node.kill();
    await node.start();
  }),
  fault('postgres from an old copy', async ({ node }) => {
    await node.backup();
    await sleep(1500);
    await node.restore();
  }),
  fault('postgres backend killed', async ({ node }) => {
    const [row] = await node.sql(`SELECT pid FROM pg_stat_activity WHERE ${OURS} LIMIT 1`);
    if (row !== undefined) process.kill(row.pid, 'SIGKILL');
    await node.until();
  }),
  fault('postgres connections ended', ({ node }) =>
    node.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${OURS}`),
  ),
  fault('postgres rows deleted', ({ node }) => node.sql(`DELETE FROM ${TABLE}`)),
  fault('postgres header deleted', ({ node }) =>
    node.sql(`DELETE FROM ${TABLE} WHERE worker_id = -1`),
  ),
  fault('postgres table created again', async ({ node }) => {
    await node.sql(`DROP TABLE ${TABLE}`);
    await sleep(500);
    await node.sql(CREATE);
  }),
  fault('postgres SIGSTOP', async ({ node }) => {
    const rows = await node.sql(`SELECT pid FROM pg_stat_activity WHERE ${OURS}`);
    const pids = [node.pid, ...rows.map(({ pid }) => pid)];
    const signal = (/** @type {NodeJS.Signals} */ name) => {
      for (const pid of pids) process.kill(pid, name);
    };
    signal('SIGSTOP');
    await sleep(1500);
    signal('SIGCONT');
  }),
];

export class Postgres {
  name = 'postgres';
  quarantineMs = 0;
  faults = [...FAULTS, ...NETWORK_FAULTS];
  proxy = new Proxy();
  node = new PostgresNode();

  async start() {
    await this.node.create();
    await this.node.sql(CREATE);
    await this.proxy.listen(() => this.node.port);
    const query = 'namespace=chaos&replicated=false';
    return `postgres://postgres@127.0.0.1:${this.proxy.port}/postgres?${query}`;
  }

  async stop() {
    this.proxy.close();
    await this.node.stop();
  }
}

/**
 * A registry in PostgreSQL under attack.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, realpathSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { requireServers } from '../../../scripts/servers/binaries.mjs';
import { freePort } from '../../../scripts/servers/ports.mjs';
import { serverFolder, startProcess } from '../../../scripts/servers/server-process.mjs';
import {
  until,
  ran,
  NETWORK_FAULTS,
  forgetLease,
  isRemoved,
  loadDump,
  rightsTaken,
  storeFault,
  NEWCOMER_FIRST,
  SURVIVORS_FIRST,
  STORE_PACE,
  DiskNode,
} from '../fault.mjs';
import { Proxy } from '../proxy.mjs';

// A PostgreSQL server that can be killed and restarted on its port, with its data or an older copy.
// With its settings, a crash loses the most.

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'synchronous_commit=off',
  'wal_writer_delay=10s',
  'restart_after_crash=on',
];
/**
 * The attack covers no crash of the host. Without this setting, a checkpoint is fast. It is in the
 * settings file, so that an operator can change it.
 */
const UNSYNCED = 'fsync = off\n';

/** The processes of a killed server end a moment later, and hold its memory until then. */
const LINGER_MS_MAX = 10_000;

export class PostgresNode extends DiskNode {
  // A link leads to the folder with the rest of its commands.
  bin = dirname(realpathSync(requireServers(['postgres']).postgres));

  constructor() {
    super('postgres');
  }

  async create() {
    await this.#run('initdb', ['-D', this.data, '-U', 'postgres', '--auth=trust', '--no-sync']);
    appendFileSync(join(this.data, 'postgresql.conf'), UNSYNCED);
    await this.start();
  }

  /** Starts as a standby of the primary on this port, with a copy of its data. */
  async follow(/** @type {number} */ port) {
    await this.kill();
    rmSync(this.data, { recursive: true, force: true });
    const from = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres'];
    await this.#run('pg_basebackup', ['-D', this.data, ...from, '-R', '-c', 'fast', '--no-sync']);
    await this.start();
  }

  async start() {
    this.port ||= await freePort();
    for (const deadline = Date.now() + LINGER_MS_MAX; ; await sleep(50)) {
      try {
        return await this.#begin();
      } catch (error) {
        const isHeld = /pre-existing shared memory block/.test(error.message);
        if (!isHeld || Date.now() > deadline) throw error;
      }
    }
  }

  async #begin() {
    rmSync(join(this.data, 'postmaster.pid'), { force: true });
    const run = serverFolder('chaos-run', this.user);
    const settings = [...SETTINGS, ...this.more].flatMap((set) => ['-c', set]);
    const { env, disk } = this;
    this.server = await startProcess({
      command: join(this.bin, 'postgres'),
      args: ['-D', this.data, '-p', String(this.port), '-k', run, ...settings],
      folder: run,
      user: this.user,
      ...(env && { env }),
      ...(disk && { disk }),
      isReady: () => this.sql('SELECT 1').then(Boolean, () => false),
    });
  }

  /** One statement of the operator. @returns {Promise<any[]>} */
  async sql(/** @type {string} */ text) {
    const login = { user: 'postgres', database: 'postgres', host: '127.0.0.1', port: this.port };
    // Changes of the operator must survive any later kill.
    const options = '-c synchronous_commit=on';
    const client = new Client({ ...login, options, connectionTimeoutMillis: 5000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query(text)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** The dump of a table by pg_dump. */
  dump(/** @type {string} */ table) {
    const what = ['--clean', '--if-exists', '-t', table, '-f', this.#dumped];
    return this.#run('pg_dump', [...this.#reached, ...what]);
  }

  /** Loads the dump while the server runs. */
  load() {
    return this.#run('psql', [...this.#reached, '-q', '-v', 'ON_ERROR_STOP=1', '-f', this.#dumped]);
  }

  get #dumped() {
    return join(this.folder, 'dump.sql');
  }

  get #reached() {
    return ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'postgres'];
  }

  /** Waits until it accepts connections again, after it recovered from a crash of a process. */
  async until() {
    await until(() => this.sql('SELECT 1'), 60_000);
  }

  /** kill -9 of the server and, at the same moment, of all its processes. */
  async kill() {
    if (this.server !== undefined) spawnSync('pkill', ['-9', '-P', String(this.pid)]);
    await super.kill();
  }

  #run(/** @type {string} */ command, /** @type {string[]} */ args) {
    return ran(join(this.bin, command), args, { cwd: this.folder, ...this.user });
  }
}

const OURS = `application_name = 'nestjs-snowflake'`;
export const TABLE = 'snowflake_registry';
export const CREATE =
  `CREATE TABLE IF NOT EXISTS ${TABLE} (namespace varchar(200) NOT NULL, ` +
  `kind varchar(16) NOT NULL, name varchar(128) NOT NULL, version bigint NOT NULL, ` +
  `number bigint NOT NULL, token varchar(200), data text NOT NULL, ` +
  `PRIMARY KEY (namespace, kind, name))`;

/** A user who owns nothing. It gets rights on new tables as well. */
const APPLICATION =
  `CREATE ROLE shop LOGIN; ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ` +
  `ON TABLES TO shop`;
/** The application's rights, and how each is granted again. @param {string} table */
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

/**
 * Changes settings one after the other, like an operator. New connections see all of them at once.
 */
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
  storeFault('postgres header deleted', ({ node }) => deleted(node, "name = '|'")),
  storeFault('postgres workers deleted', ({ node }) => deleted(node, "name <> '|'")),
  storeFault('postgres table created again', async ({ node }) => {
    await node.sql(`DROP TABLE ${TABLE}`);
    await sleep(500);
    await node.sql(CREATE);
  }),
  storeFault('postgres SIGSTOP', async ({ node }) => {
    const rows = await node.sql(`SELECT pid FROM pg_stat_activity WHERE ${OURS}`);
    const pids = [node.pid, ...rows.map(({ pid }) => pid)];
    const signal = (/** @type {NodeJS.Signals} */ name) => {
      for (const pid of pids) {
        try {
          process.kill(pid, name);
        } catch (error) {
          // A backend ends with its client process, which may be killed in the meantime.
          if (/** @type {any} */ (error).code !== 'ESRCH') throw error;
        }
      }
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

// A registry in a PostgreSQL with a standby, which takes over without acknowledged writes of the
// primary. Processes reach the current primary through one address, like a DNS name.

/** How long the old primary may continue, and how far its clock may be ahead, as configured. */
const [FAILOVER_MS, CLOCK_MS] = [3500, 500];
/** How long the old primary does continue. */
const GOES_ON_MS = 2000;

const promoted =
  (/** @type {boolean} */ goesOn) =>
  (/** @type {PostgresStandby} */ topology, /** @type {import('../fault.mjs').World} */ world) =>
    topology.failOver(goesOn, world);

export const STANDBY_FAULTS = [
  {
    ...storeFault('postgres standby promoted, primary killed', promoted(false)),
    changesServer: true,
  },
  {
    ...storeFault('postgres standby promoted, primary goes on', promoted(true)),
    changesServer: true,
  },
];

/** Clients fail back to the old primary, which has no sign of the failover. */
export const ofLedBack = (/** @type {new (folder: string) => any} */ Server) =>
  class extends Server {
    faults = [NEWCOMER_FIRST];
    toleratesTwice = true;
  };

export class PostgresStandby {
  name = 'postgres-standby';
  create = CREATE;
  quarantineMs = FAILOVER_MS + CLOCK_MS;
  pace = STORE_PACE;
  faults = [...STANDBY_FAULTS, SURVIVORS_FIRST, ...NETWORK_FAULTS];
  /** Creates the worst moment. @type {typeof forgetLease} */
  forgetful = forgetLease;
  /** Between the processes and the primary. */
  proxy = new Proxy();
  /** Between the primary and its standby. */
  replication = new Proxy();
  /** The first is the primary. */
  nodes = [new PostgresNode(), new PostgresNode()];

  get node() {
    return /** @type {PostgresNode} */ (this.nodes[0]);
  }

  async start() {
    const [primary, standby] = /** @type {[PostgresNode, PostgresNode]} */ (this.nodes);
    await primary.create();
    await primary.sql(this.create);
    await this.proxy.listen(() => this.node.port);
    await this.replication.listen(() => this.node.port);
    await standby.follow(this.replication.port);
    const query = `namespace=chaos&failoverWindowMs=${FAILOVER_MS}&clockDifferenceMs=${CLOCK_MS}`;
    return `postgres://postgres@127.0.0.1:${this.proxy.port}/postgres?${query}`;
  }

  /** @param {boolean} goesOn whether the old primary continues for a while */
  async failOver(goesOn, /** @type {import('../fault.mjs').World} */ world) {
    const isLost = await this.forgetful(world, {
      // From here on the standby receives nothing.
      keep: () => this.replication.set('cut'),
      forget: () => this.#promote(goesOn),
      goesOn,
    });
    await this.#rejoin();
    return isLost;
  }

  async #promote(/** @type {boolean} */ goesOn) {
    const [primary, standby] = /** @type {[PostgresNode, PostgresNode]} */ (this.nodes);
    if (!goesOn) await primary.kill();
    await standby.sql('SELECT pg_promote()');
    // From here on new connections reach the new primary.
    this.nodes = [standby, primary];
    if (!goesOn) return;
    this.proxy.dropHalf();
    await sleep(GOES_ON_MS);
    await primary.kill();
  }

  /** Clients fail over to the promoted standby. The old primary continues without clients. */
  async away() {
    await until(async () => {
      const [{ count }] = await this.node.sql('SELECT count(*) FROM pg_stat_replication');
      return count === '1';
    });
    await /** @type {PostgresNode} */ (this.nodes[1]).sql('SELECT pg_promote()');
    this.#lead();
  }

  /** Clients fail back, as if an address names the old primary again. */
  async back() {
    this.#lead();
    await /** @type {PostgresNode} */ (this.nodes[1]).follow(this.replication.port);
  }

  #lead() {
    this.nodes.reverse();
    this.proxy.set('cut');
    this.proxy.set('open');
  }

  /** The old primary becomes the standby of the new one. */
  async #rejoin() {
    const [primary, standby] = /** @type {[PostgresNode, PostgresNode]} */ (this.nodes);
    this.replication.set('open');
    await until(() => primary.sql('CHECKPOINT'));
    await standby.follow(this.replication.port);
  }

  async stop() {
    this.proxy.close();
    this.replication.close();
    for (const node of this.nodes) await node.stop();
  }
}

/**
 * Servers that ask for a certificate of the client, from a private authority: the clients that
 * docs/operating/tls.md shows are served, and those without a certificate are refused.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { redisSupport } from '../../lib/stores/redis/index.js';
import { mysqlSupport, postgresSupport } from '../../lib/stores/sql/index.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { freePort } from '../../scripts/servers/free-port.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { command } from '../cli/run-command.js';
import { Certificates } from './certificates.js';
import { failureOf } from './redis-lab.js';

const made = new Certificates();
const ca = made.authority('authority');
const server = made.server('server', 'DNS:localhost', 'authority');
const text = (path: string) => readFileSync(path, 'utf8');
const files = made.server('client', 'DNS:app.test', 'authority');
/** New each time: pg hides the key of the object that it is given. */
const client = () => ({ cert: text(files.cert), key: text(files.key) });

interface Asking {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

interface Store {
  readonly name: string;
  readonly start: () => Promise<Asking>;
  readonly open: (port: number, tls: object) => [IDistributedSupport, () => Promise<unknown>];
}

const namespace = () => randomUUID();

const STORES: Store[] = [
  {
    name: 'Redis',
    start: async () => {
      const port = await freePort();
      const own = ['--tls-cert-file', server.cert, '--tls-key-file', server.key];
      const asked = ['--tls-ca-cert-file', ca, '--tls-auth-clients', 'yes'];
      const { stop } = await startRedis({ args: ['--tls-port', String(port), ...own, ...asked] });
      return { port, stop };
    },
    open: (port, tls) => {
      const redis = new Redis({ host: 'localhost', port, tls, lazyConnect: true });
      const support = redisSupport({ redis, namespace: namespace() });
      return [support, () => support.close()];
    },
  },
  {
    name: 'PostgreSQL',
    start: async () => {
      const rules = made.file('hba');
      const asked = 'hostssl all all 127.0.0.1/32 trust clientcert=verify-ca';
      writeFileSync(rules, `${asked}\nhostnossl all all 127.0.0.1/32 trust\n`);
      const own = [`ssl_cert_file=${server.cert}`, `ssl_key_file=${server.key}`];
      const by = [`ssl_ca_file=${ca}`, `hba_file=${rules}`];
      const { url, port, stop } = await startPostgres(['ssl=on', ...own, ...by]);
      await command(['registry', 'create', '--yes', '--support', url]);
      return { port, stop };
    },
    open: (port, ssl) => {
      const pool = new Pool({ host: 'localhost', port, user: 'postgres', ssl });
      return [postgresSupport({ pool, namespace: namespace() }), () => pool.end()];
    },
  },
  {
    name: 'MariaDB',
    start: async () => {
      const own = [`--ssl-cert=${server.cert}`, `--ssl-key=${server.key}`, `--ssl-ca=${ca}`];
      const { url, port, stop } = await startMariadb(own);
      await command(['registry', 'create', '--yes', '--support', url]);
      const pool = createPool(url);
      await pool.query("CREATE USER app@'127.0.0.1' REQUIRE X509");
      await pool.query("GRANT ALL ON test.* TO app@'127.0.0.1'");
      await pool.end();
      return { port, stop };
    },
    open: (port, tls) => {
      const ssl = { ...tls, verifyIdentity: true };
      const pool = createPool({ host: 'localhost', port, user: 'app', database: 'test', ssl });
      return [mysqlSupport({ pool, namespace: namespace() }), () => pool.end()];
    },
  },
];

afterAll(() => made.remove());

describe.each(STORES)('$name', ({ start, open }) => {
  let asking: Asking;
  beforeAll(async () => {
    asking = await start();
  });
  afterAll(() => asking.stop());

  it('serves a client with a certificate', async () => {
    const [support, end] = open(asking.port, { ca: text(ca), ...client() });
    expect(await support.workers!()).toEqual([]);
    await end();
  });

  it.each([
    ['without one', { ca: text(ca) }],
    ['that does not know the authority', client()],
  ])('refuses a client %s', async (_which, tls) => {
    const [support, end] = open(asking.port, tls);
    const error = await failureOf(support.workers!());
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(error.message).not.toContain('PRIVATE KEY');
    await end();
  });
});

/**
 * TLS to databases whose certificates come from a private authority: what is checked is served, by
 * URL and by pool, and everything else is refused in words.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { mysqlSupport, postgresSupport } from '../../lib/stores/sql/index.js';
import { supportFromUrl } from '../../lib/stores/sql/sql.support.js';
import type { RegistrySupport } from '../../lib/registry/registry-support.js';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { command } from '../cli/run-command.js';
import { until } from '../until.js';
import { Certificates } from './certificates.js';
import { failureOf } from './redis-lab.js';

const made = new Certificates();
const ca = made.authority('authority');
const stranger = made.authority('stranger');
const text = (path: string) => readFileSync(path, 'utf8');

/** Each has files of its own, which are replaced while it runs. */
function own(name: string) {
  made.server(`${name}-elsewhere`, 'DNS:elsewhere.test', 'authority');
  return made.server(name, 'DNS:localhost', 'authority');
}
const [ofPostgres, ofMariadb] = [own('postgres'), own('mariadb')];

const DATABASES = [
  {
    name: 'PostgreSQL',
    start: () => {
      const { cert, key } = ofPostgres;
      return startPostgres(['ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`]);
    },
    present: async (url: string) => {
      made.replace('postgres', 'postgres-elsewhere');
      const pool = new Pool({ connectionString: url });
      await pool.query('SELECT pg_reload_conf()');
      await pool.end();
    },
    pool: (url: URL, tls: object) => {
      const pool = new Pool({ connectionString: url.href, ssl: tls });
      return { support: postgresSupport({ pool }), end: () => pool.end() };
    },
  },
  {
    name: 'MariaDB',
    start: () => startMariadb([`--ssl-cert=${ofMariadb.cert}`, `--ssl-key=${ofMariadb.key}`]),
    present: async (url: string) => {
      made.replace('mariadb', 'mariadb-elsewhere');
      const pool = createPool(url);
      await pool.query('FLUSH SSL');
      await pool.end();
    },
    pool: (url: URL, tls: object) => {
      const pool = createPool({ uri: url.href, ssl: { ...tls, verifyIdentity: true } });
      return { support: mysqlSupport({ pool }), end: () => pool.end() };
    },
  },
];

const REFUSED = {
  code: 'STORE_UNAVAILABLE',
  retryable: false,
  details: { refusal: 'tls' },
  message: expect.stringContaining('sslrootcert'),
};

afterAll(() => made.remove());

describe.each(DATABASES)('$name', ({ start, pool, present }) => {
  let running: Awaited<ReturnType<typeof start>>;
  let named: URL;

  beforeAll(async () => {
    running = await start();
    named = new URL(running.url);
    named.hostname = 'localhost';
    await command(['registry', 'create', '--yes', '--support', running.url]);
  });
  afterAll(() => running.stop());

  async function byUrl(host: string, query: string, use: (support: RegistrySupport) => unknown) {
    const url = new URL(running.url);
    url.hostname = host;
    const support = supportFromUrl(`${url.href}?namespace=${randomUUID()}&${query}`);
    try {
      return await use(support);
    } finally {
      await support.close();
    }
  }

  it.each([
    ['the authority is named', 'localhost', `sslmode=verify-full&sslrootcert=${ca}`],
    ['the authority is named, for require', 'localhost', `sslmode=require&sslrootcert=${ca}`],
    ['nothing is checked', '127.0.0.1', 'sslmode=no-verify'],
  ])('is reached where %s', async (_where, host, query) => {
    expect(await byUrl(host, query, (support) => support.workers())).toEqual([]);
  });

  it.each([
    ['the authority is not known', 'localhost', 'sslmode=require'],
    ['it is another one', 'localhost', `sslmode=verify-full&sslrootcert=${stranger}`],
  ])('is refused where %s', async (_where, host, query) => {
    const failure = await byUrl(host, query, (support) => failureOf(support.workers()));
    expect(failure).toMatchObject(REFUSED);
  });

  it('is reached by a pool that knows the authority, and by no other', async () => {
    const [own, other] = [ca, stranger].map((path) => pool(named, { ca: text(path) }));
    expect(await own!.support.workers()).toEqual([]);
    expect(await failureOf(other!.support.workers())).toMatchObject({
      details: { refusal: 'tls' },
    });
    await Promise.all([own!.end(), other!.end()]);
  });

  // The last of them: no other certificate comes back.
  it('is refused where the certificate is of another host', async () => {
    await present(running.url);
    const query = `sslmode=require&sslrootcert=${ca}`;
    const refused = () =>
      byUrl('localhost', query, (support) => support.workers().catch((error: unknown) => error));
    // PostgreSQL reads its files a moment later.
    await until(async () => !Array.isArray(await refused()));
    expect(await refused()).toMatchObject(REFUSED);
  });
});

it.each([
  [`postgres://localhost/shop?sslrootcert=${ca}`, 'is for an sslmode of'],
  [`mysql://localhost/shop?sslmode=no-verify&sslrootcert=${ca}`, 'is for an sslmode of'],
  [`postgres://localhost/shop?sslmode=require&sslrootcert=/nowhere`, 'cannot be read (ENOENT)'],
  [`mysql://127.0.0.1/shop?sslmode=require&sslrootcert=${ca}`, 'by name alone'],
  [`mariadb://[::1]/shop?sslmode=verify-full`, 'by name alone'],
])('%s is refused before anybody is asked', async (url, message) => {
  const failure = await failureOf((async () => supportFromUrl(url))());
  expect(failure).toMatchObject({ code: 'CONFIG_INVALID' });
  expect(failure.message).toContain(message);
});

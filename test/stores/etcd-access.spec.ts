/**
 * Users, roles and certificates of a real etcd, and three members of which one dies.
 */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import type { IDistributedSupport, LeaseGrant } from '../../lib/lease/distributed-support.js';
import { supportFromUrl } from '../../lib/stores/etcd/etcd.support.js';
import { etcdLocks } from '../../lib/stores/etcd/index.js';
import { redisSupport } from '../../lib/stores/redis/index.js';
import { mysqlSupport, postgresSupport } from '../../lib/stores/sql/index.js';
import { freePort } from '../../scripts/servers/ports.mjs';
import { etcdMembers, startEtcd, startEtcdMember } from '../../scripts/servers/start-etcd.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { command } from '../cli/run-command.js';
import { heldIn, namedLock } from '../lock/held-locks.js';
import { until } from '../until.js';
import { Certificates } from './network.js';
import { endpointOf, EtcdKeys, EtcdLab, LONG_MS } from './etcd-lab.js';
import { failureOf, request } from './redis-lab.js';

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('an etcd with users', () => {
  const server = new EtcdLab();
  const lab = new EtcdLab();
  let endpoint = '';
  let root: EtcdKeys;

  beforeAll(async () => {
    const { url, stop } = await startEtcd({ args: ['--bcrypt-cost=4'] });
    server.ends(stop);
    endpoint = endpointOf(url);
    const keys = new EtcdKeys(endpoint, 'shop');
    for (const [name, password] of [
      ['root', 'r00t'],
      ['app', 'hunter2'],
      ['guest', 'hunter2'],
      ['reader', 'hunter2'],
    ]) {
      await keys.ask('auth/user/add', { name, password });
    }
    const roles = ['root', 'app', 'reader'];
    for (const name of roles) await keys.ask('auth/role/add', { name });
    const [key, range_end] = [base64(keys.prefix), base64('snowflake/shop0')];
    const perm = { permType: 'READWRITE', key, range_end };
    await keys.ask('auth/role/grant', { name: 'app', perm });
    await keys.ask('auth/role/grant', { name: 'reader', perm: { ...perm, permType: 'READ' } });
    for (const name of roles) await keys.ask('auth/user/grant', { user: name, role: name });
    await keys.ask('auth/enable', {});
    const { token } = await keys.ask('auth/authenticate', { name: 'root', password: 'r00t' });
    root = new EtcdKeys(endpoint, 'shop', String(token));
  });
  afterAll(() => server.end());
  afterEach(() => lab.end());

  const app = { username: 'app', password: 'hunter2', namespace: 'shop' };

  it('serves a user whose role covers only the prefix', async () => {
    const proxy = await lab.proxy(endpoint);
    const support = lab.support({ endpoints: [proxy.endpoint], ...app });
    const { lease } = await lab.lease(support);
    expect(await support.refreshAlive(lease)).toMatchObject({ status: 'ok' });
    expect(proxy.asked.filter((path) => path === 'auth/authenticate')).toHaveLength(1);
    expect(await support.advice!()).toEqual([]);
  });

  it('keeps locks for a user whose role covers only the prefix', async () => {
    const store = etcdLocks({ endpoints: [endpoint], ...app });
    const short = { ttlMs: 1000, longestMs: 1000 };
    const held = await heldIn(store, namedLock('a', short));
    expect(await store.extend({ ...held, ttlMs: 1000 })).toMatchObject({ status: 'ok' });
    expect(await store.locks!()).toMatchObject([{ lock: 'a' }]);
    await store.release(held);
    expect([await store.locks!(), await store.advice!()]).toEqual([[], []]);
    await store.close!();
  });

  it('logs in once for concurrent calls, and again if etcd forgot the login', async () => {
    const proxy = await lab.proxy(endpoint);
    const support = lab.support({ endpoints: [proxy.endpoint], ...app });
    await Promise.all([1, 2, 3].map(() => support.workers!()));
    const { lease } = await lab.lease(support);
    // Ends all logins of the user.
    await root.ask('auth/user/changepw', { name: 'app', password: 'hunter2' });
    expect(await support.refreshAlive(lease)).toMatchObject({ status: 'ok' });
    expect(proxy.asked.filter((path) => path === 'auth/authenticate')).toHaveLength(2);
  });

  it.each([
    ['no user', { username: undefined, password: undefined }, 'no-user', /common name/],
    ['another password', { password: 'hunter3' }, 'wrong-password', /user and password/],
    ['a user without a role', { username: 'guest' }, 'permission', /role/],
    ['a role on another prefix', { namespace: 'other' }, 'permission', /role/],
  ])('refuses %s with a clear message', async (_who, options, refusal, advice) => {
    const given = Object.entries({ ...app, ...options }).filter(([, value]) => value !== undefined);
    const support = lab.support({ endpoints: [endpoint], ...Object.fromEntries(given) });
    const error = await failureOf(support.getNextWorkId(request()));
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
    expect(error.details['refusal']).toBe(refusal);
    expect(error.message).toMatch(advice);
    expect(error.message).not.toMatch(/hunter/);
  });

  it.each([
    ['app', /^ok +rights .* it was tried without a change/m],
    ['reader', /^fault +rights .*permission denied.*a role with readwrite/m],
  ])('doctor tests the rights of %s', async (user, told) => {
    const before = await root.all();
    const url = `etcd://${user}:hunter2@${endpoint.replace(/^.*\/\//, '')}?namespace=shop`;
    expect((await command(['doctor', '--support', url])).out).toMatch(told);
    expect(await root.all()).toEqual(before);
  });

  it('requires the login if a user is given', async () => {
    const support = lab.support({ ...app, endpoints: [lab.shared] });
    const error = await failureOf(support.workers!());
    expect(error.details['refusal']).toBe('no-authentication');
  });

  it('works for a user without the right to read the status, and logs the cost', async () => {
    const denied = { status: 403, body: '{"message":"etcdserver: permission denied","code":7}' };
    const ahead = lab.ahead();
    const proxy = await lab.proxy(endpoint, (call) =>
      call.path === 'maintenance/status'
        ? Promise.resolve({ ...denied, headers: { date: new Date().toUTCString() } })
        : ahead(call),
    );
    const support = lab.support({ endpoints: [proxy.endpoint], ...app });
    await root.deleteAll();
    const { lease } = await lab.lease(support);
    expect(await support.refreshAlive(lease)).toMatchObject({ status: 'ok' });
    expect(await support.advice!()).toEqual([expect.stringContaining('restore from a snapshot')]);
    expect((await root.all()).get('header')).toMatch(/^\d+\.unknown\.\d+\./);
  });
});

describe('an etcd with TLS', () => {
  const lab = new EtcdLab();
  let folder = '';
  let endpoint = '';
  const file = (name: string) => join(folder, name);
  const read = (name: string) => readFileSync(file(name));

  function openssl(...args: string[]): void {
    const made = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`openssl: ${made.stderr || made.error}`);
  }

  beforeAll(async () => {
    folder = lab.folder();
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    openssl('req', '-x509', ...curve, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=ca');
    for (const [name, subject] of [
      ['server', '/CN=etcd'],
      ['client', '/CN=app'],
    ]) {
      openssl('req', ...curve, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject!);
      const names = join(folder, 'names');
      spawnSync('sh', ['-c', `echo subjectAltName=IP:127.0.0.1,DNS:etcd.test > ${names}`]);
      const signed = ['-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'];
      openssl('x509', '-req', ...signed, '-out', `${name}.pem`, '-days', '2', '-extfile', names);
      chmodSync(file(`${name}.key`), 0o644);
    }
    const args = [
      `--cert-file=${file('server.pem')}`,
      `--key-file=${file('server.key')}`,
      `--trusted-ca-file=${file('ca.pem')}`,
      '--client-cert-auth',
    ];
    const server = await startEtcd({ isTls: true, args });
    lab.ends(() => server.stop());
    endpoint = `https://127.0.0.1:${server.port}`;
  });
  afterAll(() => lab.end());

  const client = () => ({ cert: read('client.pem'), key: read('client.key') });

  it('accepts a private authority and a certificate, by options and by URL', async () => {
    const support = lab.support({
      endpoints: [endpoint],
      tls: { ca: read('ca.pem'), ...client() },
    });
    expect(await support.workers!()).toEqual([]);
    const files = `ca=${file('ca.pem')}&cert=${file('client.pem')}&key=${file('client.key')}`;
    const byUrl = supportFromUrl(`${endpoint.replace('https', 'etcds')}?${files}`);
    lab.ends(() => byUrl.close());
    expect(await byUrl.workers!()).toEqual([]);
  });

  it('accepts another server name if one is configured', async () => {
    const tls = { ca: read('ca.pem'), ...client(), servername: 'etcd.test' };
    expect(await lab.support({ endpoints: [endpoint], tls }).workers!()).toEqual([]);
  });

  it.each([
    ['an unknown authority', () => client()],
    ['another name', () => ({ ca: read('ca.pem'), ...client(), servername: 'other.test' })],
    ['no client certificate', () => ({ ca: read('ca.pem') })],
  ])('is refused with %s, whatever the environment allows', async (_what, tls) => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const error = await failureOf(lab.support({ endpoints: [endpoint], tls: tls() }).workers!());
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { refusal: 'tls' } });
      expect(error.message).not.toContain('PRIVATE KEY');
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
  });
});

describe('etcd with three members', () => {
  const lab = new EtcdLab();
  afterAll(() => lab.end());

  it('works after its leader is killed, past everything the next leader may lack', async () => {
    const members = await etcdMembers(3);
    const running = await Promise.all(members.map((member) => startEtcdMember(member, members)));
    for (const { stop } of running) lab.ends(stop);
    const proxies = await Promise.all(
      members.map(({ port }) => lab.proxy(`http://127.0.0.1:${port}`)),
    );
    const endpoints = proxies.map(({ endpoint }) => endpoint);
    const support = lab.support({ endpoints, namespace: randomUUID(), requestTimeoutMs: 2000 });
    await until(() =>
      support.workers!().then(
        () => true,
        () => false,
      ),
    );
    const { lease, grant } = await lab.lease(support);
    const statuses = await Promise.all(
      members.map(({ port }) =>
        new EtcdKeys(`http://127.0.0.1:${port}`, 'x').ask('maintenance/status', {}),
      ),
    );
    const leader = statuses.findIndex(
      ({ header, leader }) => (header as { member_id: string }).member_id === leader,
    );
    await running[leader]!.stop();
    let answer: unknown;
    await until(async () => {
      answer = await support.refreshAlive(lease).catch(() => undefined);
      return answer !== undefined;
    });
    expect(answer).toMatchObject({ status: 'hold' });
    lab.aheadMs += LONG_MS;
    const next = await support.refreshAlive(lease);
    expect(next).toMatchObject({ status: 'ok', workerId: lease.workerId });
    expect((next as LeaseGrant).floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    // Without a majority, no member answers from its own data.
    await running[(leader + 1) % 3]!.stop();
    const error = await failureOf(support.refreshAlive(lease));
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
  });
});

/*
 * Servers that require a client certificate from a private authority. The clients in
 * docs/operating/tls.md work, and clients without a certificate are refused.
 */
describe('mutual tls', () => {
  const made = new Certificates();
  const ca = made.authority('authority');
  const server = made.server('server', 'DNS:localhost', 'authority');
  const text = (path: string) => readFileSync(path, 'utf8');
  const files = made.server('client', 'DNS:app.test', 'authority');
  /** A new object each time, since pg hides the key in its argument. */
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
      ['without the authority', client()],
    ])('refuses a client %s', async (_which, tls) => {
      const [support, end] = open(asking.port, tls);
      const error = await failureOf(support.workers!());
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(error.message).not.toContain('PRIVATE KEY');
      await end();
    });
  });
});

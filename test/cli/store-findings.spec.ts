/**
 * Dangers to the leases in a store, as `snowflake doctor` reports them. If a setting is the cause,
 * `advice()` also puts it in the log of each process.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import { layouts } from '../../lib/core/layout/presets.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { RowInspector } from '../../lib/registry/row-inspector.js';
import type { RowStore } from '../../lib/rows/row-store.js';
import { EtcdClient } from '../../lib/stores/etcd/etcd-client.js';
import { etcdAdvice, etcdFindings } from '../../lib/stores/etcd/etcd-members.js';
import { optionsOfUrl, settingsOf } from '../../lib/stores/etcd/etcd-options.js';
import { EtcdStore } from '../../lib/stores/etcd/etcd-store.js';
import { FolderStore } from '../../lib/stores/host/folder-store.js';
import { supportOf } from '../../lib/stores/schemes.js';
import { parseSqlUrl } from '../../lib/stores/sql/sql-options.js';
import { connectionOfUrl, storeOf } from '../../lib/stores/sql/sql.support.js';
import { startEtcd } from '../../scripts/servers/start-etcd.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { onPostgres, ownDatabase } from '../own-database.js';
import { endpointOf, EtcdLab } from '../stores/etcd-lab.js';
import { failureOf, request } from '../stores/redis-lab.js';
import { leased, SqlLab } from '../stores/sql-lab.js';
import { quickFolder } from '../support/made-once.mjs';
import { until } from '../until.js';
import { command, LONG, plant, type Planted, STEERING, STEERS, Tenants } from './run-command.js';
import { changeHeader } from '../stores/timed-redis.js';

describe('store findings', () => {
  const lab = new SqlLab();
  const etcd = new EtcdLab();
  afterAll(() => Promise.all([lab.end(), etcd.end()]));

  const doctor = async (url: string) => {
    const { code, out } = await command(['doctor', '--support', url]);
    return { code, lines: out.split('\n') };
  };
  const create = (url: string) => command(['registry', 'create', '--yes', '--support', url]);

  /** The advice that a process logs at its start. */
  async function adviceAt(url: string): Promise<string> {
    const support = await supportOf(url, new Map());
    const advice = await support.advice!();
    await support.close?.();
    return advice.join('\n');
  }

  describe('PostgreSQL', () => {
    it('reports settings that lose data in a crash', async () => {
      const database = await ownDatabase(process.env['DATABASE_URL']!);
      const { pathname } = new URL(database.url);
      await onPostgres(
        database.url,
        `ALTER DATABASE ${pathname.slice(1)} SET synchronous_commit = off`,
      );
      const url = `${database.url}?replicated=false`;
      await create(url);
      const { code, lines } = await doctor(url);
      expect(lines).toContainEqual(
        expect.stringMatching(/^ok .*synchronous_commit is off; the reg/),
      );
      expect(lines).toContainEqual(expect.stringMatching(/^warning +settings .*fsync off/));
      expect(code).toBe(1);
      expect(await adviceAt(url)).toMatch(/fsync off: a crash .* switch fsync on/);
      await database.drop();
    });
  });

  describe('MariaDB', () => {
    const servers: Awaited<ReturnType<typeof startMariadb>>[] = [];
    afterAll(() => Promise.all(servers.map((server) => server.stop())));

    it('reports the effect of its settings and its replicas', async () => {
      const flush = '--innodb-flush-log-at-trx-commit=2';
      const args = ['--log-bin=binlog', '--server-id=1', '--binlog-format=STATEMENT', flush];
      servers.push(...(await Promise.all([startMariadb(args), startMariadb(['--server-id=2'])])));
      const [primary, replica] = servers.map(({ url }) => `${url}?replicated=false`);
      await create(primary!);
      const before = (await doctor(primary!)).lines;
      const settings =
        /^warning +settings +(innodb_flush_log_at_trx_commit is 2|binlog_format is ST)/;
      expect(before.filter((line) => settings.test(line))).toHaveLength(2);
      expect(before).toContainEqual(expect.stringMatching(/^note +replication +sync_binlog is 0/));
      expect(before.join()).not.toContain('follows this server');
      const advice = await adviceAt(primary!);
      expect(advice).toMatch(/innodb_flush_log_at_trx_commit is 2, .* Set 1/);
      expect(advice).toContain('Set ROW or MIXED');
      await follow(servers[1]!.url, servers[0]!.port);
      const isFollowed = async () => (await doctor(primary!)).lines.join().includes('follows this');
      await until(isFollowed);
      expect((await doctor(servers[0]!.url)).lines.join()).not.toContain('follows this');
      // A replica of MariaDB accepts writes by default.
      await create(replica!);
      const { lines } = await doctor(replica!);
      expect(lines).toContainEqual(expect.stringMatching(/replication .* still accepts writes/));
    });
  });

  async function follow(url: string, port: number): Promise<void> {
    const root = createPool(url);
    const from = `MASTER_HOST='127.0.0.1', MASTER_PORT=${port}, MASTER_USER='root'`;
    await root.query(`CHANGE MASTER TO ${from}`);
    await root.query('START SLAVE');
    await root.end();
  }

  describe('etcd', () => {
    it('reports that it is full, and that it has only one member', async () => {
      await using server = await startEtcd({ args: ['--quota-backend-bytes=2000000'] });
      const { url } = server;
      const endpoint = endpointOf(url);
      const keys = etcd.keys(randomUUID(), endpoint);
      const value = Buffer.alloc(400_000, 'x').toString('base64');
      const key = Buffer.from('other').toString('base64');
      const isFull = () =>
        keys.ask('kv/put', { key, value }).then(
          () => false,
          () => true,
        );
      await until(isFull);
      const { code, lines } = await doctor(url);
      expect(code).toBe(1);
      expect(lines).toContainEqual(
        expect.stringMatching(/^warning +settings +etcd is full .*disarm/),
      );
      expect(lines).toContainEqual(
        expect.stringMatching(/^note +members +This etcd has one member/),
      );
      expect(await adviceAt(url)).toContain('etcd is full (alarm NOSPACE)');
    });

    const MEMBER = { where: 'a:2379', version: '3.5.9', hasLeader: true, timeMs: 1_000_000 };
    it.each([
      [
        'keeps every revision ever written',
        { isUncompacted: true },
        /--auto-compaction-mode=periodic/,
      ],
      ['hides its status', { members: [{ where: 'a', isDenied: true }] }, /only to root/],
      ['has another alarm', { members: [{ ...MEMBER, alarms: ['CORRUPT'] }] }, /alarm: CORRUPT/],
    ])('that %s is reported in the log', (_what, reports, said) => {
      expect(etcdAdvice({ members: [MEMBER] }, 'locks')).toEqual([]);
      for (const kind of ['worker ids', 'counters', 'locks'] as const)
        expect(etcdAdvice({ members: [MEMBER], ...reports }, kind).join()).toMatch(said);
    });

    it.each([
      ['has no leader', { ...MEMBER, hasLeader: false }, 'fault', /has no leader/],
      ['does not answer', { where: 'b', fault: 'b is away' }, 'warning', /b is away/],
      ['has a clock that differs', { ...MEMBER, timeMs: 1_009_000 }, 'warning', /differ by 9 s/],
      ['is nearly full', { ...MEMBER, dbBytes: 2 ** 31 }, 'warning', /is 2048 MiB/],
    ])('with a member that %s is reported by doctor', (_what, member, level, said) => {
      const settings = { clockDifferenceMs: 1000 } as Parameters<typeof etcdFindings>[1];
      const found = etcdFindings({ members: [MEMBER, member] }, settings);
      expect(found).toContainEqual(
        expect.objectContaining({ level, text: expect.stringMatching(said) as unknown }),
      );
    });
  });

  describe('a folder', () => {
    const LOCAL = { network: undefined, isFuse: false, isInMemory: false, freeBytes: 2 ** 40 };
    const storeOn = (more: object) =>
      new FolderStore(`/tmp/snowflake-${randomUUID()}`, {
        fileSystemOf: async () => ({ ...LOCAL, ...more }),
        bootOf: async () => 'this run',
      });

    it.each([
      ['a network file system', { network: 'NFS' }, 'fault', /network file system \(NFS\)/],
      ['FUSE', { isFuse: true }, 'warning', /FUSE file system/],
      ['memory', { isInMemory: true }, 'warning', /a reboot empties it/],
      ['a full disk', { freeBytes: 2 ** 20 }, 'warning', /1 MiB are free .* Free some space/],
    ])('on %s is reported by doctor', async (_what, more, level, said) => {
      const inspector = new RowInspector(storeOn(more), 'the disk', 'folder');
      expect(await inspector.findings()).toContainEqual(
        expect.objectContaining({ level, text: expect.stringMatching(said) as unknown }),
      );
    });

    it('on a network file system grants no lease', async () => {
      const support = new RegistrySupport(storeOn({ network: 'SMB' }));
      expect(await failureOf(support.getNextWorkId(request()))).toMatchObject({
        code: 'CONFIG_INVALID',
      });
    });
  });
});

/*
 * A registry with hostile entries on a real Redis: no entry hides another one, controls the
 * terminal or floods it.
 */
describe('hostile input', () => {
  const REDIS_URL = process.env['REDIS_URL']!;
  const namespace = randomUUID();
  const key = `snowflake:{${namespace}}:registry`;
  const at = ['--support', `${REDIS_URL}?namespace=${namespace}`];
  const tenants = new Tenants(REDIS_URL);
  const redis = new Redis(REDIS_URL);
  let planted: Planted;

  beforeAll(async () => {
    await tenants
      .of(namespace)
      .acquire({ holder: { host: 'honest', pid: 1, application: 'shop' } });
    planted = await plant(redis, key);
  });
  afterAll(async () => {
    await redis.del(key);
    await redis.quit();
    await tenants.close();
  });

  const shownBy = async (...args: string[]) => {
    const answer = await command([...args, ...at]);
    const said = answer.out + answer.err;
    expect(STEERS.exec(said)).toBeNull();
    expect(said.length).toBeLessThan(LONG / 4);
    return answer;
  };

  const jsonOf = ({ lines }: { lines: string[] }) =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>);

  describe('a registry with hostile entries', () => {
    it('hides no holder from workers()', async () => {
      const records = await tenants.of(namespace).support.workers();
      const [honest, unread, ...others] = records;
      expect(honest).toMatchObject({ holder: { host: 'honest', pid: 1, application: 'shop' } });
      expect(unread?.workerId).toBe(99);
      expect(unread?.holder).toBeUndefined();
      expect(others.map(({ workerId }) => workerId)).toEqual([...planted.hosts.keys()]);
      for (const { ceilingMs, freeInMs, holder } of [honest!, ...others]) {
        const { host, application, pid, sinceMs } = holder!;
        expect([ceilingMs, freeInMs, pid, sinceMs].every(Number.isFinite)).toBe(true);
        expect(freeInMs).toBeGreaterThan(0);
        expect(Math.max(host.length, application.length)).toBeLessThanOrEqual(255);
      }
    });

    it('appears in `workers` with one line for each holder', async () => {
      const { code, lines } = await shownBy('workers');
      expect(code).toBe(0);
      expect(lines).toHaveLength(1 + 2 + planted.hosts.size + 2);
      expect(lines[1]).toMatch(/^ +0 +honest +1 +shop /);
      const hosts = [...planted.hosts];
      for (const [n, [workerId, host]] of hosts.entries()) {
        expect(lines[3 + n]!.replace(/ +/, '')).toMatch(new RegExp(`^${workerId} `));
        expect(lines[3 + n]).toContain(` ${host.length < 255 ? host : `${'x'.repeat(62)}…`} `);
        expect(lines[3 + n]!.length).toBeLessThan(230);
      }
    });

    it('appears in `workers --json` with complete, plain strings', async () => {
      const records = jsonOf(await shownBy('workers', '--json'));
      expect(records[0]).toMatchObject({ workerId: 0, host: 'honest' });
      expect(records).toHaveLength(3 + planted.hosts.size);
      expect(records.find(({ workerId }) => workerId === 106)).toMatchObject({
        host: `x${STEERING}`,
        application: STEERING,
      });
    });

    it('is counted by doctor and inspect', async () => {
      const held = `${1 + planted.hosts.size} held`;
      expect((await shownBy('doctor')).out).toContain(held);
      expect((await shownBy('doctor', '--json')).out).toContain(held);
      expect((await shownBy('registry', 'inspect')).out).toContain(held);
      const [record] = jsonOf(await shownBy('registry', 'inspect', '--json'));
      expect(record).toMatchObject({ held: 1 + planted.hosts.size });
    });

    it('loses one holder to a release, and keeps an unreadable one', async () => {
      const steering = await shownBy('release', '106', '--yes');
      expect(steering.err).toContain('held by ?[2J?]0;t??1m??????? on x?[2J?]0;t');
      expect(steering).toMatchObject({ code: 0, out: expect.stringContaining('No process holds') });
      const lines = await shownBy('release', '108', '--yes');
      expect(lines.err).not.toMatch(/^snowflake: all is well/m);
      await shownBy('release', '99', '--yes');
      expect(await redis.hget(key, 'r:99')).toBe('garbage');
    });

    it('can be inspected even if its own fields were overwritten', async () => {
      const texts = { incarnation: STEERING + 'x'.repeat(LONG), server: STEERING };
      await changeHeader(redis, key, texts);
      for (const name of [['registry', 'inspect'], ['doctor'], ['workers']]) {
        await shownBy(...name);
        await shownBy(...name, '--json');
      }
      await changeHeader(redis, key, { fingerprint: STEERING + 't9-'.repeat(LONG) });
      const { out } = await shownBy('registry', 'inspect');
      expect(out).toMatch(/layout +\?\[2J\?\]0;t/);
      await shownBy('doctor', '--layout', 'twitter');
      await shownBy('release', '101', '--yes');
    });
  });

  describe('standard input', () => {
    it.each([
      ['two digits with spaces between them', `7${' '.repeat(5000)}8`],
      ['a digit, spaces and a letter', `7${' '.repeat(5000)}x`],
      ['a digit and half a character', Uint8Array.from([0x37, 0xe2])],
      ['a digit and a null', '7\0'],
      ['arbitrary bytes', Uint8Array.from({ length: 5000 }, (_, n) => (n * 7919) % 256)],
    ])('with a line of %s is rejected', async (_what, bytes) => {
      async function* input() {
        yield bytes;
        yield '';
        if (bytes === String(bytes)) yield '\n';
      }
      const { code, out, err } = await command(['decode'], { stdin: input() });
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(STEERS.exec(err)).toBeNull();
      expect(err.split('\n')[0]!.length).toBeLessThan(500);
    });

    it('and wrong arguments send no control characters to the terminal', async () => {
      for (const args of [[STEERING], ['decode', STEERING], ['decode', `--${STEERING}`]]) {
        const { err } = await command(args);
        expect(err).toContain('[2J');
        expect(STEERS.exec(err)).toBeNull();
      }
    });
  });
});

/*
 * The commands of an operator, with the same results on every store, from the first lease to the
 * release.
 */
describe('every store', () => {
  const lab = new SqlLab();
  const folder = quickFolder('commands');
  const own = `namespace=${randomUUID()}`;
  const ofSql = `${own}&table=${lab.table}&replicated=false`;

  const HOUR_MS = 3_600_000;
  const { fingerprint } = layouts.snowflake();
  const supports: IDistributedSupport[] = [];

  afterAll(async () => {
    for (const support of supports) await support.close?.();
    const sql = `DROP TABLE IF EXISTS ${lab.table}`;
    await Promise.all([lab.pool().query(sql), lab.mysql().query(sql)]);
    await lab.end();
    rmSync(folder, { recursive: true });
  });

  const STORES = [
    { store: 'redis', url: `${process.env['REDIS_URL']}?${own}` },
    { store: 'postgres', url: `${process.env['DATABASE_URL']}?${ofSql}` },
    { store: 'mariadb', url: `${process.env['MYSQL_URL']}?${ofSql}` },
    { store: 'sqlite', url: `sqlite:${folder}/shop.db?${ofSql}` },
    { store: 'etcd', url: `${process.env['ETCD_URL']}?${own}` },
    { store: 'file', url: `file:${folder}/registry?${own}` },
  ];

  describe.each(STORES)('$store', ({ url }) => {
    const run = (words: string) => command([...words.split(' '), '--support', url]);

    it('supports creating, leasing from, listing and releasing a registry', async () => {
      expect(await run('registry create --yes')).toMatchObject({ code: 0 });
      expect((await run('registry create --yes')).err).toContain('already exists');
      const support = await supportOf(url, new Map());
      supports.push(support);
      const { workerId } = await leased(support, { fingerprint });
      const workers = (await run('workers')).out;
      expect(workers).toMatch(new RegExp(`^ *${workerId} +h\\w* +7 +shop `, 'm'));
      expect(workers).toContain('1 held, 1023 of 1024 free.');
      for (let count = 0; count < 2; count++) await leased(support, { fingerprint });
      const { lines } = await run('workers --limit 2');
      expect(lines.filter((line) => line.includes(' shop '))).toHaveLength(2);
      expect(lines.at(-1)).toContain('more than 2 worker ids; these are some.');
      expect((await run('workers --limit 3')).out).toContain('3 held, 1021 of 1024 free.');
      expect((await run('registry inspect')).out).toMatch(/^era +1$/m);
      const { out } = await run('doctor');
      for (const topic of ['connection', 'clock', 'registry', 'worker ids']) {
        expect(out).toMatch(new RegExp(`^ok +${topic} `, 'm'));
      }
      expect(await run(`release ${workerId} --yes`)).toMatchObject({ code: 0 });
      expect((await run('workers')).out).toContain('1 not held but not free yet');
    });

    it('names the holder that made an ID, for each of two registries', async () => {
      const layout = layouts.twitter();
      const ofLayout = { fingerprint: layout.fingerprint };
      const lease = async (host: string) => {
        const at = url.replace(own, `namespace=${randomUUID()}`);
        const support = await supportOf(at, new Map());
        supports.push(support);
        const holder = { host, pid: 7, application: 'shop' };
        const terms = { ...ofLayout, holder, minRangeMs: 50, workerIdMin: 7, workerIdMax: 7 };
        return { at, ...(await leased(support, terms)) };
      };
      const [a, b] = [await lease('host-a'), await lease('host-b')];
      const idAt = (timestampMs: number, workerId = 7) =>
        String(layout.compose({ timestampMs, workerId }));
      const who = (id: string, at = a.at, ...more: string[]) =>
        command(['decode', '--who', id, '--support', at, ...more]);
      const verdict = async (...asked: [string, ...string[]]) =>
        /"verdict":"([\w-]+)"/.exec((await who(...asked, '--json')).out)?.[1];
      const id = idAt(a.floorMs);
      expect((await who(id)).out.replaceAll(/\s+/g, ' ')).toContain('shop on host-a, pid 7, ');
      expect((await who(idAt(b.floorMs), b.at)).out).toContain('host-b');
      expect(await verdict(idAt(a.ceilingMs - 1), a.at)).toBe('holder');
      expect(await verdict(idAt(a.ceilingMs), a.at)).toBe('nobody-here');
      expect(await verdict(idAt(a.floorMs - 1), a.at)).toBe('earlier-holder');
      expect(await verdict(idAt(a.floorMs, 8), a.at)).toBe('nobody-here');
      expect(await verdict(id, a.at, '--layout', 'snowflake')).toBe('nobody-here');
    });

    it('refuses to settle a clock that a survivor of a loss advanced', async () => {
      const wrong = url.replace(own, `namespace=${randomUUID()}`);
      const there = (words: string) => command([...words.split(' '), '--support', wrong]);
      const support = await supportOf(wrong, new Map());
      supports.push(support);
      const timeMs = Date.now();
      const nowMs = timeMs + 6 * HOUR_MS;
      const reckoned = { incarnation: 'lost', server: 'lost', nowMs, timeMs };
      const { floorMs } = await leased(support, { fingerprint, wallMs: timeMs, reckoned });
      expect(floorMs).toBeGreaterThan(nowMs);
      expect((await there('doctor')).out).toMatch(/^warning +clock .*ahead of it/m);
      const refused = await there('registry settle --yes');
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('lost data') });
      expect((await there('doctor')).out).toContain('ahead of it');
    });
  });

  /** The rows behind a URL. */
  function rowsAt(url: string): RowStore {
    const { protocol, pathname, searchParams } = new URL(url);
    if (protocol === 'file:') {
      return new FolderStore(`${pathname}/${searchParams.get('namespace')}`);
    }
    if (protocol === 'etcd:') {
      const settings = settingsOf(optionsOfUrl(url));
      return new EtcdStore(settings, new EtcdClient(settings));
    }
    const parsed = parseSqlUrl(url);
    return storeOf(parsed.dialect, connectionOfUrl(parsed), parsed.options);
  }

  /** Leases a worker ID while the clock of the store is ahead. */
  async function leasedAhead(url: string, aheadMs: number) {
    const rows = rowsAt(url);
    const support = new RegistrySupport({
      location: rows.location,
      lossWindowMs: rows.lossWindowMs,
      clock: rows.clock,
      read: async (asked) => {
        const snapshot = await rows.read(asked);
        return { ...snapshot, timeMs: snapshot.timeMs + aheadMs };
      },
      readAll: () => rows.readAll(),
      write: (changes) => rows.write(changes),
    });
    const answer = await leased(support, { fingerprint });
    await rows.close?.();
    return answer;
  }

  // store-commands.spec.ts does the same to the hash of Redis.
  describe.each(STORES.filter(({ store }) => store !== 'redis'))('$store', ({ url }) => {
    it('can settle a registry after its clock was ahead, and keeps every ceiling', async () => {
      const wrong = url.replace(own, `namespace=${randomUUID()}`);
      const there = (words: string) => command([...words.split(' '), '--support', wrong]);
      await there('registry create --yes');
      const { workerId, ceilingMs } = await leasedAhead(wrong, HOUR_MS);
      expect(ceilingMs).toBeGreaterThan(Date.now() + HOUR_MS);
      expect((await there('doctor')).out).toMatch(/^warning +clock .*ahead of it/m);
      const settled = await there('registry settle --yes');
      expect(settled).toMatchObject({
        code: 0,
        out: expect.stringContaining(`${workerId} (held)`),
      });
      expect((await there('doctor')).out).not.toContain('ahead of it');
      const support = await supportOf(wrong, new Map());
      supports.push(support);
      const next = await leased(support, { fingerprint });
      expect(next.ceilingMs).toBeLessThan(Date.now() + HOUR_MS / 2);
      expect(await support.workers!()).toContainEqual(
        expect.objectContaining({ workerId, ceilingMs }),
      );
    });
  });
});

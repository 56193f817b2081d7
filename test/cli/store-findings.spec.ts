/**
 * What endangers the leases in a store, as an operator reads it: by `snowflake doctor`, and where
 * it is a setting also in the log of each process, which is what `advice()` gives.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createPool } from 'mysql2/promise';
import { EtcdLab } from '../stores/etcd-lab.js';
import { endpointOf } from '../stores/etcd-keys.js';
import { failureOf, request } from '../stores/redis-lab.js';
import { SqlLab } from '../stores/sql-lab.js';
import { supportOf } from '../../lib/stores/schemes.js';
import { etcdAdvice, etcdFindings } from '../../lib/stores/etcd/etcd-members.js';
import { FolderStore } from '../../lib/stores/host/folder-store.js';
import { RegistrySupport, RowInspector } from '../../lib/registry/registry-support.js';
import { startEtcd } from '../../scripts/servers/start-etcd.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { query, createShopDatabase } from '../sample-app/shop-database.js';
import { until } from '../until.js';
import { command } from './run-command.js';

const lab = new SqlLab();
const etcd = new EtcdLab();
afterAll(() => Promise.all([lab.end(), etcd.end()]));

const doctor = async (url: string) => {
  const { code, out } = await command(['doctor', '--support', url]);
  return { code, lines: out.split('\n') };
};
const create = (url: string) => command(['registry', 'create', '--yes', '--support', url]);

/** As a process logs it at its start. */
async function adviceAt(url: string): Promise<string> {
  const support = await supportOf(url, new Map());
  const advice = await support.advice!();
  await support.close?.();
  return advice.join('\n');
}

describe('PostgreSQL', () => {
  it('says what it does with settings that lose data in a crash', async () => {
    const database = await createShopDatabase();
    const { pathname } = new URL(database.url);
    await query(database.url, `ALTER DATABASE ${pathname.slice(1)} SET synchronous_commit = off`);
    const url = `${database.url}?replicated=false`;
    await create(url);
    const { code, lines } = await doctor(url);
    expect(lines).toContainEqual(expect.stringMatching(/^ok .*synchronous_commit is off; the reg/));
    expect(lines).toContainEqual(expect.stringMatching(/^warning +settings .*fsync off/));
    expect(code).toBe(1);
    expect(await adviceAt(url)).toMatch(/fsync off: a crash .* switch fsync on/);
    await database.drop();
  });
});

describe('MariaDB', () => {
  const servers: Awaited<ReturnType<typeof startMariadb>>[] = [];
  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  it('says what its settings and its replicas mean', async () => {
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
    // Not read only, as a replica of MariaDB is where nobody says otherwise.
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
  it('says that it is full, and that it has one member', async () => {
    const { url, stop } = await startEtcd({ args: ['--quota-backend-bytes=2000000'] });
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
    expect(lines).toContainEqual(expect.stringMatching(/^note +members +This etcd has one member/));
    expect(await adviceAt(url)).toContain('etcd is full (alarm NOSPACE)');
    await stop();
  });

  const MEMBER = { where: 'a:2379', version: '3.5.9', hasLeader: true, timeMs: 1_000_000 };
  it.each([
    ['keeps all that was ever written', { isUncompacted: true }, /--auto-compaction-mode=periodic/],
    ['may not tell its status', { members: [{ where: 'a', isDenied: true }] }, /root only/],
    ['has another alarm', { members: [{ ...MEMBER, alarms: ['CORRUPT'] }] }, /alarm: CORRUPT/],
  ])('that %s says so in the log', (_what, reports, said) => {
    expect(etcdAdvice({ members: [MEMBER], ...reports }).join()).toMatch(said);
    expect(etcdAdvice({ members: [MEMBER] })).toEqual([]);
  });

  it.each([
    ['has no leader', { ...MEMBER, hasLeader: false }, 'fault', /has no leader/],
    ['does not answer', { where: 'b', fault: 'b is away' }, 'warning', /b is away/],
    ['has a clock of its own', { ...MEMBER, timeMs: 1_009_000 }, 'warning', /differ by 9 s/],
    ['is nearly full', { ...MEMBER, dbBytes: 2 ** 31 }, 'warning', /is 2048 MiB/],
  ])('with a member that %s is told by doctor', (_what, member, level, said) => {
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
  ])('on %s is told by doctor', async (_what, more, level, said) => {
    const inspector = new RowInspector(storeOn(more), 'the disk', 'folder');
    expect(await inspector.findings()).toContainEqual(
      expect.objectContaining({ level, text: expect.stringMatching(said) as unknown }),
    );
  });

  it('on a network file system leases nothing', async () => {
    const support = new RegistrySupport(storeOn({ network: 'SMB' }));
    expect(await failureOf(support.getNextWorkId(request()))).toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });
});

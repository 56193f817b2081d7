/**
 * `snowflake doctor` detects a user that may read the registry but not write it, on real servers,
 * and changes nothing there.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import { command } from '../cli/run-command.js';
import { ownDatabase, type OwnDatabase } from '../own-database.js';
import { RedisLab, request } from './redis-lab.js';

const doctor = async (url: string) => {
  const { out, code } = await command(['doctor', '--support', url]);
  return { code, rights: /^(\w+) +rights +(.*)$/m.exec(out)?.slice(1).join(': ') };
};

describe('a user of Redis', () => {
  const lab = new RedisLab();
  afterAll(() => lab.end());

  it.each([
    ['+@all', 'ok: This user may write'],
    ['-hset', 'fault: This user may not run HSET on'],
    ['-hdel', 'fault: This user may not run HDEL on'],
  ])('is judged by the rights %s', async (rights, told) => {
    const { port } = await lab.server();
    const admin = lab.client(port);
    await lab.support({ redis: `redis://127.0.0.1:${port}` }).getNextWorkId(request());
    await admin.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>pw', '~*', '+@all', rights);
    const before = await admin.call('HGETALL', 'snowflake:{default}:registry');
    const found = await doctor(`redis://app:pw@127.0.0.1:${port}`);
    expect(found.rights).toContain(told);
    expect(found.code).toBe(told.startsWith('ok') ? 0 : 1);
    expect(await admin.call('HGETALL', 'snowflake:{default}:registry')).toEqual(before);
  });
});

type Run = (url: string, sql: string) => Promise<unknown>;

const onPostgres: Run = async (url, sql) => {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
};

const onMariadb: Run = async (uri, sql) => {
  const connection = await createConnection({ uri });
  const [rows] = await connection.query(sql);
  await connection.end();
  return rows;
};

describe.each([
  ['PostgreSQL', 'DATABASE_URL', onPostgres],
  ['MariaDB', 'MYSQL_URL', onMariadb],
] as const)('a user of %s', (server, variable, run) => {
  const isPostgres = server === 'PostgreSQL';
  let own: OwnDatabase;
  let url: string;
  const role = `reader_${Date.now().toString(36)}`;
  const who = isPostgres ? role : `${role}@'%'`;
  const grant = (rights: string) => run(own.url, `GRANT ${rights} ON snowflake_registry TO ${who}`);

  beforeAll(async () => {
    own = await ownDatabase(process.env[variable]!);
    await command(['registry', 'create', '--yes', '--support', own.url]);
    const login = isPostgres ? `ROLE ${who} LOGIN PASSWORD` : `USER ${who} IDENTIFIED BY`;
    await run(own.url, `CREATE ${login} 'pw'`);
    await grant('SELECT');
    const asReader = new URL(own.url);
    [asReader.username, asReader.password] = [role, 'pw'];
    url = asReader.href;
  });
  afterAll(async () => {
    await run(own.url, isPostgres ? `DROP OWNED BY ${who}; DROP ROLE ${who}` : `DROP USER ${who}`);
    await own.drop();
  });

  it.each(['SELECT', 'SELECT, INSERT', 'SELECT, INSERT, UPDATE'])(
    'with the rights %s gets a matching report',
    async (rights) => {
      await grant(rights);
      const all = 'SELECT * FROM snowflake_registry';
      const before = await run(own.url, all);
      const found = await doctor(url);
      expect(found.rights).toMatch(rights.includes('UPDATE') ? /^ok/ : /^fault/);
      expect(await run(own.url, all)).toEqual(before);
    },
  );
});

/**
 * A database that is gone without a word, as with its machine: the call that meets it ends, and
 * takes the connection with it.
 */
import { afterEach, expect, it } from '@jest/globals';
import { openClient } from '../../lib/stores/sql/open-client.js';
import { OwnConnection } from '../../lib/stores/sql/sql-connection.js';
import { parseSqlUrl, type ServerUrl } from '../../lib/stores/sql/sql-url.js';
import { MuteProxy } from './mute-proxy.js';

let proxy: MuteProxy;
afterEach(() => proxy.end());

/** As a driver keeps a statement that was asked before. */
const PREPARED = 'SELECT 1 AS one';
const NEW = 'SELECT 2 AS two';

it.each([
  ['PostgreSQL', 'DATABASE_URL'],
  ['MariaDB', 'MYSQL_URL'],
])('is asked over another connection: %s', async (_, variable) => {
  const server = new URL(process.env[variable]!);
  proxy = await new MuteProxy(Number(server.port)).listen();
  server.port = String(proxy.port);
  const url = parseSqlUrl(server.href) as ServerUrl;
  const connection = new OwnConnection({ text: 'here' } as never, () => openClient(url));
  await connection.query(PREPARED, []);
  proxy.mute();
  await expect(connection.query(PREPARED, [])).rejects.toThrow(/read timeout/i);
  expect(await connection.query(PREPARED, [])).toBeDefined();
  proxy.mute();
  await expect(connection.query(NEW, [])).rejects.toThrow(/read timeout/i);
  expect(await connection.query(NEW, [])).toBeDefined();
  expect(proxy.count).toBe(3);
  await connection.close();
});

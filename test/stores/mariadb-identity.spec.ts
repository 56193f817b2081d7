/**
 * Two MariaDB of one hardware address and one port, as in containers of two hosts: for MariaDB they
 * are one server, and for whoever fails over from one to the other they must be two.
 */
import { expect, it } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { MYSQL_DURABLE, mysqlHistory, mysqlServer } from '../../lib/stores/sql/dialects/mysql.js';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';

const IDENTITY = 'server_uid';
const RUN = mysqlServer(true, IDENTITY);
const ASKED =
  `SELECT @@${IDENTITY} AS uid, ${mysqlHistory(IDENTITY, RUN, MYSQL_DURABLE)} AS history, ` +
  `${RUN} AS run`;
type Known = Record<'uid' | 'history' | 'run', string>;

async function knownBy(serverId: number, wanted?: number): Promise<[Known, number]> {
  const durable = ['--innodb-flush-log-at-trx-commit=1', `--server-id=${serverId}`];
  const { url, port, stop } = await startMariadb(durable, wanted);
  const connection = await createConnection(url);
  const [rows] = await connection.query(ASKED);
  connection.destroy();
  await stop();
  return [(rows as Known[])[0]!, port];
}

it('is told apart by server_id, which differs where one follows the other', async () => {
  const [primary, port] = await knownBy(1);
  const [replica] = await knownBy(2, port);
  expect(replica.uid).toBe(primary.uid);
  expect(replica.history).not.toBe(primary.history);
  const withoutStart = ({ run }: Known) => run.replace(/\d+$/, '');
  expect(withoutStart(replica)).not.toBe(withoutStart(primary));
  const [again] = await knownBy(1, port);
  expect(again.history).toBe(primary.history);
}, 300_000);

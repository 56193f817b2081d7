// A MariaDB of our own: fresh data, loopback, free port, root without a password, database `test`.
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { requireServers } from './binaries.mjs';
import { freePort, firstReply } from './ports.mjs';
import { serverFolder, startProcess, unprivileged } from './server-process.mjs';

const INIT_SQL = `CREATE DATABASE IF NOT EXISTS test;
CREATE USER IF NOT EXISTS root@'127.0.0.1';
GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
`;

/** mariadb-install-db lies in bin/ where the server may lie in sbin/. */
function installer(server) {
  const folders = [dirname(server), '/usr/bin', '/usr/local/bin'];
  const paths = folders.map((folder) => join(folder, 'mariadb-install-db'));
  return paths.find((path) => existsSync(path)) ?? paths[0];
}

/**
 * Fresh data in `folder`, and the command of the server that has them.
 * @param {{ folder: string, user: object, port: number, more?: readonly string[] }} parts `folder`
 *   is the user's
 */
export function createMariadb({ folder, user, port, more = [] }) {
  const { mariadb } = requireServers(['mariadb']);
  const data = join(folder, 'data');
  const install = [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
    // Two that are made at once would delete each other's tables.
    `--tmpdir=${folder}`,
  ];
  const options = { cwd: folder, ...user, encoding: 'utf8' };
  const made = spawnSync(installer(mariadb), [...install, '--skip-test-db'], options);
  if (made.status !== 0)
    throw new Error(`mariadb-install-db failed:\n${made.stderr || made.error}`);
  const initFile = join(folder, 'init.sql');
  writeFileSync(initFile, INIT_SQL, { mode: 0o644 });
  const args = [
    '--no-defaults',
    `--datadir=${data}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--tmpdir=${folder}`,
    '--skip-name-resolve',
    `--socket=${join(folder, 'mysql.sock')}`,
    `--init-file=${initFile}`,
    '--innodb-flush-log-at-trx-commit=0',
    ...more,
  ];
  return { command: mariadb, args };
}

/**
 * @param {readonly string[]} more arguments, as in `--read-only`
 * @param {number} wanted a port that is free, or 0
 * @returns {Promise<import('./server-process.mjs').Server>}
 */
export async function startMariadb(more = [], wanted = 0) {
  const user = unprivileged();
  const folder = serverFolder('mariadb', user);
  const port = wanted || (await freePort());
  const { command, args } = createMariadb({ folder, user, port, more });
  const server = await startProcess({
    command,
    args,
    folder,
    user,
    // The greeting names the version; an error packet while starting does not.
    isReady: async () => (await firstReply(port)).includes('MariaDB'),
  });
  return { url: `mysql://root@127.0.0.1:${port}/test`, port, ...server };
}

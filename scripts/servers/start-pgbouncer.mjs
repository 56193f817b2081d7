// A PgBouncer of our own in front of a PostgreSQL that asks for no password.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireServers } from './binaries.mjs';
import { freePort, firstReply } from './ports.mjs';
import { serverFolder, startProcess, unprivileged } from './server-process.mjs';

/** Asks whether the server speaks TLS; it answers 'N' or 'S' as soon as it takes connections. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]).toString('latin1');

/**
 * @param {string} databaseUrl of the PostgreSQL
 * @param {Readonly<Record<string, string | number>>} settings as in `pool_mode`
 * @returns {Promise<import('./server-process.mjs').Server>}
 */
export async function startPgbouncer(databaseUrl, settings) {
  const { pgbouncer } = requireServers(['pgbouncer']);
  const { hostname, port: databasePort, pathname } = new URL(databaseUrl);
  const user = unprivileged();
  const folder = serverFolder('pgbouncer', user);
  const port = Number(settings['listen_port'] ?? (await freePort()));
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    // Everybody is the user of whom nothing is asked.
    auth_type: 'any',
    ...settings,
  };
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${databasePort} user=postgres`,
    '[pgbouncer]',
    ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const server = await startProcess({
    command: pgbouncer,
    args: [file],
    folder,
    user,
    isReady: async () => /^[NS]/.test(await firstReply(port, SSL_REQUEST)),
  });
  return { url: `postgres://postgres@127.0.0.1:${port}${pathname}`, port, ...server };
}

// A PostgreSQL of our own: fresh data, loopback, free port, no password, no waiting for the disk.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { requireServers } from './binaries.mjs';
import { freePort } from './free-port.mjs';
import { serverFolder, startProcess, unprivileged } from './server-process.mjs';
import { firstReply } from './tcp.mjs';

/** Asks whether the server speaks TLS; it answers 'N' or 'S' as soon as it takes connections. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]).toString('latin1');

/**
 * @param {readonly string[]} more settings, as in `wal_writer_delay=10s`
 * @returns {Promise<{ url: string, port: number, pid: number, stop: () => Promise<void> }>}
 */
export async function startPostgres(more = []) {
  const { postgres: initdb } = requireServers(['postgres']);
  const user = unprivileged();
  const folder = serverFolder('postgres', user);
  const data = join(folder, 'data');
  const args = ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '--encoding=UTF8'];
  const made = spawnSync(initdb, args, { cwd: folder, ...user, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed:\n${made.stderr || made.error}`);
  const port = await freePort();
  const own = ['fsync=off', 'max_connections=200', 'listen_addresses=127.0.0.1'];
  const settings = [...own, ...more];
  const { pid, stop } = await startProcess({
    command: join(dirname(initdb), 'postgres'),
    args: ['-D', data, '-p', String(port), '-k', folder, ...settings.flatMap((set) => ['-c', set])],
    folder,
    user,
    isReady: async () => /^[NS]/.test(await firstReply(port, SSL_REQUEST)),
  });
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, port, pid, stop };
}

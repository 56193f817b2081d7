// A PostgreSQL of our own: fresh data, loopback, free port, no password, no waiting for the disk.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { libfaketime, requireServers } from './binaries.mjs';
import { freePort, firstReply } from './ports.mjs';
import { serverFolder, startProcess, unprivileged } from './server-process.mjs';

/** Logs in. The answer is 'R...' (authenticated) once recovery is over, until then 'E...'. */
const STARTUP = startupMessage('user\0postgres\0\0');

function startupMessage(/** @type {string} */ parameters) {
  const head = Buffer.alloc(8);
  head.writeInt32BE(head.length + parameters.length);
  head.writeInt32BE(196_608, 4); // version 3.0 of the protocol
  return head.toString('latin1') + parameters;
}

/**
 * @typedef {import('./server-process.mjs').Server} Running
 * @param {readonly string[]} more settings, as in `wal_writer_delay=10s`
 * @param {string} [clockFile] what stands in it, such as `-60`, is added to the wall clock
 * @returns {Promise<Running>}
 */
export async function startPostgres(more = [], clockFile) {
  const place = newPlace();
  runAs(place, join(programs(), 'initdb'), ['-D', place.data, ...INIT]);
  return serve({ ...place, ...(clockFile !== undefined && { env: movedBy(clockFile) }) }, more);
}

/** An environment in which the wall clock, and nothing else, is moved by what the file says. */
const movedBy = (/** @type {string} */ clockFile) => ({
  ...process.env,
  LD_PRELOAD: libfaketime(),
  FAKETIME_TIMESTAMP_FILE: clockFile,
  FAKETIME_CACHE_DURATION: '1',
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
});

/**
 * A server, and one that follows it and takes no writes.
 * @returns {Promise<{ primary: Running, standby: Running }>}
 */
export async function startWithStandby() {
  const [place, other] = [newPlace(), newPlace()];
  runAs(place, join(programs(), 'initdb'), ['-D', place.data, ...INIT]);
  runAs(other, 'cp', ['-a', place.data, other.data]);
  runAs(other, 'touch', [join(other.data, 'standby.signal')]);
  const primary = await serve(place, []);
  const followed = `primary_conninfo=host=127.0.0.1 port=${primary.port} user=postgres`;
  return { primary, standby: await serve(other, [followed]) };
}

const INIT = ['-U', 'postgres', '--auth=trust', '--no-sync', '--encoding=UTF8'];

function programs() {
  return dirname(requireServers(['postgres']).postgres);
}

/** @typedef {{ user: object, folder: string, data: string, env?: NodeJS.ProcessEnv }} Place */
function newPlace() {
  const user = unprivileged();
  const folder = serverFolder('postgres', user);
  return { user, folder, data: join(folder, 'data') };
}

function runAs(/** @type {Place} */ { user, folder }, program, args) {
  const made = spawnSync(program, args, { cwd: folder, ...user, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`${program} failed:\n${made.stderr || made.error}`);
}

/** @returns {Promise<Running>} */
async function serve(/** @type {Place} */ { user, folder, data, env }, more) {
  const port = await freePort();
  const own = ['fsync=off', 'max_connections=200', 'listen_addresses=127.0.0.1'];
  const settings = [...own, ...more];
  const server = await startProcess({
    command: join(programs(), 'postgres'),
    args: ['-D', data, '-p', String(port), '-k', folder, ...settings.flatMap((set) => ['-c', set])],
    folder,
    user,
    ...(env && { env }),
    isReady: async () => (await firstReply(port, STARTUP)).startsWith('R'),
  });
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, port, ...server };
}

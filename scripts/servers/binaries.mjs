// Finds the servers and the browser of the tests on this machine, or installs them where that is
// allowed.
//
// Guarantee: where one is missing and cannot be installed, one error lists everything missing
// with the commands that help. Nothing is ever skipped in silence.
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const SERVERS = {
  redis: { debian: 'redis-server', brew: 'redis', names: ['redis-server', 'valkey-server'] },
  valkey: { debian: 'valkey-server', brew: 'valkey', names: ['valkey-server'] },
  postgres: { debian: 'postgresql', brew: 'postgresql@17', names: ['initdb'] },
  pgbouncer: { debian: 'pgbouncer', brew: 'pgbouncer', names: ['pgbouncer'] },
  mariadb: { debian: 'mariadb-server', brew: 'mariadb', names: ['mariadbd', 'mysqld'] },
  etcd: { debian: 'etcd-server', brew: 'etcd', names: ['etcd'] },
  etcdctl: { debian: 'etcd-client', brew: 'etcd', names: ['etcdctl'] },
  // The programs by which people talk to them.
  psql: { debian: 'postgresql-client', brew: 'libpq', names: ['psql'] },
  mysql: { debian: 'mariadb-client', brew: 'mariadb', names: ['mariadb', 'mysql'] },
  // Checks rules of alerts, and tries them on time series.
  promtool: { debian: 'prometheus', brew: 'prometheus', names: ['promtool'] },
  faketime: { debian: 'faketime', brew: 'libfaketime', names: ['faketime'] },
  // Builds what is loaded into a Redis, its clock and its disk: preloaded.mjs.
  cc: { debian: 'gcc libc6-dev', brew: 'gcc', names: ['cc', 'gcc'] },
  chromium: {
    // The same browser without its windows, which nobody sees: less than half the work.
    debian: 'chromium-headless-shell',
    brew: 'google-chrome',
    names: [
      'chromium-headless-shell',
      'chromium',
      'google-chrome',
      'google-chrome-stable',
      'Chromium',
      'Google Chrome',
    ],
  },
};

const DOCKER = [
  'docker run -d -p 6379:6379 redis:7',
  'docker run -d -p 5432:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres:17',
  'docker run -d -p 3306:3306 -e MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1 \\',
  '  -e MARIADB_DATABASE=test mariadb:11',
  'docker run -d -p 2379:2379 quay.io/coreos/etcd:v3.5.16 etcd \\',
  '  --listen-client-urls=http://0.0.0.0:2379 \\',
  '  --advertise-client-urls=http://localhost:2379',
  'docker run -d -p 6380:6379 valkey/valkey:8',
  'export REDIS_URL=redis://localhost:6379',
  'export VALKEY_URL=redis://localhost:6380',
  'export DATABASE_URL=postgres://postgres@localhost:5432/postgres',
  'export MYSQL_URL=mysql://root@localhost:3306/test',
  'export ETCD_URL=etcd://localhost:2379',
  'export CHROMIUM=/path/of/your/chrome',
];

/** @typedef {'redis' | 'valkey' | 'postgres' | 'mariadb' | 'etcd' | 'etcdctl'} Store */
/** @typedef {'psql' | 'mysql' | 'promtool'} Program */
/** @typedef {Store | Program | 'pgbouncer' | 'faketime' | 'cc' | 'chromium'} Server */
/** @typedef {Partial<Record<Server, string>>} Binaries */

/** Folders that hold servers although they are often not on PATH. */
function extraFolders(root = '/usr/lib/postgresql') {
  const versions = existsSync(root) ? readdirSync(root) : [];
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a));
  const homebrew = ['postgresql@17', 'postgresql@16', 'redis', 'mariadb'];
  return [
    ...newestFirst.map((version) => join(root, version, 'bin')),
    '/usr/sbin',
    '/usr/local/sbin',
    ...homebrew.map((name) => `/opt/homebrew/opt/${name}/bin`),
    ...['Chromium', 'Google Chrome'].map((name) => `/Applications/${name}.app/Contents/MacOS`),
  ];
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Looks for the servers. @returns {Binaries} full paths; those missing are absent */
export function findServers(path = process.env.PATH ?? '', extra = extraFolders()) {
  const folders = [...path.split(delimiter).filter(Boolean), ...extra];
  const found = {};
  for (const [server, { names }] of Object.entries(SERVERS)) {
    const candidates = names.flatMap((name) => folders.map((folder) => join(folder, name)));
    const hit = candidates.find(isExecutable);
    if (hit !== undefined) found[server] = hit;
  }
  return found;
}

/** What to tell somebody whose machine lacks servers. */
export function missingServersMessage(missing) {
  const list = (kind) => missing.map((server) => SERVERS[server][kind]).join(' ');
  return [
    `The tests run against real servers and a browser, and this machine lacks: ` +
      `${missing.join(', ')}. ` +
      `Install them:`,
    `  Debian, Ubuntu:  sudo apt-get install -y ${list('debian')}`,
    ...(missing.includes('valkey') ? ['  Debian 12:       Valkey is in its backports'] : []),
    `  macOS:           brew install ${list('brew')}`,
    `  Docker:          ${DOCKER.join('\n                   ')}`,
  ].join('\n');
}

/** True for root on Debian or Ubuntu. */
export function mayInstall(uid = process.getuid?.(), hasApt = existsSync('/usr/bin/apt-get')) {
  return uid === 0 && hasApt;
}

function aptInstall(missing) {
  const packages = missing.flatMap((server) => SERVERS[server].debian.split(' '));
  process.stdout.write(`[servers] installing ${packages.join(', ')} with apt-get\n`);
  const apt = (...args) =>
    // Another run of the tests may be installing something.
    spawnSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=300', ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      // RUNLEVEL=1 keeps the packages from starting their services: the tests start their own.
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    });
  const install = ['install', '-y', '--no-install-recommends'];
  apt('update');
  const isKnown = (name) => spawnSync('apt-get', ['install', '--dry-run', name]).status === 0;
  const unknown = packages.filter((name) => !isKnown(name));
  apt(...install, ...packages.filter(isKnown));
  if (unknown.length === 0) return;
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-apt-'));
  const options = ['-o', `Dir::Etc::SourceParts=${backportsIn(folder)}`];
  apt('update', ...options);
  apt(...install, ...options, ...unknown);
  rmSync(folder, { recursive: true });
}

/**
 * Sources of apt-get in which it finds what came after the release, as Valkey did after Debian 12:
 * at the places that it uses already, and for this command alone.
 */
function backportsIn(/** @type {string} */ folder) {
  const known = '/etc/apt/sources.list.d';
  if (existsSync(known)) cpSync(known, folder, { recursive: true });
  const format = 'deb $(REPO_URI) $(RELEASE)-backports main';
  const { stdout } = spawnSync('apt-get', ['indextargets', '--format', format], {
    encoding: 'utf8',
  });
  // Those of updates and of security have none.
  const isMain = (line) => / [a-z]+-backports main$/.test(line);
  const lines = [...new Set(stdout.split('\n'))].filter(isMain);
  writeFileSync(join(folder, 'backports.list'), `${lines.join('\n')}\n`);
  return folder;
}

/**
 * The servers asked for, installed where they are missing and that is allowed.
 * @param {(keyof Binaries)[]} wanted
 * @returns {Required<Binaries>}
 */
export function requireServers(wanted) {
  const missingFrom = (found) => wanted.filter((server) => found[server] === undefined);
  let found = findServers();
  if (missingFrom(found).length > 0 && mayInstall()) {
    aptInstall(missingFrom(found));
    found = findServers();
  }
  if (missingFrom(found).length > 0) throw new Error(missingServersMessage(missingFrom(found)));
  return /** @type {Required<Binaries>} */ (found);
}

/** The library that gives a process another wall clock; installed as a server is. */
export function libfaketime() {
  requireServers(['faketime']);
  const folders = ['/usr/lib', '/usr/local/lib', '/opt/homebrew/lib'].filter(existsSync);
  const inside = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  const places = [...folders, ...inside].map((folder) => join(folder, 'faketime'));
  const found = places.map((folder) => join(folder, 'libfaketime.so.1')).find(existsSync);
  if (found === undefined)
    throw new Error(`libfaketime.so.1 lies in none of: ${places.join(', ')}`);
  return found;
}

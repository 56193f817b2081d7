// Starts the servers that a kind of tests names, for the whole run, unless a variable locates them.
// The teardown of the run stops them.
import { fileURLToPath } from 'node:url';
import { requireServers } from '../../scripts/servers/binaries.mjs';
import { startEtcd } from '../../scripts/servers/start-etcd.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { startSharedRedis } from '../../scripts/servers/start-redis.mjs';
import { specsOf, variablesOf } from './kinds.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const SERVERS = [
  { variable: 'REDIS_URL', name: 'redis', start: () => startSharedRedis() },
  { variable: 'VALKEY_URL', name: 'valkey', start: () => startSharedRedis('valkey') },
  { variable: 'DATABASE_URL', name: 'postgres', start: startPostgres },
  { variable: 'MYSQL_URL', name: 'mariadb', start: startMariadb },
  { variable: 'ETCD_URL', name: 'etcd', start: startEtcd },
  { variable: 'CHROMIUM', name: 'chromium', start: findChromium },
];

/** Each test with a page starts the browser itself. */
async function findChromium() {
  return { url: requireServers(['chromium']).chromium, stop: async () => undefined };
}

/** The servers that the selected specs of this kind name. */
export async function startServers(
  /** @type {import('./kinds.mjs').Kind} */ kind,
  /** @type {import('@jest/types').Config.GlobalConfig} */ { testPathPatterns },
) {
  const startedAt = performance.now();
  const named = variablesOf(ROOT, specsOf(ROOT, kind, testPathPatterns.patterns));
  const servers = SERVERS.filter(({ variable }) => named.includes(variable));
  if (servers.length === 0) return;
  const wanted = servers.filter(({ variable }) => !process.env[variable]);
  requireServers(wanted.map(({ name }) => name));
  const started = await Promise.all(
    wanted.map(async ({ variable, start }) => {
      const server = await start();
      process.env[variable] = server.url;
      return server;
    }),
  );
  globalThis.snowflakeServers = [...(globalThis.snowflakeServers ?? []), ...started];
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const list = servers.map(({ variable, name }) => `${name} ${process.env[variable]}`).join(', ');
  process.stdout.write(
    `\n[servers] for ${kind} ready in ${seconds} s: ${list.replaceAll(/\/\/[^@/]*@/g, '//')}\n`,
  );
}

// Stops the servers that the setup started.
export default async function globalTeardown() {
  await Promise.all((globalThis.snowflakeServers ?? []).map((server) => server.stop()));
}

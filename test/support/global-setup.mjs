// Starts a Redis, a PostgreSQL and a MariaDB for the whole test run and finds a browser, unless the
// variables say where they are.
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { requireServers } from '../../scripts/servers/binaries.mjs';

const SERVERS = [
  { variable: 'REDIS_URL', name: 'redis', start: startRedis },
  { variable: 'DATABASE_URL', name: 'postgres', start: startPostgres },
  { variable: 'MYSQL_URL', name: 'mariadb', start: startMariadb },
  { variable: 'CHROMIUM', name: 'chromium', start: findChromium },
];

/** Each test that shows a page starts it for itself. */
async function findChromium() {
  return { url: requireServers(['chromium']).chromium, stop: async () => undefined };
}

export default async function globalSetup() {
  const startedAt = performance.now();
  const wanted = SERVERS.filter(({ variable }) => !process.env[variable]);
  requireServers(wanted.map(({ name }) => name));
  globalThis.snowflakeServers = await Promise.all(
    wanted.map(async ({ variable, start }) => {
      const server = await start();
      process.env[variable] = server.url;
      return server;
    }),
  );
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const list = SERVERS.map(({ variable, name }) => `${name} ${process.env[variable]}`).join(', ');
  process.stdout.write(
    `\n[servers] ready in ${seconds} s: ${list.replaceAll(/\/\/[^@/]*@/g, '//')}\n`,
  );
}

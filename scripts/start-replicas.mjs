// Three replicas of the shop on one registry and one PostgreSQL, without Docker: three worker ids,
// given out by a Redis of their own, or by the registry that SNOWFLAKE_SUPPORT names. With --check
// it shows them, stops, and says by its exit code whether they were distinct.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './servers/free-port.mjs';
import { startPostgres } from './servers/start-postgres.mjs';
import { startRedis } from './servers/start-redis.mjs';

const REPLICA_COUNT = 3;
const MAIN = 'dist/sample-app/sample-app/src/main.js';
const OPERATOR_PASSWORD = process.env.OPERATOR_PASSWORD || randomBytes(12).toString('hex');

function say(text) {
  process.stdout.write(`${text}\n`);
}

async function startReplica(support, postgres) {
  const port = await freePort();
  const env = {
    ...process.env,
    PORT: String(port),
    SNOWFLAKE_SUPPORT: support,
    DATABASE_URL: postgres.url,
    OPERATOR_PASSWORD,
  };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  // However this process ends, no replica stays behind.
  process.on('exit', () => child.kill('SIGTERM'));
  const replica = { child, url: `http://localhost:${port}` };
  await ready(replica);
  return replica;
}

async function post(url, body) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return response.json();
}

function hasEnded({ exitCode, signalCode }) {
  return exitCode !== null || signalCode !== null;
}

async function ready({ child, url }) {
  for (;;) {
    if (hasEnded(child)) throw new Error(`The replica at ${url} ended; see above.`);
    const response = await fetch(`${url}/health/ready`).catch(() => undefined);
    if (response?.ok) return;
    await sleep(100);
  }
}

/** One order through a replica; its id says which worker made it. */
async function visit({ url }, customerId) {
  const lines = [{ product: 'tea', quantity: 1, priceCents: 450 }];
  const { id } = await post(`${url}/orders`, { customerId, lines });
  const { workerId } = await (await fetch(`${url}/ids/${id}`)).json();
  return { url, workerId, orderId: id };
}

async function stop({ child }) {
  if (hasEnded(child)) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

const build = spawnSync('npx', ['nest', 'build', 'sample-app'], { stdio: 'inherit' });
if (build.status !== 0) process.exit(1);
const given = process.env.SNOWFLAKE_SUPPORT;
const postgres = await startPostgres();
const redis = given ? undefined : await startRedis();
const support = given || `${redis.url}?namespace=shop`;
const replicas = await Promise.all(
  Array.from({ length: REPLICA_COUNT }, () => startReplica(support, postgres)),
);
const { id } = await post(`${replicas[0].url}/customers`, { name: 'Ada' });
const visits = await Promise.all(replicas.map((replica) => visit(replica, id)));
say(`\n${redis ? `Redis ${redis.url}` : 'SNOWFLAKE_SUPPORT'}, PostgreSQL ${postgres.url}\n`);
say('replica                  worker id  an order it made');
for (const { url, workerId, orderId } of visits) {
  say(`${url.padEnd(24)} ${String(workerId).padEnd(10)} ${orderId}`);
}

async function end(code) {
  await Promise.all(replicas.map(stop));
  await Promise.all([redis?.stop(), postgres.stop()]);
  process.exit(code);
}

if (process.argv.includes('--check')) {
  const areDistinct = new Set(visits.map(({ workerId }) => workerId)).size === REPLICA_COUNT;
  await end(areDistinct ? 0 : 1);
}
say(`\nWho holds which worker id: ${visits[0].url}/snowflake (password ${OPERATOR_PASSWORD})`);
say('All three answer. Stop them with Ctrl-C.');
process.removeAllListeners('SIGINT');
process.removeAllListeners('SIGTERM');
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void end(0));

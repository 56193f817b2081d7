// Three replicas of the shop on one registry and one PostgreSQL, without Docker: three worker ids,
// given out by a Redis of their own, or by the registry that SNOWFLAKE_SUPPORT names; rows go into
// a PostgreSQL of their own, or into that of DATABASE_URL. With --check it shows them, stops, and
// says by its exit code whether they were distinct and ended well; --built names the folder of a
// shop that is compiled already, and --count another number than three.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from './servers/ports.mjs';
import { startPostgres } from './servers/start-postgres.mjs';
import { startRedis } from './servers/start-redis.mjs';

const { check, built, count } = parseArgs({
  options: {
    check: { type: 'boolean' },
    built: { type: 'string' },
    count: { type: 'string', default: '3' },
  },
}).values;
const REPLICA_COUNT = Number(count);
const SHOP = resolve(built ?? 'dist/sample-app');
const OPERATOR_PASSWORD = process.env.OPERATOR_PASSWORD || randomBytes(12).toString('hex');

function say(text) {
  process.stdout.write(`${text}\n`);
}

async function startReplica(support, databaseUrl) {
  const port = await freePort();
  const env = {
    ...process.env,
    PORT: String(port),
    SNOWFLAKE_SUPPORT: support,
    DATABASE_URL: databaseUrl,
    OPERATOR_PASSWORD,
  };
  const main = join(SHOP, 'sample-app/src/main.js');
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  // However this process ends, no replica stays behind.
  process.on('exit', () => child.kill('SIGTERM'));
  const replica = { child, url: `http://localhost:${port}` };
  await ready(replica);
  return replica;
}

/** A number that nobody leases has to be another one for each, as the ordinals of pods are. */
function supportOf(support, replica) {
  return support.replace(/^static:(\d+)$/, (_, first) => `static:${Number(first) + replica}`);
}

/** What `snowflake registry create` does: in a database the registry needs a table. */
async function prepare(support) {
  if (support.startsWith('static:')) return;
  const { inspectorOf } = await import(join(SHOP, 'lib/stores/schemes.js'));
  const inspector = await inspectorOf(support);
  try {
    await inspector.preparation?.run();
  } finally {
    await inspector.close();
  }
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

/** One order through a replica, and its worker ID. */
async function visit({ url }) {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ product: 'tea', quantity: 1 });
  const order = await fetch(`${url}/orders`, { method: 'POST', headers, body });
  const { id } = await order.json();
  const { details } = await (await fetch(`${url}/health/ready`)).json();
  return { url, workerId: details.ids.workerId, orderId: id };
}

/** False if the replica did not end well: after its hooks it ends itself by the signal. */
async function stop({ child }) {
  if (!hasEnded(child)) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  return child.signalCode === 'SIGTERM';
}

if (built === undefined) {
  const build = spawnSync('npx', ['nest', 'build', 'sample-app'], { stdio: 'inherit' });
  if (build.status !== 0) process.exit(1);
}
const given = process.env.SNOWFLAKE_SUPPORT;
const postgres = process.env.DATABASE_URL ? undefined : await startPostgres();
const databaseUrl = postgres?.url ?? process.env.DATABASE_URL;
const redis = given ? undefined : await startRedis();
const support = given || `${redis.url}?namespace=shop`;
await prepare(support);
const start = (n) => startReplica(supportOf(support, n), databaseUrl);
// The first one creates the tables.
const first = await start(0);
const others = Array.from({ length: REPLICA_COUNT - 1 }, (_, n) => start(n + 1));
const replicas = [first, ...(await Promise.all(others))];
const visits = await Promise.all(replicas.map(visit));
const places = [redis?.url ?? 'SNOWFLAKE_SUPPORT', postgres?.url ?? 'DATABASE_URL'];
say(`\nWorker ids from ${places[0]}, rows in ${places[1]}\n`);
say('replica                  worker id  an order it made');
for (const { url, workerId, orderId } of visits) {
  say(`${url.padEnd(24)} ${String(workerId).padEnd(10)} ${orderId}`);
}

async function end(isWell) {
  const ended = await Promise.all(replicas.map(stop));
  await Promise.all([redis?.stop(), postgres?.stop()]);
  process.exit(isWell && ended.every(Boolean) ? 0 : 1);
}

if (check) {
  const areDistinct = new Set(visits.map(({ workerId }) => workerId)).size === REPLICA_COUNT;
  await end(areDistinct);
}
say(
  `\nWho holds which worker id: ${visits[0].url}/snowflake (user operator, password ${OPERATOR_PASSWORD})`,
);
say(`Which of them makes each report: ${visits[0].url}/sales-reports`);
say('All of them answer. Stop them with Ctrl-C.');
process.removeAllListeners('SIGINT');
process.removeAllListeners('SIGTERM');
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void end(true));

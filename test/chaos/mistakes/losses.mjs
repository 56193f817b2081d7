/** What is lost with the data of a server, and what another configuration finds then. */
import { randomBytes } from 'node:crypto';

/** @import { Stage } from './stage.mjs' */
/** @import { RedisNode } from '../topologies.mjs' */

// A Redis that throws the registry away, or comes back with an older one, again and again.

/** So large that few lie beside the registry, which is then often the one that goes. */
const VALUE_BYTES = 60_000;
const EVICTION_MS = 12_000;
const REGISTRY = 'snowflake:{default}:registry';

/** @param {'allkeys-lru' | 'allkeys-random'} policy */
export const playEviction = (policy) => async (/** @type {Stage} */ stage) => {
  const { admin, port } = await stage.redis({ args: ['--maxmemory-policy', policy] });
  const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1]);
  await admin.config('SET', 'maxmemory', String(used + 20 * VALUE_BYTES));
  const support = `redis://127.0.0.1:${port}`;
  await Promise.all([1, 2, 3].map(() => stage.runs({ support })));
  const incarnations = new Set();
  for (const endMs = performance.now() + EVICTION_MS; performance.now() < endMs;) {
    for (let count = 0; count < 10; count++) await fill(admin);
    const incarnation = await admin.hget(REGISTRY, 'incarnation').catch(() => null);
    if (incarnation !== null) incarnations.add(incarnation);
    await stage.sleep(50);
  }
  stage.note = `${incarnations.size} registries, one after the other`;
  stage.demand(incarnations.size > 3, `only ${stage.note}`);
  stage.demand(stage.hasLogged(/evict/), 'nobody was told that Redis evicts');
};

/** Refused as out of memory at times, when clients' buffers take all there is. */
const fill = (/** @type {RedisNode['admin']} */ admin) =>
  admin.set(randomBytes(6).toString('hex'), randomBytes(VALUE_BYTES)).catch(() => undefined);

/** The same old file three times, and a server without any file twice. */
export async function playOldFile(/** @type {Stage} */ stage) {
  const node = await stage.redis();
  const support = `redis://127.0.0.1:${node.port}`;
  await Promise.all([1, 2, 3].map(() => stage.runs({ support })));
  await stage.sleep(500);
  await node.backup();
  const newcomer = stage.process();
  for (const pauseMs of [2500, 4000, 4500]) {
    await stage.sleep(pauseMs);
    await node.restore();
    await stage.runs({ support }, newcomer);
  }
  for (let count = 0; count < 2; count++) {
    await stage.sleep(1500);
    await node.kill();
    node.forget();
    await node.start(['--appendonly', 'no']);
  }
  await stage.runs({ support }, newcomer);
  await stage.sleep(1500);
}

// A loss of data together with another epoch or layout: the registry has then forgotten which one
// it was for. Ids of both lie in one id space, so whole ids are compared.

const LATER = '2024-01-01T00:00:04Z';
const OTHER_FIELDS = [
  ['timestamp', 41],
  ['worker', 4],
  ['sequence', 11],
];
const REFUSED = { code: /^LAYOUT_MISMATCH$/, words: [/layout/i, /namespace/i] };
/** A lease of the registry that was lost has ended by then. */
const LONG_MS = 11_500;

/**
 * A process of another layout is the first to come after a flush, while others of the right one
 * are alive and make ids.
 * @param {object} other what it is given beside the address
 */
const playOther = (other) => async (/** @type {Stage} */ stage) => {
  const { admin, port } = await stage.redis();
  const support = `redis://127.0.0.1:${port}`;
  const holders = await Promise.all([1, 2, 3].map(() => stage.runs({ support })));
  const wrong = stage.process();
  await stage.isRefused({ support, ...other }, REFUSED, wrong);
  const signal = (/** @type {NodeJS.Signals} */ name) => {
    for (const { member } of holders) member.child.kill(name);
  };
  signal('SIGSTOP');
  await admin.flushall();
  const lease = { startTimeoutMs: 8000 };
  const refused = stage.isRefused({ support, ...other, lease }, REFUSED, wrong);
  await stage.until(async () => (await admin.dbsize()) === 1);
  signal('SIGCONT');
  await refused;
  await stage.sleep(LONG_MS);
};

export const playOtherEpoch = playOther({ epoch: LATER });
export const playOtherLayout = playOther({ fields: OTHER_FIELDS });

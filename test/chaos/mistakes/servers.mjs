/**
 * Mistakes about the server: the wrong one, a replica, a Cluster, one with certificates, and one
 * that loses its data, with the errors of another configuration.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../scripts/servers/ports.mjs';
import { startRedis } from '../../../scripts/servers/start-redis.mjs';
import { Proxy } from '../proxy.mjs';

/** @import { Stage } from './stage.mjs' */
/** @import { RedisNode } from '../topologies.mjs' */

// An address of something else, and a server without the features that the scripts need.

const PASSWORD = 'of-the-administrator';
/** The registry's slot, 9,862, belongs to the second node. */
const SLOTS = [
  [0, 99],
  [100, 16_383],
];
/** Sentinel and Cluster have a default window that is too long for a short lease. */
const IN_URL = 'failoverWindowMs=1000&clockDifferenceMs=100';

export async function playWrongServer(/** @type {Stage} */ stage) {
  stage.secrets.push(PASSWORD);
  const member = stage.process();
  const refused = (/** @type {string} */ support, /** @type {RegExp[]} */ words, isFinal = true) =>
    stage.isRefused({ support }, { words, isFinal }, member);
  const { admin, port } = await stage.redis();
  const locked = await stage.redis({
    args: ['--requirepass', PASSWORD],
    login: { password: PASSWORD },
  });
  const renamed = await stage.redis({
    args: ['--rename-command', 'EVALSHA', ''],
  });
  const [part] = await clusterOf(stage, SLOTS);
  const sentinel = await sentinelOf(stage, port);
  await refused(`redis://127.0.0.1:${part.port}`, [/redis\+cluster:/]);
  await refused(`redis+cluster://127.0.0.1:${port}?${IN_URL}`, [/cluster/i]);
  await refused(`redis+sentinel://127.0.0.1:${sentinel}/hers?${IN_URL}`, [/sentinel/i], false);
  await refused(`redis+sentinel://127.0.0.1:${port}/mymaster?${IN_URL}`, [/sentinel/i]);
  await refused(`redis://127.0.0.1:${sentinel}`, [/evalsha/i]);
  await refused(`redis://127.0.0.1:${renamed.port}`, [/evalsha/i]);
  await refused(`redis://127.0.0.1:${locked.port}`, [/password/i]);
  await refused(`redis://:wrong@127.0.0.1:${locked.port}`, [/password/i]);
  await refused(`redis://nobody:wrong@127.0.0.1:${locked.port}`, [/password/i]);
  await admin.set('snowflake:{default}:registry', 'a text');
  await refused(`redis://127.0.0.1:${port}`, [/WRONGTYPE/]);
  await admin.del('snowflake:{default}:registry');
  await stage.runs({ support: `redis://:needless@127.0.0.1:${port}` }, member);
  await stage.runs(
    { support: `redis+sentinel://127.0.0.1:${sentinel}/mymaster?${IN_URL}` },
    member,
  );
  await stage.sleep(500);
}

/** Watches the server as `mymaster`. @returns {Promise<number>} its port */
export async function sentinelOf(/** @type {Stage} */ stage, /** @type {number} */ port) {
  const config = join(stage.folder, 'sentinel.conf');
  writeFileSync(config, `sentinel monitor mymaster 127.0.0.1 ${port} 1\n`);
  const sentinel = await startRedis({ config });
  stage.onEnd(() => sentinel.stop());
  return sentinel.port;
}

/** Every connection is taken. Running applications continue, and starting ones wait. */
export async function playNoConnectionFree(/** @type {Stage} */ stage) {
  const { admin, port } = await stage.redis();
  const support = `redis://127.0.0.1:${port}`;
  await Promise.all([1, 2].map(() => stage.runs({ support })));
  const newcomer = stage.process();
  await admin.config('SET', 'maxclients', '1');
  await stage.isRefused(
    { support },
    { words: [/max number of clients/], isFinal: false },
    newcomer,
  );
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
  await stage.sleep(2000);
  await admin.config('SET', 'maxclients', '100');
  await stage.runs({ support }, newcomer);
  await stage.sleep(3000);
}

// A replica named as the master, and a replica promoted behind an unchanged address, as in managed
// services.

const READ_ONLY = { words: [/replica/i, /master/i], isFinal: false };
/** A lease of the old master has ended by then. */
const LONG_MS = 11_000;

async function pairOf(/** @type {Stage} */ stage) {
  const master = await stage.redis();
  const replica = await stage.redis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
  await stage.until(async () => /link_status:up/.test(await replica.admin.info('replication')));
  return { master, replica };
}

/** By URL, by the client, and by a client that asks Sentinel for a replica. */
export async function playReplica(/** @type {Stage} */ stage) {
  const { master, replica } = await pairOf(stage);
  const support = `redis://127.0.0.1:${master.port}`;
  await stage.runs({ support });
  const named = { support: `redis://127.0.0.1:${replica.port}` };
  const member = stage.process();
  await stage.isRefused(named, READ_ONLY, member);
  await stage.isRefused({ client: { options: { port: replica.port } } }, READ_ONLY, member);
  // The application waits and then starts. The replica is promoted after the master dies with
  // writes that the replica lacks.
  const waiting = stage.start(named);
  await stage.sleep(1500);
  await promote(stage, master, replica);
  stage.demand((await waiting).status === 'active', 'the promotion was not noticed');
  await stage.sleep(3000);
}

/** The address leads to the replica from the moment of the master's death. */
export async function playPromotion(/** @type {Stage} */ stage) {
  const { master, replica } = await pairOf(stage);
  const proxy = new Proxy();
  let { port } = master;
  await proxy.listen(() => port);
  stage.onEnd(() => proxy.close());
  const support = `redis://127.0.0.1:${proxy.port}`;
  await Promise.all([1, 2, 3].map(() => stage.runs({ support })));
  await promote(stage, master, replica);
  ({ port } = replica);
  await Promise.all([1, 2].map(() => stage.runs({ support })));
  await stage.sleep(LONG_MS);
}

async function promote(/** @type {Stage} */ stage, master, replica) {
  await master.cutReplicas();
  await stage.sleep(1500);
  await master.kill();
  await replica.admin.replicaof('NO', 'ONE');
}

// A Cluster with a password: by URL, and in the `redisOptions` of a client.
// One node owns all slots. The topologies cover the failover of a Cluster.

const ADMIN = 'of-the-administrator';
const USER = { username: 'shop', password: 'of-the-shop' };
const RIGHTS = ['on', `>${USER.password}`, '~snowflake:*', '+@all', '-@dangerous', '+info'];
/** A lease in a Cluster must outlast a failover, so this window is short. */
const WINDOW = { failoverWindowMs: 1000, clockDifferenceMs: 100 };
const ALL_SLOTS = [[0, 16_383]];

/**
 * Connected nodes, each with its range of slots.
 * @param {Stage} stage @param {readonly (readonly number[])[]} ranges @param {string} [password]
 */
async function clusterOf(stage, ranges = ALL_SLOTS, password = '') {
  const secured = password === '' ? [] : ['--requirepass', password];
  const login = password === '' ? {} : { password };
  const nodes = [];
  for (const range of ranges) {
    const bus = String(await freePort());
    // A single node does not learn its own address.
    const own = ['--cluster-port', bus, '--cluster-announce-ip', '127.0.0.1'];
    const node = await stage.redis({
      args: ['--cluster-enabled', 'yes', ...own, ...secured],
      login,
    });
    await node.admin.call('CLUSTER', 'ADDSLOTSRANGE', ...range.map(String));
    const [first] = nodes;
    if (first) await node.admin.call('CLUSTER', 'MEET', '127.0.0.1', first.port, first.args[3]);
    nodes.push(node);
  }
  for (const { admin } of nodes) {
    await stage.until(async () => /state:ok/.test(String(await admin.cluster('INFO'))));
  }
  return nodes;
}

export async function playCluster(/** @type {Stage} */ stage) {
  const [{ admin, port }] = await clusterOf(stage, ALL_SLOTS, ADMIN);
  await admin.call('ACL', 'SETUSER', USER.username, 'reset', ...RIGHTS, '+cluster|slots');
  stage.secrets.push(ADMIN, USER.password, 'wrong-word');
  const window = 'failoverWindowMs=1000&clockDifferenceMs=100';
  const url = (/** @type {string} */ login) =>
    `redis+cluster://${login}127.0.0.1:${port}?${window}`;
  const nodes = [{ host: '127.0.0.1', port }];
  const client = (/** @type {object} */ redisOptions, options = {}) => ({
    client: { nodes, options: { redisOptions, ...options } },
    given: WINDOW,
  });
  const member = stage.process();
  const words = [/password/i];
  for (const settings of [
    { support: url('') },
    { support: url(':wrong-word@') },
    { support: url(`${USER.username}:wrong-word@`) },
    client({}),
    client({ password: 'wrong-word' }),
  ]) {
    await stage.isRefused(settings, { words }, member);
  }
  const right = [
    { support: url(`:${ADMIN}@`) },
    { support: url(`${USER.username}:${USER.password}@`) },
    client({ password: ADMIN }),
    client(USER, { scaleReads: 'slave' }),
    client({ ...USER, keyPrefix: 'shop:' }),
    client(USER, { keyPrefix: 'shop:' }),
  ];
  await Promise.all(right.map((settings, at) => stage.runs(settings, at < 3 ? undefined : member)));
  await stage.sleep(2000);
  stage.demand((await admin.dbsize()) === 1, `${await admin.dbsize()} registries for one id space`);
}

// TLS with a private certificate authority. A URL cannot carry one, but the NODE_EXTRA_CA_CERTS of
// the process or a client can.

const DAYS = ['-days', '2'];

function openssl(/** @type {string} */ folder, /** @type {readonly string[]} */ args) {
  const made = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' });
  if (made.status !== 0)
    throw new Error(`openssl ${args.join(' ')}:\n${made.stderr || made.error}`);
}

/** An authority `<name>.crt` that signs certificates. */
function makeAuthority(/** @type {string} */ folder, /** @type {string} */ name) {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', `${name}.key`, '-out', `${name}.crt`];
  openssl(folder, ['req', '-x509', ...key, ...files, ...DAYS, '-subj', `/CN=${name}`]);
}

/** `<name>.crt` for a server or a client with the name `altName`. */
function makeCertificate(
  folder,
  /** @type {{ name: string, altName: string }} */ { name, altName },
) {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`];
  openssl(folder, ['req', ...key, ...request]);
  writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${altName}\n`);
  const signed = ['-in', `${name}.csr`, '-out', `${name}.crt`, '-extfile', `${name}.ext`];
  const by = ['-CA', 'authority.crt', '-CAkey', 'authority.key', '-CAcreateserial'];
  openssl(folder, ['x509', '-req', ...signed, ...by, ...DAYS]);
}

/** @param {Stage} stage @param {string} folder */
async function tlsServer(stage, folder) {
  const tls = await freePort();
  const file = (/** @type {string} */ name) => join(folder, name);
  const certificate = ['--tls-cert-file', file('server.crt'), '--tls-key-file', file('server.key')];
  const authority = ['--tls-ca-cert-file', file('authority.crt'), '--tls-auth-clients', 'no'];
  const args = ['--tls-port', String(tls), ...certificate, ...authority];
  const { admin, port } = await stage.redis({ args });
  const set = (/** @type {string[]} */ ...pairs) => admin.call('CONFIG', 'SET', ...pairs);
  /** New connections get another certificate, and open connections are cut. */
  const present = async (/** @type {string} */ name) => {
    const [crt, key] = [file(`${name}.crt`), file(`${name}.key`)];
    await set('tls-cert-file', crt, 'tls-key-file', key);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
  };
  return { tls, plain: port, set, present };
}

function makeAll(/** @type {string} */ folder) {
  mkdirSync(folder, { recursive: true });
  makeAuthority(folder, 'authority');
  makeAuthority(folder, 'stranger');
  makeCertificate(folder, { name: 'server', altName: 'IP:127.0.0.1' });
  makeCertificate(folder, { name: 'elsewhere', altName: 'DNS:redis.example' });
  makeCertificate(folder, { name: 'shop', altName: 'DNS:shop.example' });
  return folder;
}

export async function playCertificates(/** @type {Stage} */ stage) {
  const folder = makeAll(join(stage.folder, 'certificates'));
  const text = (/** @type {string} */ name) => readFileSync(join(folder, name), 'utf8');
  const ca = text('authority.crt');
  const { tls: port, plain, set, present } = await tlsServer(stage, folder);
  const url = { support: `rediss://127.0.0.1:${port}` };
  const client = (/** @type {object} */ tls) => ({
    client: { options: { host: '127.0.0.1', port, tls } },
  });
  const own = { ca, cert: text('shop.crt'), key: text('shop.key') };
  const member = stage.process();
  const refused = (
    /** @type {object} */ settings,
    /** @type {RegExp} */ word,
    /** @type {boolean | 'either'} */ isFinal = true,
  ) => stage.isRefused(settings, { words: [word], isFinal }, member);
  await refused(url, /certificate/);
  await refused(client({}), /certificate/);
  await refused(client({ ca: text('stranger.crt') }), /certificate/);
  // A client without TLS for a TLS server, and the reverse. Neither side reports the reason.
  await refused({ support: `redis://127.0.0.1:${port}` }, /Check that/, false);
  await refused({ support: `rediss://127.0.0.1:${plain}` }, /Check that/, false);
  await set('tls-auth-clients', 'yes');
  // The alert, or the end of the connection, depending on which arrives first.
  await refused(client({ ca }), /certificate|ECONNRESET/i, 'either');
  await stage.runs(client(own), member);
  await set('tls-auth-clients', 'no');
  await present('elsewhere');
  await refused(client({ ca }), /altnames|host/i);
  await stage.runs(client({ ca, servername: 'redis.example' }), member);
  await present('server');
  const extra = stage.process({ NODE_EXTRA_CA_CERTS: join(folder, 'authority.crt') });
  await Promise.all([stage.runs(url, extra), stage.runs(client({ ca }))]);
  // No client can reconnect while the server shows the certificate of an unknown authority.
  await present('stranger');
  await stage.sleep(3000);
  await present('server');
  await stage.sleep(3000);
  stage.demand(stage.isEverybodyAlive(), 'a process ended by itself');
}

// A Redis that evicts the registry, or restarts with an older one, repeatedly.

/** Large keys: few fit next to the registry, so Redis often evicts the registry. */
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

/** Redis may refuse this as out of memory if the buffers of clients take all memory. */
const fill = (/** @type {RedisNode['admin']} */ admin) =>
  admin.set(randomBytes(6).toString('hex'), randomBytes(VALUE_BYTES)).catch(() => undefined);

/** The same old file three times, and a server without a file two times. */
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

// A data loss together with another epoch or layout: the registry has lost its own. The IDs of both
// share one ID space, so the test compares whole IDs.

const LATER = '2024-01-01T00:00:04Z';
const OTHER_FIELDS = [
  ['timestamp', 41],
  ['worker', 4],
  ['sequence', 11],
];
const REFUSED = { code: /^LAYOUT_MISMATCH$/, words: [/layout/i, /namespace/i] };
/** A lease of the lost registry has ended by then. */
const FORGOTTEN_MS = 11_500;

/**
 * After a flush, a process of another layout comes first, while processes of the right layout
 * generate IDs.
 * @param {object} other its settings besides the address
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
  await stage.sleep(FORGOTTEN_MS);
};

export const playOtherEpoch = playOther({ epoch: LATER });
export const playOtherLayout = playOther({ fields: OTHER_FIELDS });

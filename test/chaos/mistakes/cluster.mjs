/**
 * A Cluster that asks for a password: by URL, and in `redisOptions` of a client that is given.
 * One node owns all slots; how Cluster fails over is seen elsewhere.
 */
import { freePort } from '../../../scripts/servers/free-port.mjs';

/** @import { Stage } from './stage.mjs' */

const ADMIN = 'of-the-administrator';
const USER = { username: 'shop', password: 'of-the-shop' };
const RIGHTS = ['on', `>${USER.password}`, '~snowflake:*', '+@all', '-@dangerous', '+info'];
/** The lease of a Cluster must outlast a failover, so its window is made short. */
const WINDOW = { failoverWindowMs: 1000, clockDifferenceMs: 100 };
const ALL_SLOTS = [[0, 16_383]];

/**
 * Nodes that know each other, each with its range of slots.
 * @param {Stage} stage @param {readonly (readonly number[])[]} ranges @param {string} [password]
 */
export async function clusterOf(stage, ranges = ALL_SLOTS, password = '') {
  const secured = password === '' ? [] : ['--requirepass', password];
  const login = password === '' ? {} : { password };
  const nodes = [];
  for (const range of ranges) {
    const bus = String(await freePort());
    // Alone, a node does not learn its own address.
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

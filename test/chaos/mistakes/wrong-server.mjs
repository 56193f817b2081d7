/**
 * An address that leads to something else, and a server that is not what the scripts need.
 */
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { startRedis } from '../../../scripts/servers/start-redis.mjs';
import { clusterOf } from './cluster.mjs';

/** @import { Stage } from './stage.mjs' */

const PASSWORD = 'of-the-administrator';
/** The registry's slot, 9,862, lies with the second. */
const SLOTS = [
  [0, 99],
  [100, 16_383],
];
/** Sentinel and Cluster have a window by default for which a short lease is too short. */
const WINDOW = 'failoverWindowMs=1000&clockDifferenceMs=100';

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
  await refused(`redis+cluster://127.0.0.1:${port}?${WINDOW}`, [/cluster/i]);
  await refused(`redis+sentinel://127.0.0.1:${sentinel}/hers?${WINDOW}`, [/sentinel/i], false);
  await refused(`redis+sentinel://127.0.0.1:${port}/mymaster?${WINDOW}`, [/sentinel/i]);
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
    { support: `redis+sentinel://127.0.0.1:${sentinel}/mymaster?${WINDOW}` },
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

/** Every connection is taken: those who run go on, those who start wait. */
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

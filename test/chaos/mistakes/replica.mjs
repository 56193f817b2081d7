/**
 * A replica named as if it were the master, and one that is promoted behind an address that stays,
 * as managed services do it.
 */
import { Proxy } from '../proxy.mjs';

/** @import { Stage } from './stage.mjs' */

const READ_ONLY = { words: [/replica/i, /master/i], isFinal: false };
/** A lease of the old master has ended by then. */
const LONG_MS = 11_000;

async function pairOf(/** @type {Stage} */ stage) {
  const master = await stage.redis();
  const replica = await stage.redis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
  await stage.until(async () => /link_status:up/.test(await replica.admin.info('replication')));
  return { master, replica };
}

/** By URL, by a client of it, and by a client that asks Sentinel's way for a replica. */
export async function playReplica(/** @type {Stage} */ stage) {
  const { master, replica } = await pairOf(stage);
  const support = `redis://127.0.0.1:${master.port}`;
  await stage.runs({ support });
  const named = { support: `redis://127.0.0.1:${replica.port}` };
  const member = stage.process();
  await stage.isRefused(named, READ_ONLY, member);
  await stage.isRefused({ client: { options: { port: replica.port } } }, READ_ONLY, member);
  // It waits, is promoted while the master dies with writes that the replica never saw, and starts.
  const waiting = stage.start(named);
  await stage.sleep(1500);
  await promote(stage, master, replica);
  stage.demand((await waiting).status === 'active', 'the promotion was not noticed');
  await stage.sleep(3000);
}

/** The address leads to the replica from the moment on in which the master died. */
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

/**
 * A database that the server does not have, or that the user may not select. A client that goes on
 * in database 0 then keeps a second registry for one id space.
 */

/** @import { Stage } from './stage.mjs' */

const USER = ['on', '>of-the-shop', '~snowflake:*', '+@all', '-@dangerous', '+info', '-select'];
/** Both registries are older than a lease by then, so that their ids follow the same clock. */
const LONG_MS = 13_000;

export async function playDatabase(/** @type {Stage} */ stage) {
  const { admin, port } = await stage.redis();
  const member = stage.process();
  const numbers = [/\b99\b/, /database/i];
  await stage.isRefused({ support: `redis://127.0.0.1:${port}/99` }, { words: numbers }, member);
  const client = { options: { port, db: 99 } };
  await stage.isRefused({ client }, { words: numbers }, member);
  stage.demand((await admin.dbsize()) === 0, 'something was written to database 0');
}

/** The right to select comes later, while processes come and go. */
export async function playSelectGranted(/** @type {Stage} */ stage) {
  const { admin, port } = await stage.redis();
  await admin.call('ACL', 'SETUSER', 'shop', 'reset', ...USER);
  stage.secrets.push('of-the-shop');
  const login = { username: 'shop', password: 'of-the-shop' };
  const settings = [
    { support: `redis://shop:of-the-shop@127.0.0.1:${port}/3` },
    { client: { options: { port, db: 3, ...login } } },
  ];
  const words = [/database 3\b/i, /select/i];
  const early = await Promise.all(settings.map((it) => stage.start(it)));
  await admin.call('ACL', 'SETUSER', 'shop', '+select');
  await Promise.all(settings.map((it) => stage.runs(it)));
  await stage.sleep(1000);
  // All connections break, and come back to a server that no longer lets them select.
  await admin.call('ACL', 'SETUSER', 'shop', '-select');
  await admin.call('CLIENT', 'KILL', 'USER', 'shop');
  await stage.sleep(2000);
  await admin.call('ACL', 'SETUSER', 'shop', '+select');
  await admin.call('CLIENT', 'KILL', 'USER', 'shop');
  await stage.sleep(LONG_MS - 3000);
  for (const outcome of early) stage.judgeRefusal(outcome, { words });
  stage.demand((await admin.dbsize()) === 0, 'a registry was made in database 0');
}

/** Mistakes about the client: its database, its rights, and its settings for other purposes. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** @import { Stage } from './stage.mjs' */

// A database that is absent, or that the user may not select. A client that continues in database 0
// has a second registry for the same ID space.

const USER = ['on', '>of-the-shop', '~snowflake:*', '+@all', '-@dangerous', '+info', '-select'];
/** Both registries are older than a lease by then, so their IDs follow the same clock. */
const SELECT_MS = 13_000;

export async function playDatabase(/** @type {Stage} */ stage) {
  const { admin, port } = await stage.redis();
  const member = stage.process();
  const numbers = [/\b99\b/, /database/i];
  await stage.isRefused({ support: `redis://127.0.0.1:${port}/99` }, { words: numbers }, member);
  const client = { options: { port, db: 99 } };
  await stage.isRefused({ client }, { words: numbers }, member);
  stage.demand((await admin.dbsize()) === 0, 'something was written to database 0');
}

/** An operator grants the right to select later, while processes come and go. */
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
  // All connections break. The server then refuses the database to each new connection.
  await admin.call('ACL', 'SETUSER', 'shop', '-select');
  await admin.call('CLIENT', 'KILL', 'USER', 'shop');
  await stage.sleep(2000);
  await admin.call('ACL', 'SETUSER', 'shop', '+select');
  await admin.call('CLIENT', 'KILL', 'USER', 'shop');
  await stage.sleep(SELECT_MS - 3000);
  for (const outcome of early) stage.judgeRefusal(outcome, { words });
  stage.demand((await admin.dbsize()) === 0, 'a registry was made in database 0');
}

// The user in docs/guides/redis.md, and the same user without one right.

const GUIDE = fileURLToPath(new URL('../../../docs/guides/redis.md', import.meta.url));
/**
 * Rights that a start does not need, with the log line if they are missing. HDEL releases a worker
 * ID, and HSCAN lists holders.
 */
export const LATER = { '+hdel': /permission/i, '+hscan': undefined };

/**
 * Reads the command of the guide, so that the test and the guide cannot differ.
 * @returns {{ user: string, password: string, namespace: string, words: string[] }}
 */
export function userOfGuide(guide = readFileSync(GUIDE, 'utf8')) {
  const [line = ''] = /^ACL SETUSER .*$/m.exec(guide) ?? [];
  const [, , user = '', ...words] = line.split(' ');
  const password = words.find((word) => word.startsWith('>'))?.slice(1) ?? '';
  const namespace = /\{(.+)\}/.exec(line)?.[1] ?? '';
  if (words.length < 5 || password === '' || namespace === '') {
    throw new Error(`docs/guides/redis.md makes no user that can be tested: "${line}"`);
  }
  return { user, password, namespace, words };
}

/** The mistakes of an operator, and the words that report each reason. */
export function mistakesIn(/** @type {readonly string[]} */ words) {
  const rights = words.filter((word) => word.startsWith('+') && !(word in LATER));
  const pattern = words.find((word) => word.startsWith('~')) ?? '';
  const other = pattern.replace('}', '-of-others}');
  const change = (/** @type {string} */ from, /** @type {string[]} */ ...to) =>
    words.flatMap((word) => (word === from ? to : [word]));
  return [
    ...rights.map((right) => ({
      words: change(right),
      says: [/permission/i, new RegExp(`\\b${right.slice(1)}\\b`, 'i')],
    })),
    { words: change(pattern), says: [/permission/i, /key/i] },
    { words: change(pattern, other), says: [/permission/i, /key/i] },
    { words: change(pattern, `%R${pattern}`), says: [/permission/i] },
    { words: change('on', 'off'), says: [/user|password/i] },
  ];
}

/** Each mistake gets an empty Redis. The first script may not leave half a registry. */
export async function playPermissions(/** @type {Stage} */ stage) {
  const { user, password, namespace, words } = userOfGuide();
  const { admin, port } = await stage.redis();
  const setUser = (/** @type {readonly string[]} */ ...all) =>
    admin.call('ACL', 'SETUSER', user, 'reset', ...all);
  const support = `redis://${user}:${password}@127.0.0.1:${port}?namespace=${namespace}`;
  const member = stage.process();
  for (const mistake of mistakesIn(words)) {
    await admin.flushall();
    await setUser(...mistake.words);
    await stage.isRefused({ support }, { words: mistake.says }, member);
    await setUser(...words);
    await stage.stop(await stage.runs({ support }, member));
  }
  for (const [right, said] of Object.entries(LATER)) {
    await setUser(...words.filter((word) => word !== right));
    const outcome = await stage.runs({ support }, member);
    await stage.sleep(200);
    await stage.stop(outcome);
    const isSaid = said === undefined || member.lines.some((line) => said.test(line));
    stage.demand(isSaid, `without ${right} nobody was told ${said}`);
    member.lines.length = 0;
  }
}

/** An operator revokes a right while two applications run, and a third one starts. */
export async function playRightTakenAway(/** @type {Stage} */ stage) {
  const { user, password, namespace, words } = userOfGuide();
  const { admin, port } = await stage.redis();
  await admin.call('ACL', 'SETUSER', user, 'reset', ...words);
  const support = `redis://${user}:${password}@127.0.0.1:${port}?namespace=${namespace}`;
  const running = [await stage.runs({ support }), await stage.runs({ support })];
  const newcomer = stage.process();
  for (const right of ['hset', 'evalsha', 'time']) {
    await admin.call('ACL', 'SETUSER', user, `-${right}`);
    await stage.isRefused({ support }, { words: [/permission/i] }, newcomer);
    await stage.sleep(1000);
    await admin.call('ACL', 'SETUSER', user, `+${right}`);
    await stage.sleep(1000);
  }
  await stage.runs({ support }, newcomer);
  for (const outcome of running) await stage.stop(outcome);
}

// Clients of applications, with settings for other purposes. All of them use one server, so all
// must share one registry.

/** Two registries would have the same times by then. */
const CLIENTS_MS = 11_000;

export async function playGivenClients(/** @type {Stage} */ stage) {
  const { admin, port } = await stage.redis();
  const members = [stage.process(), stage.process()];
  const settings = [
    { keyPrefix: 'shop:' },
    { keyPrefix: 'bill:' },
    { stringNumbers: true },
    { retryStrategy: null },
    { enableReadyCheck: false, lazyConnect: true },
    { enableAutoPipelining: true, commandTimeout: 300 },
    { readOnly: true, autoResendUnfulfilledCommands: false },
  ];
  const starts = settings.map((options, at) =>
    stage.runs({ client: { options: { host: '127.0.0.1', port, ...options } } }, members[at % 2]),
  );
  await Promise.all(starts);
  for (let count = 0; count < 3; count++) {
    await stage.sleep(CLIENTS_MS / 4);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
  }
  await stage.sleep(CLIENTS_MS / 4);
  const keys = await admin.keys('*');
  stage.demand(keys.length === 1, `${keys.length} registries: ${keys.join(', ')}`);
}

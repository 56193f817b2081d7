/**
 * The users of docs/guides/redis.md, of worker ids and of counters: what the line of each allows is
 * enough for its use, and nothing of it can be left out.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { redisCounters, redisSupport } from '../../lib/stores/redis/index.js';
import { held, RedisLab, request } from './redis-lab.js';

const GUIDE = readFileSync('docs/guides/redis.md', 'utf8');
const LINES = [...GUIDE.matchAll(/^ACL SETUSER (\S+) (.*)$/gm)];
const RIGHTS = new Map(LINES.map(([, user, rights]) => [user!, rights!.split(' ')]));

const lab = new RedisLab();
let admin: Redis;
let port: number;
beforeAll(async () => {
  ({ port } = await lab.server('--appendonly', 'yes'));
  admin = lab.client(port);
});
afterAll(() => lab.end());

/** Everything that is done by one use; it fails where something is forbidden. */
type Use = (redis: string) => Promise<unknown>;

async function workerIds(redis: string): Promise<unknown> {
  const support = redisSupport({ redis, namespace: 'shop' });
  try {
    const asked = request({ ttlMs: 1000 });
    const lease = held(asked, await support.getNextWorkId(asked));
    await support.refreshAlive(lease);
    await support.workers();
    await support.release(lease, undefined);
    return await support.advice();
  } finally {
    await support.close();
  }
}

async function counters(redis: string): Promise<unknown> {
  // Without a loss window of ours, so that the file is asked for.
  const store = redisCounters({ redis, namespace: 'shop' });
  const counter = randomUUID();
  const taken = { counter, count: 5n, have: 0n, stores: '1/1' };
  try {
    await store.create({ counter, start: 1n, stores: '1/1' });
    await store.take({ ...taken, kind: 'dense', skip: 10n });
    const clock = { ...taken, counter: `${counter}-clock`, aheadMs: 1000, perMs: 1024 };
    await store.take({ ...clock, kind: 'clock' });
    await store.giveBack(`1.text.${counter}`, 1n);
    await store.counters();
    return await store.advice();
  } finally {
    await store.close();
  }
}

const USES: readonly [string, Use][] = [
  ['shop', workerIds],
  ['shop-counters', counters],
];
/** Without it the use goes on, as the guide says. */
const SPARED = '+config|get';

async function refusalOf(user: string, use: Use): Promise<unknown> {
  return use(`redis://${user}:secret@127.0.0.1:${port}`).then(
    (advice) => advice,
    (error: { message: string; details?: { refusal: string } }) =>
      error.details?.refusal ?? error.message,
  );
}

describe.each(USES)('the user %s of the guide', (user, use) => {
  it('may do what is needed, and nothing that it may do is not', async () => {
    const rights = RIGHTS.get(user)!;
    await admin.call('ACL', 'SETUSER', user, 'reset', ...rights);
    expect(await refusalOf(user, use)).toEqual([]);
    const commands = rights.filter((right) => right.startsWith('+'));
    const needless = [];
    for (const command of commands.filter((one) => one !== SPARED)) {
      const others = rights.filter((right) => right !== command);
      await admin.call('ACL', 'SETUSER', user, 'reset', ...others);
      await admin.script('FLUSH');
      const refusal = await refusalOf(user, use);
      if (refusal !== 'permission') needless.push(command, refusal);
    }
    expect(needless).toEqual([]);
    const spared = rights.filter((right) => right !== SPARED);
    await admin.call('ACL', 'SETUSER', user, 'reset', ...spared);
    expect(await refusalOf(user, use)).toEqual([]);
  });
});

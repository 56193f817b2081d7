/**
 * Locks in Redis keep the contract, with the time and the server in the hands of the test. What is
 * told by messages, here by Redis' own clock, is told at once, and not needed.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisLocks } from '../../lib/stores/redis/index.js';
import { locksFromUrl } from '../../lib/stores/redis/redis-locks.js';
import { describeLockStore } from '../../lib/testing/index.js';
import { failureOf, RedisLab } from '../stores/redis-lab.js';
import { codeOf } from '../code-of.js';
import { redisLockStore } from './timed-locks.js';

const opened: RedisLocks[] = [];
const url = () => process.env['REDIS_URL']!;
const lab = new RedisLab();
let redis: Redis;
beforeAll(() => {
  redis = new Redis(url());
});
afterAll(() => Promise.all([redis.quit(), lab.end()]));
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

function locksOf(options: Partial<ConstructorParameters<typeof RedisLocks>[0]> = {}): RedisLocks {
  const store = new RedisLocks({
    redis: url(),
    namespace: randomUUID(),
    lossWindowMs: 0,
    ...options,
  });
  opened.push(store);
  return store;
}

const asked = (holder: string, lock = 'order:7') => {
  return { lock, holder, label: 'host 1 shop', ttlMs: 60_000, longestMs: 60_000, have: 0n };
};

/** Of a namespace whose first locks end at once, so that nothing has to be waited for. */
async function held(store: RedisLocks, holder: string, lock = 'order:7'): Promise<bigint> {
  const first = { ...asked('first', 'first'), ttlMs: 1, longestMs: 1 };
  while ((await store.acquire(first)).status === 'wait');
  const answer = await store.acquire(asked(holder, lock));
  if (answer.status !== 'ok') throw new Error(answer.status);
  return answer.token;
}

describe('RedisLocks, told the time by the test', () => {
  describeLockStore({ test: it, expect, ...redisLockStore(() => redis, opened) });
});

describe('who waits for a lock in Redis', () => {
  const never = new AbortController().signal;

  it('is told when it is released, and by nobody else', async () => {
    const namespace = randomUUID();
    const [one, two] = [locksOf({ namespace }), locksOf({ namespace })];
    const token = await held(one, 'a');
    const other = await held(one, 'b', 'order:8');
    let isTold = false;
    const told = two.untilReleased('order:7', 0, never).then(() => (isTold = true));
    await one.release({ lock: 'order:8', holder: 'b', token: other });
    expect(isTold).toBe(false);
    await one.release({ lock: 'order:7', holder: 'a', token });
    await told;
    expect((await two.acquire(asked('c'))).status).toBe('ok');
  });

  it('is told at once where nobody holds it any more, and not while it is kept', async () => {
    const store = locksOf();
    const token = await held(store, 'a');
    await store.release({ lock: 'order:7', holder: 'a', token, keepMs: 60_000 });
    const stop = new AbortController();
    let isTold = false;
    const told = store.untilReleased('order:7', 0, stop.signal).then(() => (isTold = true));
    await store.untilReleased('order:9', 0, never);
    expect(isTold).toBe(false);
    stop.abort();
    await told;
    await store.untilReleased('order:7', 0, stop.signal);
  });

  it('waits in vain where nothing can be told, and that does no harm', async () => {
    const { port } = await lab.server();
    const admin = lab.client(port);
    await admin.call(
      'ACL',
      'SETUSER',
      'shop',
      'on',
      '>pw',
      '~*',
      '+@all',
      '-publish',
      '-subscribe',
    );
    const store = locksOf({ redis: `redis://shop:pw@127.0.0.1:${port}` });
    const token = await held(store, 'a');
    const stop = new AbortController();
    const told = store.untilReleased('order:7', 0, stop.signal);
    await store.release({ lock: 'order:7', holder: 'a', token });
    expect((await store.acquire(asked('b'))).status).toBe('ok');
    stop.abort();
    await told;
  });
});

describe('the user that the guide makes', () => {
  const GUIDE = new URL('../../docs/guides/redis.md', import.meta.url);
  const [line = ''] = /^ACL SETUSER shop-locks .*$/m.exec(readFileSync(GUIDE, 'utf8')) ?? [];
  const rights = line.split(' ').slice(3);

  it('can do all that locks need, and is told of a release', async () => {
    const { port } = await lab.server();
    await lab.client(port).call('ACL', 'SETUSER', 'shop-locks', 'reset', ...rights);
    const store = locksOf({
      redis: `redis://shop-locks:secret@127.0.0.1:${port}`,
      namespace: 'shop',
    });
    const token = await held(store, 'a');
    const told = store.untilReleased('order:7', 0, new AbortController().signal);
    await store.untilReleased('order:8', 0, new AbortController().signal);
    expect(await store.extend({ ...asked('a'), token })).toMatchObject({ status: 'ok' });
    expect(await store.locks()).toHaveLength(1);
    await store.release({ lock: 'order:7', holder: 'a', token });
    await told;
    expect(await store.advice()).toEqual([]);
  });

  it.each(['+hget', '+hset', '+hmget', '+time', '+evalsha'])(
    'without %s is refused before anything is held',
    async (right) => {
      const { port } = await lab.server();
      const admin = lab.client(port);
      const fewer = rights.filter((one) => one !== right);
      await admin.call('ACL', 'SETUSER', 'shop-locks', 'reset', ...fewer);
      const store = locksOf({
        redis: `redis://shop-locks:secret@127.0.0.1:${port}`,
        namespace: 'shop',
      });
      const failure = await failureOf(store.acquire(asked('a')));
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      expect(await admin.dbsize()).toBe(0);
    },
  );
});

describe('the hash of the locks', () => {
  it('forgets names that nobody needs', async () => {
    const { port } = await lab.server();
    const store = locksOf({ redis: `redis://127.0.0.1:${port}`, namespace: 'n' });
    const admin = lab.client(port);
    await held(store, 'a');
    const old = Array.from({ length: 400 }, (_, at) => [`l:old:${at}`, `1|1|1|1||label`]);
    await admin.hset(store.key, ...old.flat());
    for (let at = 0; at < 2000; at++) await store.acquire(asked('a'));
    expect(await admin.hlen(store.key)).toBeLessThan(100);
    expect((await store.locks()).map(({ lock }) => lock)).toEqual(['order:7']);
  });

  it('is left alone where another version keeps it, or somebody wrote into it', async () => {
    const store = locksOf();
    await redis.hset(store.key, 'version', '2', 'lastTime', '1');
    const failure = await failureOf(store.acquire(asked('a')));
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
    expect(failure.message).toMatch(/version "?2"? of the protocol/);
    expect(await redis.hlen(store.key)).toBe(2);

    const other = locksOf();
    await held(other, 'a');
    await redis.hset(other.key, 'l:order:9', 'a text');
    expect(await failureOf(other.acquire(asked('b', 'order:9')))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    expect(await redis.hget(other.key, 'l:order:9')).toBe('a text');
  });
});

describe('redisLocks options', () => {
  it('come from a URL', async () => {
    const store = locksFromUrl(`${url()}?namespace=u-${randomUUID()}&lossWindowMs=0`);
    opened.push(store);
    expect(store.lossWindowMs).toBe(0);
    expect((await store.acquire(asked('a'))).status).toBe('wait');
  });

  it('have loss windows that fit the kind of server', () => {
    expect(new RedisLocks({ redis: 'redis://localhost' }).lossWindowMs).toBe(2000);
    const sentinel = new RedisLocks({ redis: 'redis+sentinel://localhost/mymaster' });
    expect(sentinel.lossWindowMs).toBe(18_000);
  });

  it('are refused where they cannot be meant so', () => {
    expect(codeOf(() => locksOf({ namespace: 'a b' }))).toBe('CONFIG_INVALID');
    expect(codeOf(() => locksOf({ lossWindowMs: -1 }))).toBe('CONFIG_INVALID');
    expect(codeOf(() => locksFromUrl('redis://localhost?name=x'))).toBe('CONFIG_INVALID');
  });
});

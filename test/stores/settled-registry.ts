/**
 * A registry in Redis as it is long after it was created: nobody holds anything, and no loss of
 * data is ahead any more, so that a test gets ranges of exact times without waiting for a minute.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

const settling = new Map<string, Promise<void>>();

/** Once for each key, and not where there is a registry. */
export async function settleRegistry(redis: Redis, key: string): Promise<void> {
  const settled = settling.get(key) ?? settle(redis, key);
  settling.set(key, settled);
  await settled;
}

async function settle(redis: Redis, key: string): Promise<void> {
  const told = `${await redis.info('server')}\n${await redis.info('replication')}`;
  const field = (name: string) => new RegExp(`${name}:(\\w+)`).exec(told)![1]!;
  if (await redis.exists(key)) return;
  await redis.hset(key, {
    version: '1',
    fingerprint: '',
    incarnation: randomUUID(),
    server: `${field('run_id')}:${field('master_replid')}`,
    lastTime: Date.now(),
    slew: 0,
    quarantine: 0,
    safeFloor: 0,
    era: 1,
    operations: 0,
  });
}

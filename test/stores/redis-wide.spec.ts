/**
 * Registries with more worker ids than can be looked at at once, on a real Redis.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { redisSupport, type RedisSupport } from '../../lib/stores/redis/index.js';
import { command } from '../cli/run-command.js';
import { held, request } from './redis-lab.js';
import { settleRegistry } from './settled-registry.js';

const URL = process.env['REDIS_URL']!;
const HELD_COUNT = 20_000;
const WIDE = { workerIdMin: 0, workerIdMax: 4_194_303 };
const FINGERPRINT = 't28-w22-s13/1000ms@1704067200000';

describe('a wide registry in Redis', () => {
  const opened: RedisSupport[] = [];
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(URL);
  });
  afterAll(async () => {
    await Promise.all(opened.map((support) => support.close()));
    await redis.quit();
  });

  async function settled(namespace: string = randomUUID()) {
    const support = redisSupport({ redis: URL, namespace });
    opened.push(support);
    await settleRegistry(redis, support.key);
    return support;
  }

  /** As `count` processes would have left it that hold the first worker ids. */
  async function filled(count: number) {
    const namespace = randomUUID();
    const support = await settled(namespace);
    const endsMs = Date.now() + 600_000;
    const pipeline = redis.pipeline().hset(support.key, 'fingerprint', FINGERPRINT);
    for (let id = 0; id < count; id++) {
      const label = JSON.stringify({ host: `h${id}`, pid: id, application: 'a' });
      const owner = `t${id}|n|0|1|1|${label}`;
      pipeline.hset(support.key, `c${id}`, endsMs + id, `o${id}`, owner, `k-t${id}`, id);
    }
    await pipeline.exec();
    return { support, namespace, endsMs };
  }

  it('is listed in full, page by page, each ceiling with its holder', async () => {
    const { support, endsMs } = await filled(HELD_COUNT);
    const workers = await support.workers();
    expect(workers.map(({ workerId }) => workerId)).toEqual(
      Array.from({ length: HELD_COUNT }, (_, id) => id),
    );
    const wrong = workers.filter(
      ({ workerId, ceilingMs, holder }) =>
        ceilingMs !== endsMs + workerId || holder?.pid !== workerId,
    );
    expect(wrong).toEqual([]);
  });

  it('is read no further than is asked for', async () => {
    const { support } = await filled(HELD_COUNT);
    const calls = async () =>
      Number(/cmdstat_hscan:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
    const before = await calls();
    const workers = await support.workers(1000);
    expect(await calls()).toBeLessThanOrEqual(before + 3);
    expect(workers).toHaveLength(1000);
    expect(workers.every(({ workerId, holder }) => holder?.pid === workerId)).toBe(true);
  });

  it('shows an operator all of it', async () => {
    const { namespace } = await filled(HELD_COUNT);
    const { out, code } = await command([
      'workers',
      '--json',
      '--support',
      `${URL}?namespace=${namespace}`,
      '--timeout',
      '60000',
    ]);
    const lines = out.trim().split('\n');
    expect(code).toBe(0);
    expect(lines).toHaveLength(HELD_COUNT + 1);
    const free = 4_194_304 - HELD_COUNT;
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ held: HELD_COUNT, free, workers: 4_194_304 });
  });

  it('leases to a newcomer, and again to the same token', async () => {
    const { support } = await filled(HELD_COUNT);
    const asked = request({ ...WIDE, fingerprint: FINGERPRINT });
    const answer = await support.getNextWorkId(asked);
    expect(answer).toMatchObject({ status: 'ok' });
    const lease = held(asked, answer);
    expect(lease.workerId).toBeGreaterThanOrEqual(HELD_COUNT);
    expect(await support.getNextWorkId(asked)).toMatchObject({ workerId: lease.workerId });
    expect(await support.refreshAlive(lease)).toMatchObject({ status: 'ok' });
  });

  it('says that none is free where all of a wide span are held, and finds the one', async () => {
    const { support, endsMs } = await filled(HELD_COUNT);
    const span = { workerIdMin: 100, workerIdMax: HELD_COUNT - 1, fingerprint: FINGERPRINT };
    const refusal = await support.getNextWorkId(request(span));
    const { waitMs } = refusal as { waitMs: number };
    expect(refusal.status).toBe('none-free');
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(endsMs + HELD_COUNT - Date.now() + 1000);
    await redis.hset(support.key, 'c12345', 1);
    let found: unknown;
    // One of 19,900: 10 % for each call.
    for (let n = 0; n < 500 && found === undefined; n++) {
      const answer = await support.getNextWorkId(request(span));
      if (answer.status === 'ok') found = answer.workerId;
    }
    expect(found).toBe(12_345);
  });

  it('does not grow with restarts', async () => {
    const support = await settled();
    const asked = () => request({ ...WIDE, fingerprint: FINGERPRINT });
    for (let n = 0; n < 500; n++) {
      const one = asked();
      await support.release(held(one, await support.getNextWorkId(one)), undefined);
    }
    expect((await support.workers()).length).toBeLessThan(64);
  });
});

/**
 * The clock of Redis is set back by 1 s and by 4 s, and three times Redis loses everything, while
 * ids are made: by the scripts of the library on a real Redis that is told the time, and by the
 * algorithm that ours replaces, under the same attack.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisCounters } from '../../lib/stores/redis/index.js';
import type { CounterStore } from '../../lib/counters/counter-store.js';
import { redisCounterStore } from '../counters/timed-counters.js';
import { PeerIds } from './peer-ids.js';

const opened: RedisCounters[] = [];
let redis: Redis;
beforeAll(() => {
  redis = new Redis(process.env['REDIS_URL']!);
});
afterAll(() => redis.quit());
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

const PER_STEP = 20;
const STEP_MS = 20;
/** What befalls the server after so many steps. */
const FAULTS = new Map<number, number | 'lost'>([
  [100, -1000],
  [250, 'lost'],
  [400, -4000],
  [700, 'lost'],
  [900, 'lost'],
]);

interface Attacked {
  advance(ms: number): void;
  lose(): Promise<void>;
  take(count: number): Promise<readonly bigint[]>;
}

async function twiceUnder(attacked: Attacked): Promise<{ total: number; twice: number }> {
  const all: bigint[] = [];
  for (let step = 0; step < 1000; step++) {
    const fault = FAULTS.get(step);
    if (fault === 'lost') await attacked.lose();
    else attacked.advance(fault ?? STEP_MS);
    all.push(...(await attacked.take(PER_STEP)));
  }
  return { total: all.length, twice: all.length - new Set(all).size };
}

const request = { kind: 'clock', counter: 'order', perMs: 1024, aheadMs: 1000 } as const;

function ours(): Attacked {
  const made = redisCounterStore(() => redis, opened);
  const name = randomUUID();
  const clients = [0, 1].map(() => made.createStore(name) as CounterStore);
  const have = [0n, 0n];
  return {
    advance: (ms) => void made.clockControl!.advance(ms),
    lose: async () => made.lossControl!.wipe(name),
    async take(count) {
      const ids: bigint[] = [];
      for (const [at, client] of clients.entries()) {
        const asked = { ...request, count: BigInt(count), have: have[at]! };
        const answer = await client.take(asked);
        if (answer.status !== 'ok') continue;
        have[at] = answer.end;
        for (let id = answer.first; id < answer.end; id++) ids.push(id);
      }
      return ids;
    },
  };
}

describe('a clock set back by 1 s and 4 s, and three total losses', () => {
  it('bring no id of ours twice', async () => {
    const { total, twice } = await twiceUnder(ours());
    expect(total).toBeGreaterThan(3000);
    expect(twice).toBe(0);
  });

  it('bring ids of redis-id-generator twice', async () => {
    let nowMs = 1_800_000_000_000;
    const tag = randomUUID();
    const time = () => [Math.floor(nowMs / 1000), (nowMs % 1000) * 1000] as const;
    const peer = new PeerIds(redis, tag, time);
    const { twice } = await twiceUnder({
      advance: (ms) => void (nowMs += ms),
      // All keys of the tag, as a flush would; other specs use this server.
      lose: async () => {
        const keys = await redis.keys(`${tag}_*`);
        if (keys.length > 0) await redis.del(keys);
      },
      take: (count) => peer.next(count),
    });
    expect(twice).toBeGreaterThan(0);
  });
});

/**
 * IDs generated in a real Redis by several processes, through a restart, a flush, an older file
 * restored, and a lost script. The same attack must break the algorithm that this library replaces.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { getIdMakerToken, type IdMaker, type SnowflakeError } from 'nestjs-snowflake';
import { RedisIdsModule, type RedisIdsOptions, startRedisIds } from 'nestjs-snowflake/redis-ids';
import { hookDataSource, SnowflakeId } from 'nestjs-snowflake/typeorm';
import { DataSource, Entity } from 'typeorm';
import type { CounterStore } from '../../lib/counters/counter-store.js';
import { RedisCounters } from '../../lib/stores/redis/index.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { redisCounterStore } from '../counters/settable-counters.js';
import { RedisLab } from '../stores/redis-lab.js';
import { bundledScript } from '../support/builds.mjs';

// The algorithm of redis-id-generator, from its description: a key for each millisecond, tag, and
// shard, which is increased and expires. It is a new implementation, as the negative control.

const LUA = `
local time = ARGV[3] == '' and redis.call('TIME') or { ARGV[3], ARGV[4] }
local ms = time[1] * 1000 + math.floor(time[2] / 1000)
local key = ARGV[1] .. '_' .. ARGV[2] .. '_' .. string.format('%.0f', ms)
local number = redis.call('INCR', key)
if number == 1 then redis.call('PEXPIRE', key, 5) end
return { string.format('%.0f', ms), number }
`;

class PeerIds {
  constructor(
    private readonly redis: Redis,
    private readonly tag: string,
    /** Seconds and microseconds passed to Redis; its own time without them. */
    private readonly time?: () => readonly [number, number],
  ) {}

  next(count: number, shard = 0): Promise<bigint[]> {
    return Promise.all(Array.from({ length: count }, () => this.one(shard)));
  }

  private async one(shard: number): Promise<bigint> {
    const [seconds, us] = this.time?.() ?? ['', ''];
    const reply = await this.redis.eval(LUA, 0, this.tag, shard, seconds, us);
    const [ms, number] = reply as [string, number];
    return (BigInt(ms) << 22n) | (BigInt(shard) << 10n) | BigInt(number);
  }
}

describe('redis ids', () => {
  const lab = new RedisLab();
  let redis: Redis;
  beforeAll(() => {
    Logger.overrideLogger(false);
    redis = new Redis(process.env['REDIS_URL']!);
  });
  afterAll(async () => {
    await redis.quit();
    await lab.end();
  });

  const running: { [Symbol.asyncDispose](): Promise<void> }[] = [];
  afterEach(async () => {
    for (const each of running.splice(0)) await each[Symbol.asyncDispose]();
  });

  async function started(options: Partial<RedisIdsOptions> = {}): Promise<IdMaker> {
    const snowflake = await startRedisIds({
      redis: process.env['REDIS_URL']!,
      tag: 'order',
      lossWindowMs: 100,
      callTimeoutMs: 500,
      ...options,
    });
    running.push(snowflake);
    return snowflake.ids;
  }

  function rises(ids: readonly bigint[]): boolean {
    return ids.every((id, at) => at === 0 || ids[at - 1]! < id);
  }

  describe('IDs made in Redis', () => {
    it('rise over all processes without duplicates, with 50 callers each', async () => {
      const namespace = randomUUID();
      const [a, b] = [await started({ namespace }), await started({ namespace })];
      const all: bigint[] = [];
      const call = async (ids: IdMaker) => {
        for (let count = 0; count < 40; count++) {
          const before = all.at(-1) ?? 0n;
          const id = await ids.nextIdAsync({ fields: { shard: 7 } });
          // Every ID received before this request is lower.
          expect(id > before).toBe(true);
          all.push(id);
        }
      };
      const callers = Array.from({ length: 100 }, (_, at) => call(at % 2 === 0 ? a : b));
      await Promise.all(callers);
      expect(new Set(all).size).toBe(4000);
    });

    it('arrive a thousand at a time in one call', async () => {
      const ids = await started({ namespace: randomUUID() });
      const { ok = 0 } = ids.status.kind === 'store' ? ids.status.calls.countByAnswer : {};
      const batch = await ids.nextIdsAsync(1000, { fields: { shard: 3 } });
      expect([batch.length, new Set(batch).size, rises(batch)]).toEqual([1000, 1000, true]);
      expect(ids.status).toMatchObject({ calls: { countByAnswer: { ok: ok + 1 } } });
      expect(ids.parse(batch[0]!).fields).toMatchObject({ shard: 3 });
    });

    it('continue after Redis lost its scripts', async () => {
      const { port } = await lab.server('--appendonly', 'yes');
      const ids = await started({ redis: `redis://127.0.0.1:${port}` });
      const first = await ids.nextIdAsync();
      await lab.client(port).script('FLUSH');
      expect((await ids.nextIdAsync()) > first).toBe(true);
    });

    it('are refused if another layout has the tag', async () => {
      const namespace = randomUUID();
      const ids = await started({ namespace });
      await ids.nextIdAsync();
      const layout = ids.layout.withEpoch('2024-01-01');
      const failure = await started({ namespace, layout }).catch((error: SnowflakeError) => error);
      expect(failure).toMatchObject({ code: 'COUNTER_MISMATCH' });
    });

    it('are injected by their module', async () => {
      const options = { tag: 'order', namespace: randomUUID(), lossWindowMs: 100 };
      const useFactory = () => ({ redis: process.env['REDIS_URL']!, ...options });
      const imports = [RedisIdsModule.forRootAsync({ useFactory, name: 'orders' })];
      const app = await Test.createTestingModule({ imports }).compile();
      await app.init();
      const ids = app.get<IdMaker>(getIdMakerToken('orders'));
      const id = await ids.nextIdAsync({ fields: { shard: 9 } });
      expect(ids.parse(id).fields).toMatchObject({ shard: 9 });
      expect(() => ids.workerIds).toThrow(/are made without a worker id/);
      await app.close();
    });

    it('show no password, by URL or by name', async () => {
      const given = { redis: 'redis://app:secret@127.0.0.1:1/0', tag: 'order' };
      const failing = startRedisIds({ ...given, startTimeoutMs: 1000, callTimeoutMs: 300 });
      const failure = (await failing.then(undefined, (error: SnowflakeError) => error))!;
      expect((failure as SnowflakeError).code).toBe('STORE_UNAVAILABLE');
      expect(String((failure as Error).stack)).not.toContain('secret');
      const wrong = startRedisIds({ redis: 'redis://app:secret@h?tag=a', tag: 'a' });
      const refused = await wrong.then(undefined, (error: SnowflakeError) => error);
      expect((refused as Error).message).toMatch(/number 1 is not known/);
    });
  });

  describe('three total losses', () => {
    const attack = async (ids: { many(): Promise<bigint[]> }, admin: Redis) => {
      const all: bigint[] = [];
      for (let loss = 0; loss < 3; loss++) {
        for (let count = 0; count < 20; count++) all.push(...(await ids.many()));
        await admin.flushall();
      }
      all.push(...(await ids.many()));
      return all.length - new Set(all).size;
    };

    it('cause no duplicate here, and some in the earlier algorithm', async () => {
      const { port } = await lab.server('--appendonly', 'yes');
      const admin = lab.client(port);
      const ours = await started({ redis: `redis://127.0.0.1:${port}` });
      expect(await attack({ many: () => ours.nextIdsAsync(200) }, admin)).toBe(0);
      // One key per ms, so a flush within the ms restarts it.
      const peer = new PeerIds(admin, 'order');
      const frozen = new PeerIds(admin, 'order', () => [1_800_000_000, 0]);
      expect(await attack({ many: () => peer.next(200) }, admin)).toBeGreaterThanOrEqual(0);
      expect(await attack({ many: () => frozen.next(10) }, admin)).toBeGreaterThan(0);
    });
  });

  describe('a restart of Redis', () => {
    it.each([
      ['with its file', true],
      ['without anything', false],
    ])('%s delays IDs, which continue above', async (_how, keepsFile) => {
      const folder = mkdtempSync(`${tmpdir()}/snowflake-ids-`);
      const start = (port?: number) =>
        startRedis({
          ...(port !== undefined && { port }),
          args: [
            '--dir',
            folder,
            '--appendonly',
            'yes',
            '--appenddirname',
            `aof-${!port || keepsFile}`,
          ],
        });
      await using before = await start();
      const ids = await started({ redis: before.url });
      const all = await ids.nextIdsAsync(3000);
      await before.stop();
      const waiting = [ids.nextIdsAsync(1000), ids.nextIdsAsync(1000)];
      await using _after = await start(before.port);
      all.push(...(await waiting[0]!), ...(await waiting[1]!));
      expect([new Set(all).size, rises(all)]).toEqual([5000, true]);
    });

    it('with an older file causes no duplicate', async () => {
      const { port } = await lab.server('--appendonly', 'yes', '--save', '');
      const admin = lab.client(port);
      const ids = await started({ redis: `redis://127.0.0.1:${port}` });
      const key = 'snowflake:{default}:counters';
      const before = await ids.nextIdsAsync(5000);
      const copy = await admin.dumpBuffer(key);
      const lost = await ids.nextIdsAsync(5000);
      await admin.restore(key, 0, copy!, 'REPLACE');
      const after = await ids.nextIdsAsync(5000);
      const all = [...before, ...lost, ...after];
      expect([new Set(all).size, rises(all)]).toEqual([15_000, true]);
      // A new process; the store has detected the loss by now.
      const other = await started({ redis: `redis://127.0.0.1:${port}` });
      expect((await other.nextIdAsync()) > after.at(-1)!).toBe(true);
    });
  });

  describe('a hanging node of three', () => {
    it('costs its turn', async () => {
      const servers = await Promise.all([1, 2, 3].map(() => lab.server('--appendonly', 'yes')));
      const nodes = servers.map(({ port }) => `redis://127.0.0.1:${port}`);
      const ids = await started({ redis: nodes });
      await lab.client(servers[1]!.port).call('CLIENT', 'PAUSE', '60000', 'ALL');
      const all: bigint[] = [];
      for (let count = 0; count < 300; count++) all.push(await ids.nextIdAsync());
      expect(new Set(all).size).toBe(300);
      const places = new Set(all.slice(-50).map((id) => ids.parse(id).sequence % 3));
      expect(places).toEqual(new Set([0, 2]));
      expect(ids.status.state).toBe('active');
    });
  });
});

/*
 * The clock of Redis moves back by 1 s and by 4 s, and Redis loses all data three times, while
 * processes generate IDs. The library's scripts run on a real Redis with a given time, and the
 * replaced algorithm faces the same attack.
 */
describe('attack', () => {
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
  /** The event on the server after this number of steps. */
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
    it('cause no duplicate of ours', async () => {
      const { total, twice } = await twiceUnder(ours());
      expect(total).toBeGreaterThan(3000);
      expect(twice).toBe(0);
    });

    it('cause duplicates of redis-id-generator', async () => {
      let nowMs = 1_800_000_000_000;
      const tag = randomUUID();
      const time = () => [Math.floor(nowMs / 1000), (nowMs % 1000) * 1000] as const;
      const peer = new PeerIds(redis, tag, time);
      const { twice } = await twiceUnder({
        advance: (ms) => void (nowMs += ms),
        // All keys of the tag, as in a flush, because other specs use this server.
        lose: async () => {
          const keys = await redis.keys(`${tag}_*`);
          if (keys.length > 0) await redis.del(keys);
        },
        take: (count) => peer.next(count),
      });
      expect(twice).toBeGreaterThan(0);
    });
  });
});

/*
 * TypeORM cannot wait for an ID: the application fails at startup, or takes IDs in advance.
 */
describe('typeorm', () => {
  @Entity()
  class CountedOrder {
    @SnowflakeId()
    id!: string;
  }

  let dataSource: DataSource | undefined;
  beforeAll(() => Logger.overrideLogger(false));
  afterEach(() => dataSource?.destroy());

  async function started(prefetch?: { count: number; staleMs: number }) {
    dataSource = new DataSource({ type: 'sqljs', entities: [CountedOrder], synchronize: true });
    hookDataSource(await dataSource.initialize());
    return startRedisIds({
      redis: process.env['REDIS_URL']!,
      namespace: randomUUID(),
      tag: 'order',
      lossWindowMs: 50,
      ...(prefetch && { prefetch }),
    });
  }

  it('refuses @SnowflakeId() at the start if IDs cannot be made at once', async () => {
    await expect(started()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('prefetch'),
    });
  });

  it('fills rows with prefetched ids', async () => {
    await using snowflake = await started({ count: 100, staleMs: 10_000 });
    const { id } = await dataSource!.getRepository(CountedOrder).save(new CountedOrder());
    expect(snowflake.ids.parse(id).timestampMs).toBeGreaterThan(0);
  });
});

// IDs generated in a real Redis by separate processes, some of which are killed. Also nodes in
// another order, or more or fewer nodes than before.

const LINE_COUNT = 20;
const LINES_OF_EACH = 15;

const lab = new RedisLab();
let script: string;
beforeAll(async () => {
  Logger.overrideLogger(false);
  script = await bundledScript('support/worker.mjs');
}, 300_000);
afterAll(() => lab.end());

/** IDs of one process in the reported order, until the signal stops it. */
async function idsOf(redisIds: object, signal: NodeJS.Signals): Promise<bigint[]> {
  const WORKER = JSON.stringify({ does: 'numbers', redisIds });
  const env = { ...process.env, WORKER, NODE_ENV: 'test' };
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const ended = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    if (line.split(' ').length === LINE_COUNT) lines.push(line);
    if (lines.length === LINES_OF_EACH) child.kill(signal);
  }
  await ended;
  if (lines.length < LINES_OF_EACH) throw new Error(`A process ended by itself:\n${said}`);
  return lines.flatMap((line) => line.split(' ').map(BigInt));
}

const isRising = (ids: readonly bigint[]): boolean =>
  ids.every((id, at) => at === 0 || ids[at - 1]! < id);

describe('processes that make IDs in one Redis', () => {
  it('make no duplicate, each in rising order, even if some are killed', async () => {
    const namespace = randomUUID();
    const url = `${process.env['REDIS_URL']!}?namespace=${namespace}&lossWindowMs=100`;
    const given = { redis: url, tag: 'order' };
    const pair = () => Promise.all([idsOf(given, 'SIGKILL'), idsOf(given, 'SIGTERM')]);
    const first = await pair();
    const later = await pair();
    const all = [...first, ...later];
    expect(all.every(isRising)).toBe(true);
    expect(all.flat().length).toBeGreaterThanOrEqual(4 * LINES_OF_EACH * LINE_COUNT);
    expect(new Set(all.flat()).size).toBe(all.flat().length);
    // Over all processes, a later ID is higher.
    const highest = first.flat().reduce((a, b) => (a > b ? a : b));
    expect(later.flat().every((id) => id > highest)).toBe(true);
  });
});

describe('three nodes', () => {
  it('are refused in another order or number', async () => {
    const servers = await Promise.all([1, 2, 3].map(() => lab.server('--appendonly', 'yes')));
    const [a, b, c] = servers.map(({ port }) => `redis://127.0.0.1:${port}`) as [
      string,
      string,
      string,
    ];
    const started = (redis: string[]) =>
      startRedisIds({ redis, tag: 'order', lossWindowMs: 100, callTimeoutMs: 2000 });
    const right = await started([a, b, c]);
    await right.ids.nextIdsAsync(100);
    await right.close();
    for (const wrong of [[b, a, c], [a, b], [a]]) {
      const failure = await started(wrong).catch((error: SnowflakeError) => error);
      expect(failure).toMatchObject({ code: 'COUNTER_MISMATCH', retryable: false });
      expect((failure as Error).message).toMatch(/[123]\/3/);
    }
    const again = await started([a, b, c]);
    expect(await again.ids.nextIdsAsync(10)).toHaveLength(10);
    await again.close();
  });
});

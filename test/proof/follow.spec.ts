/**
 * Real stores that are used by several at once follow the rules that are proved, as they tell
 * themselves; and what differs by a digit is found.
 */
import { randomUUID } from 'node:crypto';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type {
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import { RedisSupport } from '../../lib/stores/redis/redis.support.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { followedIn, Recorder } from '../chaos/followed.mjs';
import { until } from '../until.js';

const TTL_MS = 400;
const TERMS = { fingerprint: 'f', ttlMs: TTL_MS, minRangeMs: 1, quarantineMs: 0 };
const HOLDER = { host: 'h', pid: 1, application: 'a' };

describe('a Redis that tells what it does', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-followed-'));
  const path = join(folder, 'recorded');
  const key = 'snowflake:{default}:registry';
  let server: Awaited<ReturnType<typeof startRedis>>;

  /** Leases, renews and gives back until it is told to stop. */
  async function live(support: RedisSupport, isOver: () => boolean): Promise<void> {
    const file = join(folder, `${randomUUID()}.events`);
    const tell = (event: object) => appendFileSync(file, `${JSON.stringify(event)}\n`);
    const told = async (op: string, token: string, asked: Promise<LeaseAnswer>) => {
      const answer = await asked;
      if (answer.status === 'ok') tell({ kind: 'answered', op, token, answer });
      return answer;
    };
    tell({ kind: 'support', lossWindowMs: support.lossWindowMs });
    for (let count = 0; !isOver(); count++) {
      const token = randomUUID();
      const span = { workerIdMin: 0, workerIdMax: 3 };
      const own = { ...TERMS, ...span, token, nonce: '0', haveMs: 0, holder: HOLDER };
      const request: LeaseRequest = own;
      const answer = await told('acquire', token, support.getNextWorkId(request));
      if (answer.status !== 'ok') continue;
      let lease: WorkerLease = {
        ...own,
        workerId: answer.workerId,
        haveMs: answer.ceilingMs,
        mark: answer.mark!,
        nonceNext: '1',
      };
      for (let renewal = 1; renewal < 20 && !isOver(); renewal++) {
        const next = await told('renew', token, support.refreshAlive(lease));
        if (next.status !== 'ok') break;
        const { ceilingMs: haveMs, mark } = next;
        const nonces = { nonce: lease.nonceNext, nonceNext: String(renewal + 1) };
        lease = { ...lease, ...nonces, haveMs, mark: mark! };
      }
      if (count % 3 > 0) await support.release(lease, lease.haveMs - TTL_MS);
    }
  }

  beforeAll(async () => {
    server = await startRedis();
    const redis = new Redis({ port: server.port });
    const recorder = new Recorder(() => server.port, key, path);
    await until(() => readFileSync(path, 'utf8').includes('mark-'));
    const supports = Array.from({ length: 4 }, () => {
      return new RedisSupport({ redis: `redis://127.0.0.1:${server.port}` });
    });
    let isOver = false;
    const lives = supports.map((support) => live(support, () => isOver));
    const operations = async () => Number(await redis.hget(key, 'operations'));
    await until(async () => (await operations()) > 400);
    await redis.del(key);
    await until(async () => (await operations()) > 400);
    await redis.flushall();
    await until(async () => (await operations()) > 400);
    isOver = true;
    await Promise.all(lives);
    await Promise.all(supports.map((support) => support.close()));
    await recorder.stop();
    redis.disconnect();
  }, 60_000);

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  it('follows the rules, whoever asks, and through losses', async () => {
    const { stepCount, counts, answerCount, ...found } = await followedIn(folder, path, key);
    expect(found).toMatchObject({ differences: [], lossCount: 2, unseenCount: 0 });
    expect(stepCount).toBeGreaterThan(1000);
    expect(answerCount).toBeGreaterThan(100);
    for (const rule of ['a server takes over', 'a lease is renewed', 'a worker id is released']) {
      expect(counts[rule]).toBeGreaterThan(0);
    }
  });

  const LEASED = / lua\] "HSET" "[^"]+" "c\d+" "\d+" "o\d+"/;

  it.each([
    [
      'a range that ends a millisecond later',
      'follows no rule; the nearest: "a',
      (line: string) => line.replace(/("c\d+" ")(\d+)/, (_, c, ms) => c + String(Number(ms) + 1)),
    ],
    ['a range that is not stored', '', () => ''],
    [
      'a range for somebody else',
      'a.holder is',
      (line: string) => line.replace(/("o\d+" ")[^|]+/, '$1another'),
    ],
    [
      'a write beside all scripts',
      'the registry has changed beside all scripts',
      (line: string) => line.replace(/ \[0 lua\] "HSET" ("[^"]+").*/, ' [0 lua] "HSET" $1 "l" "1"'),
    ],
  ])('tells %s', async (_what, told, changed) => {
    const lines = readFileSync(path, 'utf8').split('\n');
    const leased = lines.flatMap((line, at) => (LEASED.test(line) ? [at] : []));
    const at = leased[Math.floor(leased.length / 2)]!;
    const other = join(folder, 'changed');
    writeFileSync(other, lines.with(at, changed(lines[at]!)).join('\n'));
    const { differences } = await followedIn(folder, other, key);
    expect(differences.join('\n')).toContain(told);
    expect(differences).not.toEqual([]);
  });

  it('tells an answer that is not what was stored', async () => {
    const other = mkdtempSync(join(tmpdir(), 'snowflake-answered-'));
    const events = readdirSync(folder).find((name) => name.endsWith('.events'))!;
    const text = readFileSync(join(folder, events), 'utf8');
    const later = text.replace(/"ceilingMs":(\d+)/, (_, ms) => `"ceilingMs":${Number(ms) + 1}`);
    writeFileSync(join(other, events), later);
    const { differences } = await followedIn(other, path, key);
    rmSync(other, { recursive: true });
    expect(differences).toEqual([expect.stringContaining('is answered, stored is worker id')]);
  });
});

/**
 * What a Redis tells by MONITOR while several use it follows the rules that are proved, through
 * losses and where its replica takes over; and what differs by a digit is found.
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

const key = 'snowflake:{default}:registry';
const TTL_MS = 400;
const TERMS = { fingerprint: 'f', ttlMs: TTL_MS, minRangeMs: 1, quarantineMs: 0 };
const HOLDER = { host: 'h', pid: 1, application: 'a' };

/** Leases, renews and gives back until it is told to stop. */
async function live(folder: string, support: RedisSupport, isOver: () => boolean): Promise<void> {
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

/** Some live on a Redis until so much has happened. */
async function liveUntil(folder: string, port: number, isEnough: () => Promise<unknown>) {
  const supports = Array.from({ length: 4 }, () => {
    return new RedisSupport({ redis: `redis://127.0.0.1:${port}` });
  });
  let isOver = false;
  const lives = supports.map((support) => live(folder, support, () => isOver));
  await isEnough();
  isOver = true;
  await Promise.all(lives);
  await Promise.all(supports.map((support) => support.close()));
}

const operationsOf = async (redis: Redis) => Number(await redis.hget(key, 'operations'));

describe('a Redis that tells what it does', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-followed-'));
  const path = join(folder, 'recorded');
  let server: Awaited<ReturnType<typeof startRedis>>;

  beforeAll(async () => {
    server = await startRedis();
    const redis = new Redis({ port: server.port });
    const recorder = new Recorder(() => server.port, key, path);
    await until(() => readFileSync(path, 'utf8').includes('mark-'));
    const isEnough = () => until(async () => (await operationsOf(redis)) > 400);
    await liveUntil(folder, server.port, async () => {
      await isEnough();
      await redis.del(key);
      await isEnough();
      await redis.flushall();
      await isEnough();
    });
    await recorder.stop();
    redis.disconnect();
  }, 60_000);

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  it('follows the rules, whoever asks, and through losses', async () => {
    const { stepCount, counts, answerCount, ...found } = (await followedIn(folder, [
      { path, key },
    ]))!;
    expect(found).toMatchObject({ differences: [], lossCount: 2, unseenCount: 0 });
    expect(stepCount).toBeGreaterThan(1000);
    expect(answerCount).toBeGreaterThan(100);
    for (const rule of ['a server takes over', 'a lease is renewed', 'a worker id is released']) {
      expect(counts[rule]).toBeGreaterThan(0);
    }
  });

  const LEASED = / lua\] "HSET" "[^"]+" ("c\d+" "\d+") "o\d+"/;

  /** One in the middle that is stored once: two within a millisecond may extend to one end. */
  function rangeIn(lines: readonly string[]): number {
    const stored = lines.map((line) => LEASED.exec(line)?.[1]);
    const isOnce = (range: string | undefined) =>
      range !== undefined && stored.indexOf(range) === stored.lastIndexOf(range);
    const once = stored.flatMap((range, at) => (isOnce(range) ? [at] : []));
    return once[Math.floor(once.length / 2)]!;
  }

  async function differencesIn(lines: readonly string[]): Promise<readonly string[]> {
    const other = join(folder, 'changed');
    writeFileSync(other, lines.join('\n'));
    return (await followedIn(folder, [{ path: other, key }]))!.differences;
  }

  it.each([
    [
      'a range that ends a millisecond later',
      'follows no rule; the nearest: "a',
      (line: string) => line.replace(/("c\d+" ")(\d+)/, (_, c, ms) => c + String(Number(ms) + 1)),
    ],
    ['a range that is not stored', '', () => ''],
    [
      'a range for somebody else',
      /[ab]\.holder is/,
      (line: string) => line.replace(/("o\d+" ")[^|]+/, '$1another'),
    ],
  ])('tells %s', async (_what, told, changed) => {
    const lines = readFileSync(path, 'utf8').split('\n');
    const at = rangeIn(lines);
    const differences = await differencesIn(lines.with(at, changed(lines[at]!)));
    expect(differences.join('\n')).toMatch(told);
    expect(differences).not.toEqual([]);
  });

  it('tells a write beside all scripts', async () => {
    const lines = readFileSync(path, 'utf8').split('\n');
    const at = lines.findLastIndex((line) => line.includes('"echo" "mark-'));
    const beside = `+1.0 [0 127.0.0.1:1] "HSET" "${key}" "l" "1"`;
    const differences = await differencesIn(lines.toSpliced(at, 0, beside));
    expect(differences).toEqual([
      expect.stringContaining('the registry has changed beside all scripts'),
    ]);
  });

  it('tells an answer that is not what was stored', async () => {
    const other = mkdtempSync(join(tmpdir(), 'snowflake-answered-'));
    const events = readdirSync(folder).find((name) => name.endsWith('.events'))!;
    const text = readFileSync(join(folder, events), 'utf8');
    const later = text.replace(/"ceilingMs":(\d+)/, (_, ms) => `"ceilingMs":${Number(ms) + 1}`);
    writeFileSync(join(other, events), later);
    const { differences } = (await followedIn(other, [{ path, key }]))!;
    rmSync(other, { recursive: true });
    expect(differences).toEqual([expect.stringContaining('is answered, stored is worker id')]);
  });
});

describe('a replica that takes over', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-taken-over-'));
  const paths = ['primary', 'replica'].map((name) => join(folder, name));
  /** What both knew at the promotion, and what the primary has done since. */
  const counted = { promoted: 0, lost: 0 };

  beforeAll(async () => {
    const primary = await startRedis();
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
    const [asked, other] = [primary, replica].map(({ port }) => new Redis({ port }));
    // A replica that begins anew is known at the next mark alone.
    await until(async () => (await other!.info('replication')).includes('link_status:up'));
    const recorders = [primary, replica].map(
      ({ port }, at) => new Recorder(() => port, key, paths[at]!),
    );
    for (const path of paths) await until(() => readFileSync(path, 'utf8').includes('mark-'));
    await liveUntil(folder, primary.port, async () => {
      await until(async () => (await operationsOf(other!)) > 200);
      await other!.call('REPLICAOF', 'NO', 'ONE');
      counted.promoted = await operationsOf(other!);
      await until(async () => (await operationsOf(asked!)) > counted.promoted + 200);
    });
    counted.lost = (await operationsOf(asked!)) - counted.promoted;
    await liveUntil(folder, replica.port, () =>
      until(async () => (await operationsOf(other!)) > counted.promoted + 200),
    );
    await Promise.all(recorders.map((recorder) => recorder.stop()));
    for (const redis of [asked, other]) redis!.disconnect();
    await Promise.all([primary, replica].map((server) => server.stop()));
  }, 60_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  it('without the last writes is followed as a server that takes over', async () => {
    const { counts, ...found } = (await followedIn(
      folder,
      paths.map((path) => ({ path, key })),
    ))!;
    expect(found).toMatchObject({ differences: [], lossCount: 0, unseenCount: 0 });
    // The first one, of no registry, and the replica.
    expect(counts['a server takes over']).toBe(2);
    expect(counted.lost).toBeGreaterThan(200);
  });

  it('and starts a millisecond too early is told', async () => {
    const [path, other] = [paths[1]!, join(folder, 'changed')];
    const lines = readFileSync(path, 'utf8').split('\n');
    const SAFE = /( lua\] "HSET" .*"safeFloor" ")(\d+)/;
    const at = lines.findIndex((line) => SAFE.test(line));
    const early = lines[at]!.replace(SAFE, (_, first, ms) => first + String(Number(ms) - 1));
    writeFileSync(other, lines.with(at, early).join('\n'));
    const { differences } = (await followedIn(folder, [{ path: other, key }]))!;
    expect(differences[0]).toMatch(/"a server takes over".*; [ab]\.safe is/);
  });
});

/**
 * Fencing from end to end: 100,000 sections on a real Redis, some of whose processes stand still
 * for longer than the lock lasts and write on waking, to a table that compares tokens by the
 * statement of the guide; and to one that does not, by which it is seen that the first has to.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import Database from 'libsql';
import type { RedisLocks } from '../../lib/stores/redis/index.js';
import { runs } from '../runs.js';
import { StallRun, type StallReport } from './stalled-holders.js';
import { redisLockStore } from './settable-locks.js';

const [LOCK_COUNT, PROCESS_COUNT] = [100, 20];
const ROUND_COUNT = runs(500);

const GUIDE = new URL('../../docs/guides/locks.md', import.meta.url);
const STATEMENT = 'UPDATE orders SET fence = $1 WHERE id = $2 AND fence < $1';

/** A table in which each row knows the token of its last write; and all that was written to it. */
class Orders {
  readonly lastTokens = new Map<string, bigint>();
  outOfOrderCount = 0;
  refusedCount = 0;
  private readonly database = new Database(':memory:');
  private readonly update;

  constructor(statement: string) {
    this.database.exec('CREATE TABLE orders (id text PRIMARY KEY, fence bigint NOT NULL)');
    const insert = this.database.prepare('INSERT INTO orders VALUES (?, 0)');
    for (let at = 0; at < LOCK_COUNT; at++) insert.run(`order:${at}`);
    this.update = this.database.prepare(statement.replaceAll('$', '?'));
  }

  write(lock: string, token: bigint): void {
    const { changes } = this.update.run(token, lock);
    if (changes === 0) return void this.refusedCount++;
    if (token < (this.lastTokens.get(lock) ?? 0n)) this.outOfOrderCount++;
    this.lastTokens.set(lock, token);
  }
}

describe('100,000 sections with holders that stand still', () => {
  const opened: RedisLocks[] = [];
  let redis: Redis;
  let report: StallReport;
  let [fenced, unfenced]: [Orders, Orders] = [undefined!, undefined!];

  beforeAll(async () => {
    redis = new Redis(process.env['REDIS_URL']!);
    fenced = new Orders(STATEMENT);
    unfenced = new Orders('UPDATE orders SET fence = $1 WHERE id = $2');
    const { createStore, clockControl, lossControl } = redisLockStore(() => redis, opened);
    const name = randomUUID();
    const stores = Array.from({ length: PROCESS_COUNT }, async () => createStore(name));
    report = await new StallRun({
      stores: await Promise.all(stores),
      advance: (ms) => void clockControl!.advance(ms),
      lose: async () => lossControl!.wipe(name),
      write(lock, token) {
        fenced.write(lock, token);
        unfenced.write(lock, token);
      },
      lockCount: LOCK_COUNT,
      roundCount: ROUND_COUNT,
      seed: 1,
    }).run();
  });
  afterAll(() => redis.quit());

  it('are as many as that, and some of them late', () => {
    expect(report.sectionCount).toBe(2 * LOCK_COUNT * ROUND_COUNT);
    expect(report.stalledCount).toBeGreaterThan(report.lateCount);
    expect(report.lateCount).toBeGreaterThan(report.sectionCount / 100);
    expect(report.lossCount).toBeGreaterThan(ROUND_COUNT / 50);
  });

  it('end as they should: who stood still is told, and nobody else', () => {
    const { stalledCount, sectionCount, believedCount, ends } = report;
    expect(believedCount).toBe(0);
    expect(ends).toEqual({ 'no error': sectionCount - stalledCount, LOCK_LOST: stalledCount });
  });

  it('write nothing out of order where tokens are compared', () => {
    expect(fenced.outOfOrderCount).toBe(0);
    expect(fenced.refusedCount).toBe(report.lateCount);
  });

  it('write as many out of order as are late where they are not', () => {
    expect(unfenced.refusedCount).toBe(0);
    expect(unfenced.outOfOrderCount).toBe(report.lateCount);
  });

  it('compare as the guide says', () => {
    const told = STATEMENT.replace('fence = $1 WHERE', '..., fence = $1 WHERE');
    expect(readFileSync(GUIDE, 'utf8')).toContain(told);
  });
});

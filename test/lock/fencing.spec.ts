/**
 * Fencing from end to end: 100,000 sections on a real Redis. Some processes pause for longer than
 * the lock lasts, and write when they resume. One table compares tokens with the guide's statement.
 * Another one does not, which shows that the comparison is necessary.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import Database from 'libsql';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import type { RedisLocks } from '../../lib/stores/redis/index.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { SettableTime } from '../../lib/testing/index.js';
import { runs } from '../until.js';
import { codeOf, open } from './held-locks.js';
import { redisLockStore } from './settable-locks.js';

// Sections of many processes under many locks of one store. Some processes pause between their last
// check and their write, for longer than the lock lasts. Meanwhile others get the lock and write.
// The test controls the time of each process and of the store.

interface StalledHolders {
  /** One store for each process, with the same locks. */
  readonly stores: readonly LockStore[];
  /** Moves the store's time. */
  readonly advance: (ms: number) => void;
  /** Deletes all data of the store. */
  readonly lose: () => Promise<void>;
  /** The work of a section. */
  readonly write: (lock: string, token: bigint) => void;
  readonly lockCount: number;
  readonly roundCount: number;
  readonly seed: number;
}

interface StallReport {
  /** Sections that reached their write. */
  sectionCount: number;
  /** Those whose process paused before the write. */
  stalledCount: number;
  /** Those of them that wrote after a later holder. */
  lateCount: number;
  /** Paused holders that checked the clock on resuming, and still considered the lock held. */
  believedCount: number;
  lossCount: number;
  /** Results of sections, by error code. */
  readonly ends: Record<string, number>;
}

const TTL_MS = 1000;
/** The share of paused processes. Half of these resume before the next holder writes. */
const STALL_CHANCE = 0.2;
/** In one of this many rounds, the store loses all data while processes are paused. */
const LOSS_ROUNDS = 10;
/** Longer than lost locks may still be held. */
const LOSS_MS = 20_000;

class Holder {
  readonly time = new SettableTime();
  readonly locks: DistributedLock;
  stands = false;
  private gate = open();

  constructor(store: LockStore) {
    const monotonic = { now: () => this.time.passedMs };
    const ports = { clock: this.time, monotonic, timers: this.time, random: () => 0.5 };
    this.locks = new DistributedLock(store, { ttlMs: TTL_MS, ...ports });
  }

  standStill(): void {
    this.stands = true;
    this.gate = open();
  }

  get awake(): Promise<void> {
    return this.gate.promise;
  }

  /** Resumes with an advanced clock. Pending writes run first, and timers last. */
  async wake(ms: number, ends: readonly Promise<unknown>[]): Promise<void> {
    this.stands = false;
    this.time.wallMs += ms;
    this.gate.resolve();
    await Promise.all(ends);
    this.time.wallMs -= ms;
    await this.time.advance(ms);
  }
}

interface Section {
  readonly by: Holder;
  /** Settles once the section holds the lock. */
  readonly begun: Promise<unknown>;
  readonly end: Promise<unknown>;
}

class StallRun {
  readonly report: StallReport = {
    sectionCount: 0,
    stalledCount: 0,
    lateCount: 0,
    believedCount: 0,
    lossCount: 0,
    ends: {},
  };
  private readonly holders: readonly Holder[];
  private readonly random: SeededRandom;

  constructor(private readonly parts: StalledHolders) {
    this.random = new SeededRandom(parts.seed);
    this.holders = parts.stores.map((store) => new Holder(store));
  }

  async run(): Promise<StallReport> {
    await this.waitOut(this.holders);
    for (let round = 0; round < this.parts.roundCount; round++) await this.round(round);
    await Promise.all(this.holders.map(({ locks }) => locks.close()));
    return this.report;
  }

  /** Each lock has two holders in turn: a process that may pause, and one that does not. */
  private async round(round: number): Promise<void> {
    const { holders, random, report, parts } = this;
    // At least one process is never paused.
    const still = holders.slice(1).filter(() => random.chance(STALL_CHANCE));
    const awake = holders.filter((holder) => !still.includes(holder));
    for (const holder of still) holder.standStill();
    const first = this.begin((at) => holders[(at + round) % holders.length]!);
    await Promise.all(first.map(({ begun }) => begun));
    const stalled = first.filter(({ by }) => by.stands);
    report.stalledCount += stalled.length;
    await Promise.all(first.filter(({ by }) => !by.stands).map(({ end }) => end));
    let ms = TTL_MS + 1;
    await this.pass(ms, awake);
    if (round % LOSS_ROUNDS === LOSS_ROUNDS - 1) {
      report.lossCount++;
      await parts.lose();
      ms += await this.waitOut(awake);
    }
    const early = new Set(still.filter(() => random.chance(0.5)));
    await this.wake([...early], { ms, stalled });
    const second = this.begin((at) => awake[(at * 7 + round) % awake.length]!);
    await Promise.all(second.map(({ end }) => end));
    report.lateCount += stalled.filter(({ by }) => by.stands).length;
    await this.wake(
      still.filter((holder) => !early.has(holder)),
      { ms, stalled },
    );
  }

  /** Begins a section under each lock, all at once. */
  private begin(holderOf: (at: number) => Holder): Section[] {
    return Array.from({ length: this.parts.lockCount }, (_, at) => this.section(holderOf(at), at));
  }

  private section(by: Holder, at: number): Section {
    const { report, parts } = this;
    const held = open();
    const run = async () => {
      const section = await by.locks.tryAcquire(`order:${at}`);
      if (section === undefined) throw new Error('held by somebody else');
      section.assertHeld();
      held.resolve();
      const { stands } = by;
      if (stands) await by.awake;
      if (stands && section.leftMs > 0) report.believedCount++;
      // A holder cannot stop a write that it has already sent.
      parts.write(section.lock, section.token);
      report.sectionCount++;
      try {
        section.assertHeld();
      } finally {
        await section.release();
      }
    };
    const end = codeOf(run()).then((code) => {
      const name = String(code);
      report.ends[name] = (report.ends[name] ?? 0) + 1;
    });
    return { by, begun: Promise.race([held.promise, end]), end };
  }

  private async wake(
    holders: readonly Holder[],
    { ms, stalled }: { readonly ms: number; readonly stalled: readonly Section[] },
  ): Promise<void> {
    for (const holder of holders) {
      const ends = stalled.filter(({ by }) => by === holder).map(({ end }) => end);
      await holder.wake(ms, ends);
    }
  }

  private async pass(ms: number, awake: readonly Holder[]): Promise<void> {
    this.parts.advance(ms);
    await Promise.all(awake.map(({ time }) => time.advance(ms)));
  }

  /** Waits for a store that is new or has lost its data. @returns how long */
  private async waitOut(awake: readonly Holder[]): Promise<number> {
    const refused = await codeOf(awake[0]!.locks.tryAcquire('first'));
    if (refused !== 'STORE_UNAVAILABLE') throw new Error(`It was not new: ${String(refused)}`);
    await this.pass(LOSS_MS, awake);
    return LOSS_MS;
  }
}

const [LOCK_COUNT, PROCESS_COUNT] = [100, 20];
const ROUND_COUNT = runs(500);

const GUIDE = new URL('../../docs/guides/locks.md', import.meta.url);
const STATEMENT = 'UPDATE orders SET fence = $1 WHERE id = $2 AND fence <= $1';

/** A table in which each row has the token of its last write, and a list of all writes. */
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

describe('100,000 sections with paused holders', () => {
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

  it('are complete, and some of them are late', () => {
    expect(report.sectionCount).toBe(2 * LOCK_COUNT * ROUND_COUNT);
    expect(report.stalledCount).toBeGreaterThan(report.lateCount);
    expect(report.lateCount).toBeGreaterThan(report.sectionCount / 100);
    expect(report.lossCount).toBeGreaterThan(ROUND_COUNT / 50);
  });

  it('end correctly: a paused holder learns of its loss, and no other holder does', () => {
    const { stalledCount, sectionCount, believedCount, ends } = report;
    expect(believedCount).toBe(0);
    expect(ends).toEqual({ 'no error': sectionCount - stalledCount, LOCK_LOST: stalledCount });
  });

  it('write nothing out of order if tokens are compared', () => {
    expect(fenced.outOfOrderCount).toBe(0);
    expect(fenced.refusedCount).toBe(report.lateCount);
  });

  it('write each late section out of order if tokens are not compared', () => {
    expect(unfenced.refusedCount).toBe(0);
    expect(unfenced.outOfOrderCount).toBe(report.lateCount);
  });

  it('compare as the guide shows', () => {
    const told = STATEMENT.replace('fence = $1 WHERE', '..., fence = $1 WHERE');
    expect(readFileSync(GUIDE, 'utf8')).toContain(told);
  });
});

/**
 * Segments on several stores and on real stores: their start, their step, and the size of each
 * request. Processes are killed while they generate numbers, and an application uses TypeORM. No
 * number repeats; without a common store, the same test finds duplicates.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { InjectIdMaker, MemoryCounters, getIdMakerToken, type IdMaker } from 'nestjs-snowflake';
import { SegmentsModule } from 'nestjs-snowflake/segments';
import { registryTable, sqlCounters } from 'nestjs-snowflake/sql';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import type { Pool } from 'pg';
import { Column, DataSource, Entity } from 'typeorm';
import { NumberSpace } from '../../lib/counters/segments/numbered-store.js';
import { StepSize } from '../../lib/counters/segments/segment-keeper.js';
import { countersOf } from '../../lib/stores/schemes.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { SqlLab } from '../stores/sql-lab.js';
import { bundledScript } from '../support/builds.mjs';
import { CountingStore, kept, work } from './segment-simulation.js';

const SMALL = { stepMin: 10, stepMax: 10 };

describe('the numbers of several stores', () => {
  it.each([1, 2, 3, 7, 1024])('of %i stores are separate, and can be mapped back', (count) => {
    const seen = new Set<bigint>();
    for (let place = 1; place <= count; place++) {
      const space = new NumberSpace(place, count);
      for (const position of [1n, 2n, 3n, 2n ** 40n]) {
        const number = space.numberOf(position);
        expect(space.positionFrom(number)).toBe(position);
        expect(space.positionFrom(number - 1n)).toBe(count === 1 ? position - 1n : position);
        seen.add(number);
      }
    }
    expect(seen.size).toBe(4 * count);
  });

  it('end at 2^63 - 1, and start at 0', () => {
    const space = new NumberSpace(2, 3);
    const last = space.positionFrom(2n ** 63n) - 1n;
    expect(space.numberOf(last)).toBeLessThan(2n ** 63n);
    expect(space.segmentOf(last, last + 5n)).toMatchObject({ count: 1 });
    expect(space.segmentOf(last + 1n, last + 5n)).toBeUndefined();
    expect(space.segmentOf(0n, 2n)).toEqual({ first: 2n, count: 1, step: 3 });
  });
});

describe('a keeper with several stores', () => {
  it('issues odd and even numbers in turn, without duplicates', async () => {
    const stores = [new CountingStore('a'), new CountingStore('b')];
    const it = kept(stores, SMALL);
    await it.keeper.start();
    const { ids } = await work(it, 20, 10_000);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => id % 2n === 0n).length).toBeGreaterThan(ids.length / 3);
    expect(stores.map(({ requests }) => requests[0]!.stores)).toEqual(['1/2', '2/2']);
  });

  it('in two processes shares them, and another order is refused', async () => {
    const stores = [new MemoryCounters(), new MemoryCounters()];
    const two = [kept(stores, { ...SMALL, startAt: 1n }), kept(stores, { ...SMALL, startAt: 1n })];
    const made = await Promise.all(
      two.map(async (process) => {
        await process.keeper.start();
        return (await work(process, 20, 10_000)).ids;
      }),
    );
    expect(new Set(made.flat()).size).toBe(made.flat().length);
    const turned = kept(stores.toReversed(), SMALL);
    await expect(turned.keeper.start()).rejects.toMatchObject({ code: 'COUNTER_MISMATCH' });
  });

  it('loses one turn, and no number, to a store that hangs', async () => {
    const stores = [new CountingStore('a'), new CountingStore('b')];
    const it = kept(stores, SMALL);
    await it.keeper.start();
    stores[0]!.faults.push(...Array.from({ length: 99 }, () => 'lose' as const));
    const { ids, failedCount } = await work(it, 2, 60_000);
    expect([ids.length, failedCount]).toEqual([120, 0]);
    expect(stores[0]!.requests.length).toBeLessThanOrEqual(3);
  });

  it('calls an unreachable store seldom, and serves from the other', async () => {
    const stores = [new CountingStore('a'), new CountingStore('b')];
    const it = kept(stores, SMALL);
    await it.keeper.start();
    stores[0]!.isDown = true;
    const { ids, failedCount } = await work(it, 500, 60_000);
    expect([ids.length, failedCount]).toEqual([30_000, 0]);
    expect(stores[0]!.requests.length).toBeLessThan(100);
    expect(it.changes).toEqual(['unassigned -> active']);
  });

  it('logs once a store that can never grant', async () => {
    const stores = [new CountingStore('a'), new CountingStore('b')];
    const it = kept(stores, SMALL);
    await it.keeper.start();
    stores[1]!.next = undefined;
    const { failedCount } = await work(it, 2, 60_000);
    expect(failedCount).toBe(0);
    expect(it.news).toEqual([expect.stringContaining('There is no such counter')]);
    expect(it.keeper.state).toBe('active');
  });
});

describe('the size of a request', () => {
  const terms = { lastsMs: 30_000, stepMin: 1000, stepMax: 100_000_000 };

  it.each([10, 1000, 100_000])(
    'at %i a second: four calls a minute, 26 s buffered',
    async (rate) => {
      const store = new CountingStore();
      const size = new StepSize(terms);
      const time = new SettableTime();
      let [buffered, issued, calls, least] = [1000, 0, 0, Infinity];
      for (let second = 0; second < 600; second++) {
        for (let part = 0; part < 10; part++) {
          while (buffered <= size.mark || buffered < rate / 10) {
            size.measure(issued, time.wallMs);
            buffered += size.step;
            if (second >= 300) calls++;
          }
          buffered -= rate / 10;
          issued += rate / 10;
          time.wallMs += 100;
          if (second >= 300) least = Math.min(least, buffered);
        }
      }
      expect(calls / 5).toBeLessThanOrEqual(4.2);
      expect((least / rate) * 1000).toBeGreaterThanOrEqual(26_000);
      expect(store.requests).toHaveLength(0);
    },
  );

  it('is at most two times the last one after a burst at the start', () => {
    const size = new StepSize(terms);
    const steps: number[] = [];
    for (let call = 0; call < 12; call++) {
      size.measure(call * 1000, 1);
      steps.push(size.step);
    }
    expect(steps.every((step, at) => at === 0 || step <= 2 * steps[at - 1]!)).toBe(true);
    // As if all numbers were used within one second.
    expect(steps.at(-1)).toBeLessThanOrEqual(11_000 * 15);
  });

  it('does not change with a jump of the clock', () => {
    for (const jumpMs of [-86_400_000, -1, 0, 1, 86_400_000]) {
      const size = new StepSize(terms);
      let [nowMs, issued, highest] = [0, 0, 0];
      for (let call = 0; call < 50; call++) {
        nowMs += 15_000;
        issued += 15_000;
        if (call % 3 === 2) nowMs += jumpMs;
        size.measure(issued, nowMs);
        highest = Math.max(highest, size.step);
        expect(size.mark).toBeLessThanOrEqual(2 * size.step);
      }
      expect(highest).toBeLessThanOrEqual(30_000 * 15);
    }
  });
});

const START_COUNT = 10;
const SIDE_BY_SIDE = 4;
const LINES_OF_EACH = 30;

const lab = new SqlLab();
const table = `counters_${randomUUID().replaceAll('-', '')}`;
const running = new Set<ChildProcess>();
let script: string;
beforeAll(async () => {
  script = await bundledScript('support/worker.mjs');
  await lab.pool().query(registryTable('postgres', table));
  await lab.mysql().query(registryTable('mysql', table));
}, 300_000);
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await lab.pool().query(`DROP TABLE ${table}`);
  await lab.mysql().query(`DROP TABLE ${table}`);
  await lab.end();
});

/** Numbers of one process in the reported order, without an incomplete line. */
async function idsOf(segments: object | undefined, signal: NodeJS.Signals): Promise<number[]> {
  const WORKER = JSON.stringify({ does: 'numbers', segments });
  const env = { ...process.env, WORKER, NODE_ENV: 'test' };
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const lines: string[] = [];
  const ended = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) {
    if (line.split(' ').length === 20) lines.push(line);
    if (lines.length === LINES_OF_EACH) child.kill(signal);
  }
  await ended;
  running.delete(child);
  if (lines.length < LINES_OF_EACH) throw new Error(`A process ended by itself:\n${said}`);
  return lines.flatMap((line) => line.split(' ').map(Number));
}

async function fleet(segments: object | undefined): Promise<number[][]> {
  const all: number[][] = [];
  let startCount = 0;
  const take = async () => {
    while (startCount < START_COUNT) {
      const signal = startCount++ % 2 === 0 ? 'SIGKILL' : 'SIGTERM';
      all.push(await idsOf(segments, signal));
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, take));
  return all;
}

const twiceIn = (all: number[][]): number => all.flat().length - new Set(all.flat()).size;
const isRising = (ids: number[]): boolean => ids.every((id, at) => at === 0 || id > ids[at - 1]!);

const STORES: readonly [name: string, url: () => string][] = [
  ['Redis', () => `${process.env['REDIS_URL']!}?namespace=${table}&lossWindowMs=100`],
  ['PostgreSQL', () => `${process.env['DATABASE_URL']!}?table=${table}&replicated=false`],
  ['MariaDB', () => `${process.env['MYSQL_URL']!}?table=${table}`],
];

describe.each(STORES)('processes on one counter in %s', (_name, url) => {
  it('issue no duplicate, even if some are killed', async () => {
    const store = await countersOf(url());
    // Across the end of a word, where counting is most difficult.
    await store.create!({ counter: 'order', start: 2n ** 32n - 2000n });
    await store.close?.();
    const steps = { stepMin: 50, stepMax: 400, lastsMs: 1000 };
    const all = await fleet({ store: url(), counter: 'order', ...steps });
    expect(all.flat().length).toBeGreaterThan(START_COUNT * LINES_OF_EACH * 19);
    expect(twiceIn(all)).toBe(0);
    expect(all.every(isRising)).toBe(true);
    expect(Math.max(...all.flat())).toBeLessThan(2 ** 32 + START_COUNT * 10_000);
  });
});

describe('without a common store', () => {
  it('issue duplicates', async () => {
    expect(twiceIn(await fleet(undefined))).toBeGreaterThan(1000);
  });
});

@Entity({ name: `order_${table}` })
class Order {
  @SnowflakeId({ generator: 'segment-orders' })
  id!: string;

  @Column('text')
  note!: string;
}

class Shop {
  constructor(
    @InjectIdMaker('segment-orders') readonly ids: IdMaker,
    readonly database: DataSource,
  ) {}
}

async function highestOrder(dataSource: DataSource): Promise<string | null> {
  const query = dataSource.createQueryBuilder(Order, 'o').select('MAX(o.id)', 'highest');
  return (await query.getRawOne<{ highest: string | null }>())?.highest ?? null;
}

async function shop(pool: Pool) {
  const app = await Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({
        type: 'postgres',
        url: process.env['DATABASE_URL']!,
        entities: [Order],
        synchronize: true,
      }),
      SegmentsModule.forRootAsync({
        name: 'segment-orders',
        inject: [DataSource],
        useFactory: (dataSource: DataSource) => ({
          // TypeORM destroys its DataSource before the last IDs are released.
          store: sqlCounters({ pool, dialect: 'postgres', table, replicated: false }),
          counter: 'rows',
          startAt: () => highestOrder(dataSource),
          stepMin: 10,
          stepMax: 100,
          lossGap: 1000,
        }),
      }),
    ],
    providers: [Shop].map((provide) => ({
      provide,
      inject: [getIdMakerToken('segment-orders'), DataSource],
      useFactory: (ids: IdMaker, database: DataSource) => new Shop(ids, database),
    })),
  }).compile();
  await app.init();
  const { database, ids } = app.get(Shop);
  return { app, ids, orders: database.getRepository(Order) };
}

describe('an application with TypeORM on PostgreSQL', () => {
  it('saves orders under dense numbers, without a gap after a restart', async () => {
    const pool = lab.pool();
    const first = await shop(pool);
    const saved = await first.orders.save([{ note: 'a' }, { note: 'b' }, { note: 'c' }]);
    expect(saved.map(({ id }) => id)).toEqual(['1001', '1002', '1003']);
    await first.app.close();
    const second = await shop(pool);
    const { id } = await second.orders.save({ note: 'd' });
    expect(id).toBe('1004');
    expect((await second.orders.findOneByOrFail({ id })).note).toBe('d');
    expect(await second.ids.nextIdAsync()).toBe(1005n);
    await second.orders.query(`DROP TABLE "order_${table}"`);
    await second.app.close();
  });
});

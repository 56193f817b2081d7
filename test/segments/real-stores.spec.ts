/**
 * Segments on real stores: processes that are killed while they make numbers, and an application
 * with TypeORM. No number is made twice; without a common store, tried in the same way, some are.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { InjectIdMaker, getIdMakerToken, type IdMaker } from 'nestjs-snowflake';
import { SegmentsModule } from 'nestjs-snowflake/segments';
import { counterTable, sqlCounters } from 'nestjs-snowflake/sql';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import type { Pool } from 'pg';
import { Column, DataSource, Entity } from 'typeorm';
import { countersOf } from '../../lib/stores/schemes.js';
import { SqlLab } from '../stores/sql-lab.js';
import { bundledScript } from '../threads/compiled-library.js';

const START_COUNT = 10;
const SIDE_BY_SIDE = 4;
const LINES_OF_EACH = 30;

const lab = new SqlLab();
const table = `counters_${randomUUID().replaceAll('-', '')}`;
const running = new Set<ChildProcess>();
let script: string;
beforeAll(async () => {
  script = await bundledScript('segments/segments-worker.mjs');
  await lab.pool().query(counterTable('postgres', table));
  await lab.mysql().query(counterTable('mysql', table));
}, 300_000);
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await lab.pool().query(`DROP TABLE ${table}`);
  await lab.mysql().query(`DROP TABLE ${table}`);
  await lab.end();
});

/** Numbers of one process, in the order in which it told them. A line cut off is none. */
async function idsOf(segments: object | undefined, signal: NodeJS.Signals): Promise<number[]> {
  const env = { ...process.env, WORKER: JSON.stringify({ segments }), NODE_ENV: 'test' };
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
  it('make no number twice, whichever of them are killed', async () => {
    const store = await countersOf(url());
    // Across the end of a word, which is where counting is hardest.
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
  it('the same processes make numbers twice', async () => {
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
          // TypeORM's DataSource is destroyed before the last ids are given back.
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
  it('saves orders under dense numbers, and goes on without a gap', async () => {
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

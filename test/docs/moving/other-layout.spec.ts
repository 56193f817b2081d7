/**
 * The guide from another layout, on PostgreSQL: what the command judges safe goes on without an id
 * twice, and what it judges unsafe would meet an old id.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { layouts, type BitLayout } from 'nestjs-snowflake';
import { command } from '../../cli/run-command.js';
import { MovingShop } from './guide.js';
import { Writers, type Work } from './writers.js';

const shop = new MovingShop();
beforeAll(() => shop.open());
afterAll(async () => {
  await Promise.all([old.stop(), young.stop()]);
  await shop.close();
});

/** Ids as a generator of this layout makes them now, one after the other. */
function workOf(layoutNow: () => BitLayout): Work {
  let sequence = 0;
  return async ({ client, text, acknowledge }) => {
    const layout = layoutNow();
    const parts = { timestampMs: Date.now(), workerId: 7, sequence: sequence++ % 4096 };
    const name = text();
    await client.query('INSERT INTO orders (id, note) VALUES ($1, $2)', [
      String(layout.compose(parts)),
      name,
    ]);
    acknowledge(name);
  };
}

let next = layouts.snowflake();
const old = new Writers(shop.pool, 'old', [workOf(() => layouts.discord())]);
const young = new Writers(shop.pool, 'new', [workOf(() => next)]);

describe('from another layout', () => {
  it('the epoch that the command names goes on above every old id', async () => {
    await shop.run('CREATE TABLE orders (id bigint PRIMARY KEY, note text NOT NULL)');
    old.start();
    await old.more(300);
    await old.stop();
    const { rows } = await shop.pool.query<{ max: string }>('SELECT max(id) FROM orders');
    const after = ['layout', '--json', '--after', rows[0]!.max];
    const judged = await command(after);
    const { isSafe, safeFrom, epochMax } = JSON.parse(judged.lines[0]!) as Judgement;
    expect([judged.code, isSafe]).toEqual([1, false]);
    expect((await command([...after, '--epoch', epochMax])).code).toBe(0);

    next = layouts.snowflake({ epoch: epochMax });
    young.start();
    await young.more(300);
    await young.stop();
    expect([old.errors, young.errors]).toEqual([[], []]);
    expect(await shop.number('SELECT count(*) FROM orders')).toBe(
      old.acknowledged.length + young.acknowledged.length,
    );
    expect(
      await shop.number(
        `SELECT count(*) FROM orders WHERE note LIKE 'new%' AND id <= ${rows[0]!.max}`,
      ),
    ).toBe(0);

    // With the default epoch the largest old id is made again, just before the moment named.
    const { timestampMs, workerId, sequence } = layouts.snowflake().parse(rows[0]!.max);
    expect(timestampMs).toBe(Date.parse(safeFrom) - 1);
    const again = layouts.snowflake().compose({ timestampMs, workerId, sequence });
    const sql = `INSERT INTO orders (id, note) VALUES (${again}, 'twice')`;
    await expect(shop.run(sql)).rejects.toThrow(/duplicate key/);
  });
});

interface Judgement {
  readonly isSafe: boolean;
  readonly safeFrom: string;
  readonly epochMax: string;
}

/**
 * TypeORM cannot wait for an id: the application is told at its start, or takes ids ahead.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { startSnowflake } from 'nestjs-snowflake';
import { redisIds } from 'nestjs-snowflake/redis';
import { SnowflakeId, hookDataSource } from 'nestjs-snowflake/typeorm';
import { DataSource, Entity } from 'typeorm';

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
  const generator = redisIds({
    redis: process.env['REDIS_URL']!,
    namespace: randomUUID(),
    tag: 'order',
    lossWindowMs: 50,
    ...(prefetch && { prefetch }),
  });
  return startSnowflake({ generator });
}

it('refuses @SnowflakeId() at the start where ids cannot be made at once', async () => {
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

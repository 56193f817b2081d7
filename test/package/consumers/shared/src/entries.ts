import type { Cluster, Redis } from 'ioredis';
import type { Cluster as Cluster6, Redis as Redis6 } from 'ioredis-6';
import type { Pool as MysqlPool } from 'mysql2/promise';
import { type IDistributedSupport, type IdMaker } from 'nestjs-snowflake';
import type { ApiKeys } from 'nestjs-snowflake/api-keys';
import { SnowflakeText } from 'nestjs-snowflake/class-transformer';
import { IsSnowflakeId } from 'nestjs-snowflake/class-validator';
import { BitLayout } from 'nestjs-snowflake/core';
import { SnowflakeDashboardModule } from 'nestjs-snowflake/dashboard';
import { snowflakeColumn } from 'nestjs-snowflake/drizzle';
import { etcdSupport } from 'nestjs-snowflake/etcd';
import { snowflakeScalar } from 'nestjs-snowflake/graphql';
import type { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
import { folderSupport } from 'nestjs-snowflake/host';
import { ParseSnowflakePipe } from 'nestjs-snowflake/http';
import { LockModule } from 'nestjs-snowflake/lock';
import { registerPrometheusMetrics } from 'nestjs-snowflake/metrics';
import { snowflakeIds } from 'nestjs-snowflake/prisma';
import { redisSupport } from 'nestjs-snowflake/redis';
import { RedisIdsModule } from 'nestjs-snowflake/redis-ids';
import { SegmentsModule } from 'nestjs-snowflake/segments';
import { mysqlSupport, postgresSupport, registryTable, sqlSupport } from 'nestjs-snowflake/sql';
import { RowCounters, RowLocks, type RowStore } from 'nestjs-snowflake/store';
import { ApiSnowflakeParam } from 'nestjs-snowflake/swagger';
import { SettableTime } from 'nestjs-snowflake/testing';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import { snowflakeBigint } from 'nestjs-snowflake/zod';
import type { Pool } from 'pg';
import { Entity, type DataSource } from 'typeorm';
import type { z } from 'zod';

/** Uses a name of every entry, so that the compiler has to find its types. */
@Entity()
export class Invoice {
  // SQLite returns integers as numbers, which cannot hold an ID.
  @SnowflakeId({ type: 'varchar' })
  id: string;
}

export const registry = (redis: Redis | Cluster | Redis6 | Cluster6): IDistributedSupport =>
  redisSupport({ redis, namespace: 'shop' });

/** The pools of each driver fit our types, even in the lowest supported versions. */
export const databases = (
  pool: Pool,
  mysql: MysqlPool,
  dataSource: DataSource,
): IDistributedSupport[] => [
  postgresSupport({ pool, namespace: 'shop' }),
  mysqlSupport({ pool: mysql, replicated: false }),
  sqlSupport({ dataSource }),
];

export const layout = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['worker', 10],
    ['sequence', 12],
  ],
});

/** BitLayout is one type, from whichever entry it is imported. */
export const layoutOf = (idMaker: IdMaker): BitLayout => idMaker.layout;

/** The schema uses the application's own Zod types, so the parsed value is a bigint. */
export const parsed = (text: string): z.infer<ReturnType<typeof snowflakeBigint>> & bigint =>
  snowflakeBigint().parse(text);

// Each of these lines fails to compile if the types of its entry resolve to `any`.
// @ts-expect-error An ID is a bigint.
export const notAny = (idMaker: IdMaker): string => idMaker.nextId();
// @ts-expect-error A namespace is a string.
export const notAnyRedis = (redis: Redis) => redisSupport({ redis, namespace: 7 });
// @ts-expect-error Endpoints are a list.
export const notAnyEtcd = () => etcdSupport({ endpoints: 7 });
// @ts-expect-error A folder needs a path.
export const notAnyHost = () => folderSupport(7);
// @ts-expect-error This dialect does not exist.
export const notAnySql = () => registryTable('oracle');
// @ts-expect-error A counter needs a name.
export const notAnySegments = () => SegmentsModule.forRoot({ counter: 7 });
// @ts-expect-error A tag is a string.
export const notAnyRedisIds = () => RedisIdsModule.forRoot({ redis: 'redis://h', tag: 7 });
// @ts-expect-error Locks need a store.
export const notAnyLock = () => LockModule.forRoot({});
// @ts-expect-error A key needs an ID.
export const notAnyApiKeys = (keys: ApiKeys) => keys.issue(7);
// @ts-expect-error A layout has no such member.
export const notAnyCore = (): unknown => layout.absent;
// @ts-expect-error Counters need a row store.
export const notAnyStore = (rows: RowStore) => [new RowLocks(rows), new RowCounters(7)];
// @ts-expect-error Time is a number.
export const notAnyTesting = (): unknown => new SettableTime('now');
// @ts-expect-error The decorator takes options.
export const notAnyTypeorm = () => SnowflakeId(7);
// @ts-expect-error The name of a generator is a string.
export const notAnyPrisma = () => snowflakeIds({ generator: 7 });
// @ts-expect-error An ID is a string.
export const notAnyDrizzle = () => snowflakeColumn.toDriver(7);
// @ts-expect-error A handler receives a bigint or a string.
export const notAnyHttp = () => new ParseSnowflakePipe({ as: 'number' });
// @ts-expect-error A dashboard needs guards.
export const notAnyDashboard = () => SnowflakeDashboardModule.forRoot({});
// @ts-expect-error A parameter needs a name.
export const notAnySwagger = () => ApiSnowflakeParam(7);
// @ts-expect-error The decorator takes options.
export const notAnyClassValidator = () => IsSnowflakeId(7);
// @ts-expect-error The decorator takes no argument.
export const notAnyClassTransformer = () => SnowflakeText(7);
// @ts-expect-error The parsed value is a bigint.
export const notAnyZod = (): string => snowflakeBigint().parse('7');
// @ts-expect-error A scalar takes options.
export const notAnyGraphql = () => snowflakeScalar(7);
// @ts-expect-error The key is a string.
export const notAnyHealth = (health: SnowflakeHealthIndicator) => health.isHealthy(7);
// @ts-expect-error A number is not prom-client.
export const notAnyMetrics = () => registerPrometheusMetrics(7, []);

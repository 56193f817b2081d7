import type { Cluster, Redis } from 'ioredis';
import type { Cluster as Cluster6, Redis as Redis6 } from 'ioredis-6';
import { type IDistributedSupport, type IdMaker } from 'nestjs-snowflake';
import { BitLayout } from 'nestjs-snowflake/core';
import { redisSupport } from 'nestjs-snowflake/redis';
import { SettableTime } from 'nestjs-snowflake/testing';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import { Entity } from 'typeorm';

/** Names of every entry in use, so that the compiler has to find their types. */
@Entity()
export class Invoice {
  @SnowflakeId()
  id: string;
}

export const registry = (redis: Redis | Cluster | Redis6 | Cluster6): IDistributedSupport =>
  redisSupport({ redis, namespace: 'shop' });

export const layout = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['worker', 10],
    ['sequence', 12],
  ],
});

/** One BitLayout, whichever entry names it. */
export const layoutOf = (idMaker: IdMaker): BitLayout => idMaker.layout;

// @ts-expect-error An id is a bigint: this line fails to compile where types resolve to `any`.
export const notAny = (idMaker: IdMaker): string => idMaker.nextId();
// @ts-expect-error A namespace is text: the same proof for the Redis entry.
export const notAnyRedis = (redis: Redis) => redisSupport({ redis, namespace: 7 });
// @ts-expect-error A layout has no such member: the same proof for the core entry.
export const notAnyCore = (): unknown => layout.absent;
// @ts-expect-error Time is a number: the same proof for the testing entry.
export const notAnyTesting = (): unknown => new SettableTime('now');
// @ts-expect-error The decorator takes options: the same proof for the TypeORM entry.
export const notAnyTypeorm = () => SnowflakeId(7);

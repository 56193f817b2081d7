// The kinds of primary key that are compared.
//
// Guarantee: each is what an application would write; all else of the entity and of the application
// is the same for all, and only the one with snowflake ids has this library in it.
import { ScheduleModule } from '@nestjs/schedule';
import { PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { v4, v7 } from 'uuid';
import { WORKER_ID } from '../harness/generators.mjs';
import { importMain, importTypeorm } from '../harness/library.mjs';

const { SnowflakeModule } = await importMain();
const { SnowflakeId } = await importTypeorm();

/**
 * @typedef {object} Kind
 * @property {() => PropertyDecorator} key declares the property `id` of the entity
 * @property {() => import('@nestjs/common').DynamicModule[]} modules what the application needs
 * @property {() => string} [newId] makes the id where the application does it itself
 */

const none = () => [];

/** On a MariaDB older than 10.7, which has no uuid, TypeORM makes it a varchar(36). */
const uuidKey = () => PrimaryColumn({ type: 'uuid' });

/** @type {Readonly<Record<string, Kind>>} */
export const KINDS = {
  snowflake: {
    key: () => SnowflakeId(),
    modules: () => [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ workerId: WORKER_ID })],
  },
  'uuid-v4': { key: uuidKey, modules: none, newId: () => v4() },
  'uuid-v7': { key: uuidKey, modules: none, newId: () => v7() },
  'auto-increment': {
    key: () => PrimaryGeneratedColumn('increment', { type: 'bigint' }),
    modules: none,
  },
};

/**
 * The locks that the replicas share: in the database of the shop, or where SNOWFLAKE_LOCKS says.
 */
import { Module } from '@nestjs/common';
import { LockModule } from 'nestjs-snowflake/lock';
import { sqlLocks } from 'nestjs-snowflake/sql';
import { DataSource } from 'typeorm';
import { readConfig } from '../config.js';

@Module({
  imports: [
    LockModule.forRootAsync({
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => ({
        // The shop has one database server; with a standby leave `replicated` out.
        locks: readConfig().locks ?? sqlLocks({ dataSource, namespace: 'shop', replicated: false }),
        application: 'shop',
        // So long a lock stays where its process was killed.
        ttlMs: 5000,
      }),
    }),
  ],
})
export class ShopLocksModule {}

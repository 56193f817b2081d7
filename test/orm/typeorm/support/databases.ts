/**
 * The databases of the shared suite. Each opening creates its own database, so that test files can
 * run concurrently. `close()` drops it.
 */
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import type { ModuleMetadata } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import type { TestingModule } from '@nestjs/testing';
import { TypeOrmModule, getDataSourceToken } from '@nestjs/typeorm';
import { SnowflakeModule } from 'nestjs-snowflake';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import {
  DataSource,
  ChildEntity,
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  RelationId,
  TableInheritance,
} from 'typeorm';
import type { DataSourceOptions, EntityTarget, Relation } from 'typeorm';
import { ownDatabase } from '../../../own-database.js';
import { freshPglite } from '../../../support/made-once.mjs';

export interface OpenDatabase {
  readonly options: DataSourceOptions;
  readonly close: () => Promise<void>;
}

export interface Driver {
  readonly name: string;
  readonly idType: 'bigint' | 'varchar';
  open(): Promise<OpenDatabase>;
}

async function openOn(type: 'postgres' | 'mariadb', server: string): Promise<OpenDatabase> {
  const { url, drop } = await ownDatabase(server);
  return { options: { type, url }, close: drop };
}

export const postgres: Driver = {
  name: 'PostgreSQL',
  idType: 'bigint',
  open: () => openOn('postgres', process.env['DATABASE_URL']!),
};

export const mariadb: Driver = {
  name: 'MariaDB',
  idType: 'bigint',
  open: () => openOn('mariadb', process.env['MYSQL_URL']!),
};

/** PGlite runs one query at a time. Its server must hide this from a pool of two. */
export const pglite: Driver = {
  name: 'PGlite',
  idType: 'bigint',
  async open() {
    const db = await freshPglite();
    const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 10 });
    await server.start();
    const url = `postgres://postgres@${server.getServerConn()}/postgres`;
    return {
      options: { type: 'postgres', url, poolSize: 2 },
      close: async () => {
        await server.stop();
        await db.close();
      },
    };
  },
};

export const sqljs: Driver = {
  name: 'sql.js',
  idType: 'varchar',
  open: () => Promise.resolve({ options: { type: 'sqljs' }, close: () => Promise.resolve() }),
};

// Starts a Nest application that uses the library as its documentation describes: it only imports
// SnowflakeModule.

export const WORKER_ID = 7;

export async function startApplication(metadata: ModuleMetadata): Promise<TestingModule> {
  const imports = [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRoot({ workerId: WORKER_ID }),
    ...(metadata.imports ?? []),
  ];
  const application = await Test.createTestingModule({ ...metadata, imports }).compile();
  return application.init();
}

export interface Running {
  readonly dataSource: DataSource;
  stop(): Promise<void>;
}

/** Starts an application with one new database. */
export async function startWithDatabase(
  driver: Driver,
  entities: readonly EntityTarget<object>[],
): Promise<Running> {
  const { options, close } = await driver.open();
  const typeorm = { ...options, entities: [...entities], synchronize: true, retryAttempts: 0 };
  const application = await startApplication({
    imports: [TypeOrmModule.forRoot(typeorm as Parameters<typeof TypeOrmModule.forRoot>[0])],
  });
  return {
    dataSource: application.get<DataSource>(getDataSourceToken()),
    stop: async () => {
      await application.close();
      await close();
    },
  };
}

// Customers, orders with lines, and tags: every kind of relation. A function creates the classes,
// because the type of the ID columns depends on the driver.

export type IdType = 'bigint' | 'varchar';

export function shopEntities(type: IdType) {
  abstract class Row {
    @SnowflakeId({ type, comment: 'a snowflake' })
    id: string;
  }

  @Entity()
  class Tag extends Row {
    @Column()
    label: string;
  }

  @Entity()
  class OrderLine extends Row {
    @Column()
    product: string;

    @ManyToOne('Order', 'lines')
    order: unknown;
  }

  @Entity('shop_order')
  class Order extends Row {
    @Column({ default: '' })
    note: string;

    @ManyToOne('Customer', 'orders', { cascade: ['insert'] })
    customer: Relation<Customer>;

    @RelationId((order: Order) => order.customer)
    customerId: string;

    @OneToMany(() => OrderLine, 'order', { cascade: true })
    lines: OrderLine[];

    @ManyToMany(() => Tag, { cascade: true })
    @JoinTable()
    tags: Tag[];
  }

  @Entity()
  class Customer extends Row {
    @Column({ unique: true, type: 'varchar', length: 100 })
    email: string;

    @Column({ default: '' })
    name: string;

    @OneToMany(() => Order, (order) => order.customer, { cascade: ['insert', 'update'] })
    orders: Order[];
  }

  return { Customer, Order, OrderLine, Tag };
}

/*
 * Unusual entities: single-table inheritance, an ID in an embedded class, and an ID that is not a
 * key.
 */

export function paymentEntities(type: IdType) {
  @Entity()
  @TableInheritance({ column: { name: 'kind', type: 'varchar', length: 20 } })
  class Payment {
    @SnowflakeId({ type })
    id: string;

    @Column()
    amount: number;
  }

  @ChildEntity()
  class CardPayment extends Payment {
    @SnowflakeId({ type, primary: false, nullable: true })
    cardReference: string | null;
  }

  @ChildEntity()
  class BankPayment extends Payment {
    @Column({ nullable: true })
    iban: string;
  }

  return { Payment, CardPayment, BankPayment };
}

export function parcelEntities(type: IdType) {
  class Label {
    @SnowflakeId({ type, primary: false })
    number: string;

    @Column()
    text: string;
  }

  @Entity()
  class Parcel {
    @SnowflakeId({ type })
    id: string;

    @Column(() => Label)
    label: Label;
  }

  return { Parcel, Label };
}

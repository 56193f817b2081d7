/**
 * Customers, orders with lines, tags: every kind of relation. Made by a function, because the
 * type of the id columns depends on the driver.
 */
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import {
  ChildEntity,
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  RelationId,
  TableInheritance,
  type Relation,
} from 'typeorm';
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
 * Entities out of the ordinary: single-table inheritance, an id inside an embedded class, an id
 * that is no key.
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

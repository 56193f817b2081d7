/**
 * Customers, orders with lines, tags: every kind of relation. Made by a function, because the
 * type of the id columns depends on the driver.
 */
import {
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  RelationId,
  type Relation,
} from 'typeorm';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';

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

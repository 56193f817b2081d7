import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import { Column, Entity } from 'typeorm';

@Entity('orders')
export class Order {
  @SnowflakeId()
  id: string;

  /** What people read: ORD-2026-000123, without gaps. */
  @Column({ unique: true })
  number: string;

  @Column()
  product: string;

  @Column('int')
  quantity: number;

  @Column({ type: 'timestamptz', nullable: true })
  shippedAt: Date | null;
}

@Entity()
export class SalesReport {
  @SnowflakeId()
  id: string;

  /** When it was due. Unique, so that a repeated run adds no second report. */
  @Column({ type: 'timestamptz', unique: true })
  at: Date;

  @Column('int')
  orderCount: number;

  /** The replica, such as `web-1 4242`. */
  @Column()
  madeBy: string;
}

import { ApiProperty } from '@nestjs/swagger';
import { SnowflakeText } from 'nestjs-snowflake/class-transformer';
import { ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';
import { SnowflakeId, idText } from 'nestjs-snowflake/typeorm';
import { Column, Entity, JoinColumn, OneToOne, type Relation } from 'typeorm';
import { orderIds } from '../ids/shop-ids.js';
import { Order } from '../orders/order.entity.js';

@Entity()
export class Invoice {
  /** Small numbers, for the database: 1, 2, 3, and now and then a gap. */
  @SnowflakeId({ generator: 'invoices' })
  @ApiSnowflakeProperty({ readOnly: true, example: '17' })
  id: string;

  /** For the tax office: without a gap. */
  @Column({ unique: true })
  @ApiProperty({ example: 'INV-20261122-000123', pattern: String.raw`^INV-\d{8}-\d{6}$` })
  number: string;

  /** Decimal in the database, ord_... in an answer. */
  @Column({ type: 'bigint', transformer: idText })
  @SnowflakeText({ form: orderIds })
  @ApiSnowflakeProperty({ form: orderIds })
  orderId: string;

  /** An order has one invoice. */
  @OneToOne(() => Order)
  @JoinColumn({ name: 'orderId' })
  order?: Relation<Order>;
}

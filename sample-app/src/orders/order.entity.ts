import { ApiProperty } from '@nestjs/swagger';
import { Expose } from 'class-transformer';
import type { PublicId } from 'nestjs-snowflake';
import { ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';
import { SnowflakeId, idText } from 'nestjs-snowflake/typeorm';
import { Column, Entity, JoinColumn, ManyToOne, OneToMany, type Relation } from 'typeorm';
import { Customer } from '../customers/customer.entity.js';
import { orderIds } from '../ids/shop-ids.js';
import { OrderLine } from './order-line.entity.js';

@Entity('orders')
export class Order {
  @SnowflakeId()
  @ApiSnowflakeProperty({ readOnly: true })
  id: string;

  @Column({ type: 'bigint', transformer: idText })
  @ApiSnowflakeProperty({ description: 'Who ordered' })
  customerId: string;

  @ManyToOne(() => Customer)
  @JoinColumn({ name: 'customerId' })
  customer?: Relation<Customer>;

  @OneToMany(() => OrderLine, (line) => line.order, { cascade: ['insert'] })
  @ApiProperty({ type: () => [OrderLine], required: false, description: 'Not in lists' })
  lines?: Relation<OrderLine>[];

  @Expose()
  @ApiSnowflakeProperty({ form: orderIds, readOnly: true, description: 'What customers see' })
  get publicId(): PublicId<'ord'> {
    return orderIds.encode(BigInt(this.id));
  }
}

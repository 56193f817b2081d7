import { ApiProperty } from '@nestjs/swagger';
import { SnowflakeId, idText } from 'nestjs-snowflake/typeorm';
import { Column, Entity, JoinColumn, ManyToOne, OneToMany, type Relation } from 'typeorm';
import { Customer } from '../customers/customer.entity.js';
import { OrderLine } from './order-line.entity.js';

@Entity('orders')
export class Order {
  @SnowflakeId()
  @ApiProperty({ type: String, example: '382366441078288384' })
  id: string;

  @Column({ type: 'bigint', transformer: idText })
  @ApiProperty({ type: String, example: '382366441078288384' })
  customerId: string;

  @ManyToOne(() => Customer)
  @JoinColumn({ name: 'customerId' })
  customer?: Relation<Customer>;

  @OneToMany(() => OrderLine, (line) => line.order, { cascade: ['insert'] })
  @ApiProperty({ type: () => [OrderLine] })
  lines?: Relation<OrderLine>[];
}

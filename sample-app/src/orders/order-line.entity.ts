import { ApiProperty } from '@nestjs/swagger';
import { ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import { Column, Entity, Index, ManyToOne, type Relation } from 'typeorm';
import { Order } from './order.entity.js';

@Entity()
export class OrderLine {
  @SnowflakeId()
  @ApiSnowflakeProperty({ readOnly: true })
  id: string;

  @Index()
  @ManyToOne(() => Order, (order) => order.lines, { nullable: false })
  order?: Relation<Order>;

  @Column()
  @ApiProperty({ example: 'tea' })
  product: string;

  @Column('int')
  @ApiProperty({ type: 'integer', example: 2 })
  quantity: number;

  @Column('int')
  @ApiProperty({ type: 'integer', example: 450 })
  priceCents: number;
}

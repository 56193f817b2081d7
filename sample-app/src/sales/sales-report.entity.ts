import { ApiProperty } from '@nestjs/swagger';
import { ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import { Column, Entity } from 'typeorm';

@Entity()
export class SalesReport {
  @SnowflakeId()
  @ApiSnowflakeProperty({ readOnly: true })
  id: string;

  /** One report of each: whatever happens to a lock, the database takes no second one. */
  @Column({ type: 'timestamptz', unique: true })
  @ApiProperty({ description: 'When it was due' })
  at: Date;

  @Column('int')
  @ApiProperty({ type: 'integer', description: 'How many orders there were', example: 12 })
  orderCount: number;

  @Column()
  @ApiProperty({ description: 'The replica that made it', example: 'web-1 4242' })
  madeBy: string;
}

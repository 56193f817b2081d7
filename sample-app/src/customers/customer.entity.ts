import { ApiProperty } from '@nestjs/swagger';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import { Column, Entity } from 'typeorm';

@Entity()
export class Customer {
  @SnowflakeId()
  @ApiProperty({ type: String, example: '382366441078288384' })
  id: string;

  @Column()
  @ApiProperty({ example: 'Ada' })
  name: string;
}

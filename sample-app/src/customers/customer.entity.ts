import { ApiProperty } from '@nestjs/swagger';
import { ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import { Column, Entity } from 'typeorm';

@Entity()
export class Customer {
  @SnowflakeId()
  @ApiSnowflakeProperty({ readOnly: true })
  id: string;

  @Column()
  @ApiProperty({ example: 'Ada' })
  name: string;
}

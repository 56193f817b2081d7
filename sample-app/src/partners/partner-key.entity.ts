import { ApiProperty } from '@nestjs/swagger';
import { ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import { Column, Entity } from 'typeorm';

/** What is kept of a key: not the key. */
@Entity()
export class PartnerKey {
  @SnowflakeId()
  @ApiSnowflakeProperty({ readOnly: true })
  id: string;

  @Column()
  @ApiProperty({ example: 'Tea by Bike' })
  partner: string;

  @Column({ type: 'char', length: 64 })
  hash: string;

  @Column({ type: 'timestamptz', nullable: true })
  revokedAt: Date | null;
}

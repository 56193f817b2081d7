/**
 * What the endpoints of partners take and answer.
 */
import { ApiProperty } from '@nestjs/swagger';
import type { PublicId } from 'nestjs-snowflake';
import { ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';
import { orderIds } from '../ids/shop-ids.js';
import { IsLabel } from '../is-label.decorator.js';

export class CreatePartnerKeyDto {
  @IsLabel()
  @ApiProperty({ example: 'Tea by Bike' })
  partner: string;
}

export class IssuedPartnerKey {
  @ApiSnowflakeProperty({ description: 'Used to revoke it' })
  keyId: string;

  @ApiProperty({ description: 'Shown here and never again' })
  key: string;
}

export class PartnerOrders {
  @ApiProperty({ description: 'Whose key was sent', example: 'Tea by Bike' })
  partner: string;

  @ApiSnowflakeProperty({ form: orderIds, isArray: true })
  orders: PublicId<'ord'>[];
}

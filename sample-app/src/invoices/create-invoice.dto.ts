import type { PublicId } from 'nestjs-snowflake';
import { IsSnowflakeId } from 'nestjs-snowflake/class-validator';
import { ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';
import { orderIds, publicOrderChecks } from '../ids/shop-ids.js';

export class CreateInvoiceDto {
  @IsSnowflakeId(publicOrderChecks)
  @ApiSnowflakeProperty({ form: orderIds, description: 'The order that the invoice is for' })
  orderId: PublicId<'ord'>;
}

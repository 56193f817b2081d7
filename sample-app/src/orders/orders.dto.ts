/**
 * What the orders endpoints take, and what customers see. Ids are text: a JSON number would lose
 * their last digits.
 */
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsInt,
  IsISO8601,
  IsObject,
  IsOptional,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import type { PublicId } from 'nestjs-snowflake';
import { IsSnowflakeId } from 'nestjs-snowflake/class-validator';
import { ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';
import { idChecks, orderIds } from '../ids/shop-ids.js';
import { IsLabel } from '../is-label.decorator.js';

export class OrderLineDto {
  @IsLabel()
  @ApiProperty({ example: 'tea' })
  product: string;

  @IsInt()
  @Min(1)
  @Max(1_000_000)
  @ApiProperty({ type: 'integer', example: 2 })
  quantity: number;

  @IsInt()
  @Min(0)
  @Max(1_000_000_000)
  @ApiProperty({ type: 'integer', example: 450 })
  priceCents: number;
}

export class CreateOrderDto {
  @IsSnowflakeId(idChecks)
  @ApiSnowflakeProperty({ description: 'Who orders' })
  customerId: string;

  @IsObject({ each: true })
  @ValidateNested({ each: true })
  @Type(() => OrderLineDto)
  @ArrayMinSize(1)
  @ArrayMaxSize(100)
  @ApiProperty({ type: [OrderLineDto] })
  lines: OrderLineDto[];
}

export class CreateOrdersDto {
  @IsSnowflakeId(idChecks)
  @ApiSnowflakeProperty({ description: 'Who orders' })
  customerId: string;

  @IsInt()
  @Min(1)
  @Max(10_000)
  @ApiProperty({ type: 'integer', example: 1000 })
  count: number;
}

export class ListOrdersQuery {
  @IsOptional()
  @IsSnowflakeId(idChecks)
  @ApiSnowflakeProperty({ required: false, description: 'The last id of the page before' })
  after?: string;

  @IsOptional()
  @IsISO8601({ strict: true })
  @ApiPropertyOptional({ example: '2026-01-01T00:00:00Z' })
  from?: string;

  @IsOptional()
  @IsISO8601({ strict: true })
  @ApiPropertyOptional({ example: '2026-01-31T23:59:59.999Z' })
  to?: string;

  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(1000)
  @ApiPropertyOptional({ type: 'integer', default: 20 })
  limit: number = 20;
}

export class TrackedOrder {
  @ApiSnowflakeProperty({ form: orderIds, readOnly: true })
  publicId: PublicId<'ord'>;

  @ApiProperty({ type: [OrderLineDto] })
  lines: OrderLineDto[];
}

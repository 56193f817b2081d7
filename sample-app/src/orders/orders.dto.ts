/**
 * What the orders endpoints take. Ids are text: a JSON number would lose their last digits.
 */
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsInt,
  IsISO8601,
  IsNumberString,
  IsObject,
  IsOptional,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { IsLabel } from '../is-label.decorator.js';

export class OrderLineDto {
  @IsLabel()
  @ApiProperty({ example: 'tea' })
  product: string;

  @IsInt()
  @Min(1)
  @Max(1_000_000)
  @ApiProperty({ example: 2 })
  quantity: number;

  @IsInt()
  @Min(0)
  @Max(1_000_000_000)
  @ApiProperty({ example: 450 })
  priceCents: number;
}

export class CreateOrderDto {
  @IsNumberString({ no_symbols: true })
  @ApiProperty({ example: '382366441078288384' })
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
  @IsNumberString({ no_symbols: true })
  @ApiProperty({ example: '382366441078288384' })
  customerId: string;

  @IsInt()
  @Min(1)
  @Max(10_000)
  @ApiProperty({ example: 1000 })
  count: number;
}

export class ListOrdersQuery {
  @IsOptional()
  @IsNumberString({ no_symbols: true })
  @ApiPropertyOptional({ description: 'The last id of the page before' })
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
  @ApiPropertyOptional({ default: 20 })
  limit: number = 20;
}

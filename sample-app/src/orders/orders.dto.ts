/**
 * What the orders endpoints take. Ids are text: a JSON number would lose their last digits.
 */
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsDate,
  IsInt,
  IsNumberString,
  IsOptional,
  IsString,
  Length,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';

export class OrderLineDto {
  @IsString()
  @Length(1, 200)
  @ApiProperty({ example: 'tea' })
  product: string;

  @IsInt()
  @Min(1)
  @ApiProperty({ example: 2 })
  quantity: number;

  @IsInt()
  @Min(0)
  @ApiProperty({ example: 450 })
  priceCents: number;
}

export class CreateOrderDto {
  @IsNumberString({ no_symbols: true })
  @ApiProperty({ example: '382366441078288384' })
  customerId: string;

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
  @Type(() => Date)
  @IsDate()
  @ApiPropertyOptional({ type: String, example: '2026-01-01T00:00:00Z' })
  from?: Date;

  @IsOptional()
  @Type(() => Date)
  @IsDate()
  @ApiPropertyOptional({ type: String, example: '2026-01-31T23:59:59.999Z' })
  to?: Date;

  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(1000)
  @ApiPropertyOptional({ default: 20 })
  limit: number = 20;
}

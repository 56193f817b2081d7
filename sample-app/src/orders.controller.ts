import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { IsInt, IsString, Length, Max, Min } from 'class-validator';
import { IdMaker, layouts } from 'nestjs-snowflake';
import { ParseSnowflakePipe } from 'nestjs-snowflake/http';
import type { Order } from './entities.js';
import { OrdersService } from './orders.service.js';

class CreateOrder {
  @IsString()
  @Length(1, 200)
  product: string;

  @IsInt()
  @Min(1)
  @Max(1_000_000)
  quantity: number;
}

/** An ID is text in entities and in JSON. Anything but an ID in a URL gets a 400. */
const checks = { layout: layouts.snowflake(), notInFuture: true, as: 'text' } as const;
const anId = new ParseSnowflakePipe(checks);
const maybeAnId = new ParseSnowflakePipe({ ...checks, optional: true });

@Controller('orders')
export class OrdersController {
  constructor(
    private readonly ids: IdMaker,
    private readonly orders: OrdersService,
  ) {}

  @Get('id')
  newId(): string {
    return this.ids.nextIdString();
  }

  @Post()
  create(@Body() { product, quantity }: CreateOrder): Promise<Order> {
    return this.orders.create(product, quantity);
  }

  @Get()
  list(@Query('after', maybeAnId) after?: string): Promise<Order[]> {
    return this.orders.list(after);
  }

  @Get(':id')
  one(@Param('id', anId) id: string): Promise<Order> {
    return this.orders.one(id);
  }

  @Post(':id/ship')
  ship(@Param('id', anId) id: string): Promise<Order> {
    return this.orders.ship(id);
  }
}

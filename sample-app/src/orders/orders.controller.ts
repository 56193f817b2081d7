import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { IdPipe } from '../ids/id.pipe.js';
import { Order } from './order.entity.js';
import { CreateOrderDto, CreateOrdersDto, ListOrdersQuery } from './orders.dto.js';
import { OrdersService } from './orders.service.js';

@ApiTags('orders')
@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @ApiOperation({ summary: 'One order with its lines' })
  create(@Body() dto: CreateOrderDto): Promise<Order> {
    return this.orders.create(dto);
  }

  @Post('bulk')
  @ApiOperation({ summary: 'Up to 10,000 empty orders at once; answers their ids' })
  createMany(@Body() dto: CreateOrdersDto): Promise<string[]> {
    return this.orders.createMany(dto);
  }

  @Get()
  @ApiOperation({ summary: 'By id, page by page, or by time' })
  @ApiOkResponse({ type: [Order] })
  list(@Query() query: ListOrdersQuery): Promise<Order[]> {
    return this.orders.list(query);
  }

  @Get(':id')
  @ApiOkResponse({ type: Order })
  one(@Param('id', IdPipe) id: string): Promise<Order> {
    return this.orders.one(id);
  }
}

import {
  Body,
  ClassSerializerInterceptor,
  Controller,
  Get,
  Param,
  Post,
  Query,
  UseInterceptors,
} from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiCreatedResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiServiceUnavailableResponse,
  ApiTags,
} from '@nestjs/swagger';
import { ApiSnowflakeParam, snowflakeSchema } from 'nestjs-snowflake/swagger';
import { ErrorAnswer } from '../error-answer.js';
import { idAsText } from '../ids/shop-ids.js';
import { Order } from './order.entity.js';
import { CreateOrderDto, CreateOrdersDto, ListOrdersQuery } from './orders.dto.js';
import { OrdersService } from './orders.service.js';

@ApiTags('orders')
@ApiBadRequestResponse({ type: ErrorAnswer, description: 'The request is invalid' })
@UseInterceptors(ClassSerializerInterceptor)
@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @ApiOperation({ summary: 'One order with its lines' })
  @ApiCreatedResponse({ type: Order })
  @ApiServiceUnavailableResponse({ type: ErrorAnswer, description: 'No id can be made right now' })
  create(@Body() dto: CreateOrderDto): Promise<Order> {
    return this.orders.create(dto);
  }

  @Post('bulk')
  @ApiOperation({ summary: 'Creates up to 10,000 empty orders and returns their ids' })
  @ApiCreatedResponse({ schema: { type: 'array', items: snowflakeSchema() } })
  @ApiServiceUnavailableResponse({ type: ErrorAnswer, description: 'No id can be made right now' })
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
  @ApiOperation({ summary: 'One order with its lines' })
  @ApiSnowflakeParam('id', { description: 'The order' })
  @ApiOkResponse({ type: Order })
  @ApiNotFoundResponse({ type: ErrorAnswer, description: 'There is no such order' })
  one(@Param('id', idAsText) id: string): Promise<Order> {
    return this.orders.one(id);
  }
}

/**
 * What a customer sees of an order, at an address that tells nothing about other orders. No id of
 * ours is in the answer, nor in a message.
 */
import { Controller, Get, NotFoundException, Param } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { ApiSnowflakeParam } from 'nestjs-snowflake/swagger';
import { ErrorAnswer } from '../error-answer.js';
import { orderIds, publicOrderAsText } from '../ids/shop-ids.js';
import { TrackedOrder } from './orders.dto.js';
import { OrdersService } from './orders.service.js';

@ApiTags('for customers')
@Controller('tracking')
export class TrackingController {
  constructor(private readonly orders: OrdersService) {}

  @Get(':publicId')
  @ApiOperation({ summary: 'An order as its customer sees it' })
  @ApiSnowflakeParam('publicId', { form: orderIds, description: 'The order' })
  @ApiOkResponse({ type: TrackedOrder })
  @ApiBadRequestResponse({ type: ErrorAnswer, description: 'Not the public id of an order' })
  @ApiNotFoundResponse({ type: ErrorAnswer, description: 'There is no such order' })
  async track(@Param('publicId', publicOrderAsText) id: string): Promise<TrackedOrder> {
    const order = await this.orders.find(id);
    if (order === null) throw new NotFoundException('There is no such order.');
    const { publicId, lines = [] } = order;
    return {
      publicId,
      lines: lines.map(({ product, quantity, priceCents }) => ({ product, quantity, priceCents })),
    };
  }
}

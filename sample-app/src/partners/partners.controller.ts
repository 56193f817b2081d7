/**
 * What a program of a partner reads, with a key. What it may see is decided here: public ids alone.
 */
import { Controller, Get, Query, Req, UseGuards } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiOkResponse,
  ApiOperation,
  ApiSecurity,
  ApiTags,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import { ErrorAnswer } from '../error-answer.js';
import { ListOrdersQuery } from '../orders/orders.dto.js';
import { OrdersService } from '../orders/orders.service.js';
import { PartnerKeyGuard, type PartnerRequest } from './partner-key.guard.js';
import { PartnerOrders } from './partner-keys.dto.js';

@ApiTags('for partners')
@ApiSecurity('apiKey')
@ApiUnauthorizedResponse({ type: ErrorAnswer, description: 'No API key, or not a valid one' })
@ApiBadRequestResponse({ type: ErrorAnswer, description: 'The request is invalid' })
@UseGuards(PartnerKeyGuard)
@Controller('partner')
export class PartnersController {
  constructor(private readonly orders: OrdersService) {}

  @Get('orders')
  @ApiOperation({ summary: 'Public ids of orders, page by page' })
  @ApiOkResponse({ type: PartnerOrders })
  async list(
    @Req() { partnerKey: { partner } }: PartnerRequest,
    @Query() query: ListOrdersQuery,
  ): Promise<PartnerOrders> {
    const orders = await this.orders.list(query);
    return { partner, orders: orders.map(({ publicId }) => publicId) };
  }
}

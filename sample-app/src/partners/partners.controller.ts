/**
 * What a program of a partner reads, with a key. What it may see is decided here: public ids alone.
 */
import { Controller, Get, Query, UseGuards } from '@nestjs/common';
import { ApiBadRequestResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiKeyGuard, ApiKeyId } from 'nestjs-snowflake/api-keys';
import { ApiKeySecurity } from 'nestjs-snowflake/api-keys/swagger';
import { ErrorAnswer } from '../error-answer.js';
import { ListOrdersQuery } from '../orders/orders.dto.js';
import { OrdersService } from '../orders/orders.service.js';
import { PartnerKeyStore } from './partner-key.store.js';
import { PartnerOrders } from './partner-keys.dto.js';

@ApiTags('for partners')
@ApiKeySecurity()
@ApiBadRequestResponse({ type: ErrorAnswer, description: 'The request is invalid' })
@UseGuards(ApiKeyGuard)
@Controller('partner')
export class PartnersController {
  constructor(
    private readonly orders: OrdersService,
    private readonly store: PartnerKeyStore,
  ) {}

  @Get('orders')
  @ApiOperation({ summary: 'Public ids of orders, page by page' })
  @ApiOkResponse({ type: PartnerOrders })
  async list(@ApiKeyId() keyId: string, @Query() query: ListOrdersQuery): Promise<PartnerOrders> {
    const [partner, orders] = await Promise.all([
      this.store.partnerOf(keyId),
      this.orders.list(query),
    ]);
    return { partner, orders: orders.map(({ publicId }) => publicId) };
  }
}

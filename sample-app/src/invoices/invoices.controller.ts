import {
  Body,
  ClassSerializerInterceptor,
  Controller,
  Get,
  Post,
  UseInterceptors,
} from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiServiceUnavailableResponse,
  ApiTags,
} from '@nestjs/swagger';
import { ErrorAnswer } from '../error-answer.js';
import { CreateInvoiceDto } from './create-invoice.dto.js';
import { Invoice } from './invoice.entity.js';
import { InvoicesService } from './invoices.service.js';

@ApiTags('invoices')
@UseInterceptors(ClassSerializerInterceptor)
@Controller('invoices')
export class InvoicesController {
  constructor(private readonly invoices: InvoicesService) {}

  @Post()
  @ApiOperation({ summary: 'The invoice of an order' })
  @ApiCreatedResponse({ type: Invoice })
  @ApiBadRequestResponse({ type: ErrorAnswer, description: 'The request is invalid' })
  @ApiNotFoundResponse({ type: ErrorAnswer, description: 'There is no such order' })
  @ApiConflictResponse({ type: ErrorAnswer, description: 'The order already has an invoice' })
  @ApiServiceUnavailableResponse({ type: ErrorAnswer, description: 'No id can be made right now' })
  create(@Body() { orderId }: CreateInvoiceDto): Promise<Invoice> {
    return this.invoices.create(orderId);
  }

  @Get()
  @ApiOperation({ summary: 'The newest 20' })
  @ApiOkResponse({ type: [Invoice] })
  list(): Promise<Invoice[]> {
    return this.invoices.newest();
  }
}

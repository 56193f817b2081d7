import { Body, Controller, Get, NotFoundException, Param, Post } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiCreatedResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiServiceUnavailableResponse,
  ApiTags,
} from '@nestjs/swagger';
import { InjectRepository } from '@nestjs/typeorm';
import { ApiSnowflakeParam } from 'nestjs-snowflake/swagger';
import { Repository } from 'typeorm';
import { ErrorAnswer } from '../error-answer.js';
import { idAsText } from '../ids/shop-ids.js';
import { CreateCustomerDto } from './create-customer.dto.js';
import { Customer } from './customer.entity.js';

@ApiTags('customers')
@Controller('customers')
export class CustomersController {
  constructor(@InjectRepository(Customer) private readonly customers: Repository<Customer>) {}

  @Post()
  @ApiOperation({ summary: 'One customer' })
  @ApiCreatedResponse({ type: Customer })
  @ApiBadRequestResponse({ type: ErrorAnswer, description: 'The request is invalid' })
  @ApiServiceUnavailableResponse({ type: ErrorAnswer, description: 'No id can be made right now' })
  create(@Body() dto: CreateCustomerDto): Promise<Customer> {
    return this.customers.save(this.customers.create(dto));
  }

  @Get()
  @ApiOperation({ summary: 'The newest 20' })
  @ApiOkResponse({ type: [Customer] })
  list(): Promise<Customer[]> {
    return this.customers.find({ order: { id: 'DESC' }, take: 20 });
  }

  @Get(':id')
  @ApiOperation({ summary: 'One customer' })
  @ApiSnowflakeParam('id', { description: 'The customer' })
  @ApiOkResponse({ type: Customer })
  @ApiBadRequestResponse({ type: ErrorAnswer, description: 'Not an id' })
  @ApiNotFoundResponse({ type: ErrorAnswer, description: 'There is no such customer' })
  async one(@Param('id', idAsText) id: string): Promise<Customer> {
    const customer = await this.customers.findOneBy({ id });
    if (customer === null) throw new NotFoundException(`There is no customer ${id}.`);
    return customer;
  }
}

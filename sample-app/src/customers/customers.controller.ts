import { Body, Controller, Get, NotFoundException, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { IdPipe } from '../ids/id.pipe.js';
import { CreateCustomerDto } from './create-customer.dto.js';
import { Customer } from './customer.entity.js';

@ApiTags('customers')
@Controller('customers')
export class CustomersController {
  constructor(@InjectRepository(Customer) private readonly customers: Repository<Customer>) {}

  @Post()
  create(@Body() dto: CreateCustomerDto): Promise<Customer> {
    return this.customers.save(this.customers.create(dto));
  }

  @Get()
  list(): Promise<Customer[]> {
    return this.customers.find({ order: { id: 'DESC' }, take: 20 });
  }

  @Get(':id')
  async one(@Param('id', IdPipe) id: string): Promise<Customer> {
    const customer = await this.customers.findOneBy({ id });
    if (customer === null) throw new NotFoundException(`There is no customer ${id}.`);
    return customer;
  }
}

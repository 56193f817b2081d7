/**
 * Orders: created with their lines in one cascade, listed by id, which is also by time.
 */
import { BadRequestException, Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IdMaker } from 'nestjs-snowflake';
import { And, Between, MoreThan, Repository, type FindOperator } from 'typeorm';
import { Customer } from '../customers/customer.entity.js';
import { Order } from './order.entity.js';
import type { CreateOrderDto, CreateOrdersDto, ListOrdersQuery } from './orders.dto.js';

/** The last moment a Date can hold. "Now" would hide the ids of hosts whose clocks are ahead. */
const END_OF_TIME = 8.64e15;

@Injectable()
export class OrdersService {
  constructor(
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    @InjectRepository(Customer) private readonly customers: Repository<Customer>,
    private readonly ids: IdMaker,
  ) {}

  async create({ customerId, lines }: CreateOrderDto): Promise<Order> {
    await this.checkCustomer(customerId);
    return this.orders.save(this.orders.create({ customerId, lines }));
  }

  /** Many empty orders in one statement, e.g. for an import. */
  async createMany({ customerId, count }: CreateOrdersDto): Promise<string[]> {
    await this.checkCustomer(customerId);
    const rows = Array.from({ length: count }, () => this.orders.create({ customerId }));
    await this.orders.insert(rows);
    return rows.map(({ id }) => id);
  }

  /** A page is a range of ids: no OFFSET, and a span of time needs no index of its own. */
  list({ after, from, to, limit }: ListOrdersQuery): Promise<Order[]> {
    const bounds: FindOperator<string>[] = [];
    if (after !== undefined) bounds.push(MoreThan(after));
    if (from !== undefined || to !== undefined) {
      const span = this.ids.idRange(new Date(from ?? 0), new Date(to ?? END_OF_TIME));
      bounds.push(Between(`${span.first}`, `${span.last}`));
    }
    const where = bounds.length === 0 ? {} : { id: And(...bounds) };
    return this.orders.find({ where, order: { id: 'ASC' }, take: limit });
  }

  async one(id: string): Promise<Order> {
    const order = await this.find(id);
    if (order === null) throw new NotFoundException(`There is no order ${id}.`);
    return order;
  }

  find(id: string): Promise<Order | null> {
    return this.orders.findOne({ where: { id }, relations: { lines: true } });
  }

  private async checkCustomer(id: string): Promise<void> {
    if (await this.customers.existsBy({ id })) return;
    throw new BadRequestException(`There is no customer ${id}.`);
  }
}

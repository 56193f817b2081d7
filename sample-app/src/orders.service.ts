import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Locked } from 'nestjs-snowflake/lock';
import { gaplessSeries } from 'nestjs-snowflake/sql';
import { MoreThan, Repository } from 'typeorm';
import { Order } from './entities.js';

const numbers = gaplessSeries({
  name: 'order',
  period: 'year',
  timeZone: 'Europe/Berlin',
  form: 'ORD-{date}-{000000}',
});

const lockOf = (id: string): string => `order:${id}`;

@Injectable()
export class OrdersService {
  constructor(@InjectRepository(Order) private readonly orders: Repository<Order>) {}

  /** The transaction that takes a number also saves the order, so a rollback leaves no gap. */
  create(product: string, quantity: number): Promise<Order> {
    return this.orders.manager.transaction(async (manager) => {
      const number = await numbers.nextIn(manager);
      return manager.save(manager.create(Order, { number, product, quantity }));
    });
  }

  /** IDs are ordered by time: the next page begins after the last ID, without OFFSET. */
  list(after = '0'): Promise<Order[]> {
    return this.orders.find({ where: { id: MoreThan(after) }, order: { id: 'ASC' }, take: 20 });
  }

  async one(id: string): Promise<Order> {
    const order = await this.orders.findOneBy({ id });
    if (order === null) throw new NotFoundException(`There is no order ${id}.`);
    return order;
  }

  /** Under a lock that all replicas share: two requests at once send one parcel. */
  @Locked(lockOf, { waitMs: 2000 })
  async ship(id: string): Promise<Order> {
    const order = await this.one(id);
    if (order.shippedAt !== null) throw new ConflictException(`Order ${id} was shipped before.`);
    // A real shop calls its carrier here.
    order.shippedAt = new Date();
    return this.orders.save(order);
  }
}

/**
 * Invoices, numbered by day and without a gap: the number is taken in the transaction that saves
 * the invoice, so what is rolled back leaves none behind.
 */
import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { PublicId } from 'nestjs-snowflake';
import { gaplessSeries } from 'nestjs-snowflake/sql';
import { DataSource, QueryFailedError } from 'typeorm';
import { orderIds } from '../ids/shop-ids.js';
import { OrdersService } from '../orders/orders.service.js';
import { Invoice } from './invoice.entity.js';

const numbers = gaplessSeries({
  name: 'invoice',
  period: 'day',
  timeZone: 'Europe/Berlin',
  form: 'INV-{date}-{000000}',
});

/** PostgreSQL's "unique_violation". */
const TWICE = '23505';

@Injectable()
export class InvoicesService {
  constructor(
    @InjectDataSource() private readonly database: DataSource,
    private readonly orders: OrdersService,
  ) {}

  async create(publicId: PublicId<'ord'>): Promise<Invoice> {
    const orderId = String(orderIds.decode(publicId));
    if ((await this.orders.find(orderId)) === null) {
      throw new NotFoundException(`There is no order ${publicId}.`);
    }
    try {
      return await this.database.transaction(async (manager) => {
        const number = await numbers.nextIn(manager);
        return manager.save(manager.create(Invoice, { number, orderId }));
      });
    } catch (error) {
      if (!isTwice(error)) throw error;
      throw new ConflictException(`The order ${publicId} already has an invoice.`);
    }
  }

  newest(): Promise<Invoice[]> {
    return this.database.manager.find(Invoice, { order: { number: 'DESC' }, take: 20 });
  }
}

function isTwice(error: unknown): boolean {
  return error instanceof QueryFailedError && error.driverError.code === TWICE;
}

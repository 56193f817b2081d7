/**
 * A job that runs in one replica at each scheduled time, and what it made.
 */
import { Controller, Get, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { CronOnce, type CronRun } from 'nestjs-snowflake/lock';
import { hostname } from 'node:os';
import { Repository } from 'typeorm';
import { Order, SalesReport } from './entities.js';

@Injectable()
export class SalesReportJob {
  constructor(
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    @InjectRepository(SalesReport) private readonly reports: Repository<SalesReport>,
  ) {}

  @CronOnce('*/10 * * * * *')
  async report({ tick }: CronRun): Promise<void> {
    const orderCount = await this.orders.count();
    const madeBy = `${hostname()} ${process.pid}`;
    await this.reports.insert(this.reports.create({ at: tick, orderCount, madeBy }));
  }
}

@Controller('sales-reports')
export class SalesReportsController {
  constructor(@InjectRepository(SalesReport) private readonly reports: Repository<SalesReport>) {}

  @Get()
  newest(): Promise<SalesReport[]> {
    return this.reports.find({ order: { at: 'DESC' }, take: 20 });
  }
}

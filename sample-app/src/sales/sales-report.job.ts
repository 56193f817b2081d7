/**
 * A job of which one replica does the work each time it is due: a report.
 */
import { Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { CronOnce, type CronRun } from 'nestjs-snowflake/lock';
import { hostname } from 'node:os';
import { Repository } from 'typeorm';
import { readConfig } from '../config.js';
import { Order } from '../orders/order.entity.js';
import { SalesReport } from './sales-report.entity.js';

const EVERY_S = readConfig().reportEveryS;
const SCHEDULE = EVERY_S === 60 ? '* * * * *' : `*/${EVERY_S} * * * * *`;

@Injectable()
export class SalesReportJob {
  private readonly logger = new Logger('SalesReport');

  constructor(
    @InjectRepository(SalesReport) private readonly reports: Repository<SalesReport>,
    @InjectRepository(Order) private readonly orders: Repository<Order>,
  ) {}

  @CronOnce(SCHEDULE)
  async report({ tick: at }: CronRun): Promise<void> {
    const orderCount = await this.orders.count();
    const madeBy = `${hostname()} ${process.pid}`;
    await this.reports.insert(this.reports.create({ at, orderCount, madeBy }));
    this.logger.log(`At ${at.toISOString()} there were ${orderCount} orders.`);
  }
}

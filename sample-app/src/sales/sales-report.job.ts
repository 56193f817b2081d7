/**
 * A job that runs in every replica, and of which one does the work: each time it is due, a report.
 *
 * The lock is named after the time at which it is due, by which replicas whose clocks differ mean
 * the same one.
 */
import { Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { InjectRepository } from '@nestjs/typeorm';
import { Locked } from 'nestjs-snowflake/lock';
import { hostname } from 'node:os';
import { Repository } from 'typeorm';
import { readConfig } from '../config.js';
import { Order } from '../orders/order.entity.js';
import { SalesReport } from './sales-report.entity.js';

const EVERY_S = readConfig().reportEveryS;
const CRON = EVERY_S === 60 ? '0 * * * * *' : `*/${EVERY_S} * * * * *`;

function dueAt(): Date {
  const everyMs = EVERY_S * 1000;
  return new Date(Math.floor(Date.now() / everyMs) * everyMs);
}

@Injectable()
export class SalesReportJob {
  private readonly logger = new Logger('SalesReport');

  constructor(
    @InjectRepository(SalesReport) private readonly reports: Repository<SalesReport>,
    @InjectRepository(Order) private readonly orders: Repository<Order>,
  ) {}

  @Cron(CRON)
  tick(): Promise<void> {
    return this.report(dueAt());
  }

  @Locked((at: Date) => `job:sales:${at.getTime()}`, {
    // Whoever does not get it lets the other one do it.
    onHeld: 'skip',
    // Longer than the lock of a replica that was killed lasts: then somebody else does its work.
    // Shorter than `drainMs`, so that a shutdown is not a failure.
    waitMs: 9000,
    // Longer than that, and than clocks may differ: who comes late finds that it is done.
    holdAtLeastMs: 60_000,
  })
  async report(at: Date): Promise<void> {
    const orderCount = await this.orders.count();
    const madeBy = `${hostname()} ${process.pid}`;
    await this.reports.insert(this.reports.create({ at, orderCount, madeBy }));
    this.logger.log(`At ${at.toISOString()} there were ${orderCount} orders.`);
  }
}

import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Order } from '../orders/order.entity.js';
import { SalesReport } from './sales-report.entity.js';
import { SalesReportJob } from './sales-report.job.js';
import { SalesReportsController } from './sales-reports.controller.js';

@Module({
  imports: [TypeOrmModule.forFeature([Order, SalesReport])],
  controllers: [SalesReportsController],
  providers: [SalesReportJob],
})
export class SalesModule {}

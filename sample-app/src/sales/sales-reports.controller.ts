import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { SalesReport } from './sales-report.entity.js';

@ApiTags('sales')
@Controller('sales-reports')
export class SalesReportsController {
  constructor(@InjectRepository(SalesReport) private readonly reports: Repository<SalesReport>) {}

  @Get()
  @ApiOperation({ summary: 'The newest 20, of which one replica made each' })
  @ApiOkResponse({ type: [SalesReport] })
  list(): Promise<SalesReport[]> {
    return this.reports.find({ order: { at: 'DESC' }, take: 20 });
  }
}

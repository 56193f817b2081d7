/**
 * Open to whoever reaches the port: scrapers come from other hosts, and what they read is about
 * the process and not about customers. Keep the path out of what faces the internet.
 */
import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { prometheusContentType } from 'prom-client';
import { MetricsService } from './metrics.service.js';

@ApiExcludeController()
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: MetricsService) {}

  @Get()
  @Header('Content-Type', prometheusContentType)
  read(): Promise<string> {
    return this.metrics.read();
  }
}

import { Module, ValidationPipe } from '@nestjs/common';
import type { CanActivate, ExecutionContext, INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { WsAdapter } from '@nestjs/platform-ws';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { TerminusModule } from '@nestjs/terminus';
import { SnowflakeDashboardModule } from 'nestjs-snowflake/dashboard';
import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
import { AppModule } from '../app.module.js';
import {
  CustomersController,
  InvoicesController,
  invoiceDatabase,
  OrdersGateway,
  PartnersController,
  SchemasController,
  WatchController,
} from './controllers.js';
import { OrdersController } from './orders.controller.js';

/** Only a request with the right word may open the dashboard. */
class OperatorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<Request>().headers.word === 'open';
  }
}
interface Request {
  readonly headers: { readonly word?: string };
}

@Module({
  imports: [
    AppModule,
    TerminusModule,
    SnowflakeDashboardModule.forRoot({ guards: [OperatorGuard] }),
  ],
  providers: [SnowflakeHealthIndicator, invoiceDatabase, OrdersGateway],
  controllers: [
    OrdersController,
    CustomersController,
    SchemasController,
    InvoicesController,
    PartnersController,
    WatchController,
  ],
})
class EdgeModule {}

/** Starts the application with every controller on a free port, with the usual global setup. */
export async function startEdgeApp(): Promise<{ app: INestApplication; url: string }> {
  const app = await NestFactory.create(EdgeModule, { logger: ['error', 'warn'] });
  app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true }));
  const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
  SwaggerModule.setup('docs', app, document, { jsonDocumentUrl: 'openapi.json' });
  app.useWebSocketAdapter(new WsAdapter(app));
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl() };
}

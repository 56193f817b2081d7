import { Module, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { SnowflakeDashboardModule } from 'nestjs-snowflake/dashboard';
import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
import { AppModule } from '../app.module.js';
import { CustomersController } from './customers.controller.js';
import { InvoicesController, invoiceDatabase } from './invoices.controller.js';
import { OrdersController } from './orders.controller.js';
import { OrdersGateway } from './orders.gateway.js';
import { KeyStoreModule, PartnerApiKeys, PartnersController } from './partners.controller.js';
import { SchemasController } from './schemas.controller.js';
import { WatchController } from './watch.controller.js';

/** The page is for those who know the word. */
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
    KeyStoreModule,
    PartnerApiKeys,
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
export class EdgeModule {}

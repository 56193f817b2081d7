/**
 * Partners: their keys, and what they read with them.
 */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKeys } from 'nestjs-snowflake/api-keys';
import { OperatorModule } from '../operator/operator.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { PartnerKey } from './partner-key.entity.js';
import { PartnerKeyStore } from './partner-key.store.js';
import { PartnerKeysController } from './partner-keys.controller.js';
import { PartnersController } from './partners.controller.js';

@Module({
  imports: [TypeOrmModule.forFeature([PartnerKey]), OrdersModule, OperatorModule],
  providers: [
    PartnerKeyStore,
    { provide: ApiKeys, useFactory: () => new ApiKeys({ prefix: 'shop' }) },
  ],
  controllers: [PartnerKeysController, PartnersController],
})
export class PartnersModule {}

/**
 * Partners: their keys, and what they read with them.
 */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKeyModule } from 'nestjs-snowflake/api-keys';
import { OperatorModule } from '../operator/operator.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { PartnerKey } from './partner-key.entity.js';
import { PartnerKeyStore } from './partner-key.store.js';
import { PartnerKeysController } from './partner-keys.controller.js';
import { PartnersController } from './partners.controller.js';

@Module({
  imports: [TypeOrmModule.forFeature([PartnerKey])],
  providers: [PartnerKeyStore],
  exports: [PartnerKeyStore],
})
class PartnerKeyStoreModule {}

const PartnerApiKeys = ApiKeyModule.forRootAsync({
  imports: [PartnerKeyStoreModule],
  inject: [PartnerKeyStore],
  useFactory: (store: PartnerKeyStore) => ({
    prefix: 'shop',
    find: (keyId: string) => store.find(keyId),
  }),
});

@Module({
  imports: [PartnerApiKeys, PartnerKeyStoreModule, OrdersModule, OperatorModule],
  controllers: [PartnerKeysController, PartnersController],
})
export class PartnersModule {}

import { Controller, Get, Injectable, Module, Post, UseGuards } from '@nestjs/common';
import { IdMaker } from 'nestjs-snowflake';
import {
  ApiKeyGuard,
  ApiKeyId,
  ApiKeyModule,
  ApiKeys,
  type StoredApiKey,
} from 'nestjs-snowflake/api-keys';
import { ApiKeySecurity } from 'nestjs-snowflake/api-keys/swagger';

@Injectable()
export class KeyStore {
  readonly rows = new Map<string, StoredApiKey>();
}

@Module({ providers: [KeyStore], exports: [KeyStore] })
export class KeyStoreModule {}

export const PartnerApiKeys = ApiKeyModule.forRootAsync({
  imports: [KeyStoreModule],
  inject: [KeyStore],
  useFactory: ({ rows }: KeyStore) => ({
    prefix: 'edge',
    find: (keyId: string) => rows.get(keyId),
  }),
});

/** Keys that are made by anybody, and a route that needs one. */
@Controller('partner')
export class PartnersController {
  constructor(
    private readonly ids: IdMaker,
    private readonly keys: ApiKeys,
    private readonly store: KeyStore,
  ) {}

  @Post('keys')
  issue(): { key: string; keyId: string } {
    const { key, keyId, hash } = this.keys.issue(this.ids.nextId());
    this.store.rows.set(keyId, { hash, revoked: false });
    return { key, keyId };
  }

  @Get('me')
  @UseGuards(ApiKeyGuard)
  @ApiKeySecurity()
  me(@ApiKeyId() keyId: string): { keyId: string } {
    return { keyId };
  }
}

/**
 * The table of keys. The guard asks it once for each request with a key that is well formed.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { StoredApiKey } from 'nestjs-snowflake/api-keys';
import { IsNull, Repository } from 'typeorm';
import { PartnerKey } from './partner-key.entity.js';

@Injectable()
export class PartnerKeyStore {
  constructor(@InjectRepository(PartnerKey) private readonly rows: Repository<PartnerKey>) {}

  async find(keyId: string): Promise<StoredApiKey | undefined> {
    const row = await this.rows.findOneBy({ id: keyId });
    return row === null ? undefined : { hash: row.hash, revoked: row.revokedAt !== null };
  }

  async add(row: Pick<PartnerKey, 'id' | 'partner' | 'hash'>): Promise<void> {
    await this.rows.insert(row);
  }

  /** False where there is no such key, or none that is still valid. */
  async revoke(keyId: string): Promise<boolean> {
    const valid = { id: keyId, revokedAt: IsNull() };
    const { affected } = await this.rows.update(valid, { revokedAt: new Date() });
    return affected === 1;
  }

  async partnerOf(keyId: string): Promise<string> {
    return (await this.rows.findOneByOrFail({ id: keyId })).partner;
  }
}

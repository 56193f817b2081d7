/**
 * The table of keys. The guard asks it once for each request with a key that is well formed.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { PartnerKey } from './partner-key.entity.js';

@Injectable()
export class PartnerKeyStore {
  constructor(@InjectRepository(PartnerKey) private readonly rows: Repository<PartnerKey>) {}

  find(keyId: string): Promise<PartnerKey | null> {
    return this.rows.findOneBy({ id: keyId });
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
}

/**
 * Lets in programs with a key, and notes on the request whose it is.
 */
import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  UnauthorizedException,
} from '@nestjs/common';
import { ApiKeys } from 'nestjs-snowflake/api-keys';
import type { IncomingMessage } from 'node:http';
import type { PartnerKey } from './partner-key.entity.js';
import { PartnerKeyStore } from './partner-key.store.js';

export type PartnerRequest = IncomingMessage & { partnerKey: PartnerKey };

@Injectable()
export class PartnerKeyGuard implements CanActivate {
  constructor(
    private readonly keys: ApiKeys,
    private readonly store: PartnerKeyStore,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<PartnerRequest>();
    const { authorization = [] } = request.headersDistinct;
    const key = authorization.length === 1 ? authorization[0]!.replace(/^Bearer +/i, '') : '';
    const keyId = this.keys.parse(key)?.keyId;
    if (keyId === undefined) throw new UnauthorizedException('Send the complete API key.');
    const row = await this.store.find(keyId);
    const isRight = this.keys.verify(key, row?.hash);
    if (row === null || !isRight || row.revokedAt !== null) {
      throw new UnauthorizedException('This API key is not valid.');
    }
    request.partnerKey = row;
    return true;
  }
}

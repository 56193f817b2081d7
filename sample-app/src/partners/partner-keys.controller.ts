/**
 * Keys for partners, made and revoked by operators.
 */
import {
  Body,
  Controller,
  Delete,
  HttpCode,
  NotFoundException,
  Param,
  Post,
  UseGuards,
} from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBasicAuth,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOperation,
  ApiTags,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import { IdMaker } from 'nestjs-snowflake';
import { ApiKeys } from 'nestjs-snowflake/api-keys';
import { ApiSnowflakeParam } from 'nestjs-snowflake/swagger';
import { ErrorAnswer } from '../error-answer.js';
import { idAsText } from '../ids/shop-ids.js';
import { OperatorGuard } from '../operator/operator.guard.js';
import { PartnerKeyStore } from './partner-key.store.js';
import { CreatePartnerKeyDto, IssuedPartnerKey } from './partner-keys.dto.js';

@ApiTags('for operators')
@ApiBasicAuth()
@ApiUnauthorizedResponse({ type: ErrorAnswer, description: 'Not the password of the operators' })
@ApiBadRequestResponse({ type: ErrorAnswer, description: 'The request is invalid' })
@UseGuards(OperatorGuard)
@Controller('partner-keys')
export class PartnerKeysController {
  constructor(
    private readonly ids: IdMaker,
    private readonly keys: ApiKeys,
    private readonly store: PartnerKeyStore,
  ) {}

  @Post()
  @ApiOperation({ summary: 'A key for a partner, shown once' })
  @ApiCreatedResponse({ type: IssuedPartnerKey })
  async issue(@Body() { partner }: CreatePartnerKeyDto): Promise<IssuedPartnerKey> {
    const { key, keyId, hash } = this.keys.issue(this.ids.nextId());
    await this.store.add({ id: keyId, partner, hash });
    return { keyId, key };
  }

  @Delete(':keyId')
  @HttpCode(204)
  @ApiOperation({ summary: 'From now on the key is refused' })
  @ApiSnowflakeParam('keyId', { description: 'The key' })
  @ApiNoContentResponse({ description: 'It is revoked' })
  @ApiNotFoundResponse({ type: ErrorAnswer, description: 'There is no such valid key' })
  async revoke(@Param('keyId', idAsText) keyId: string): Promise<void> {
    if (!(await this.store.revoke(keyId))) throw new NotFoundException('There is no such key.');
  }
}

/**
 * Takes an id apart.
 */
import { Controller, Get, Param } from '@nestjs/common';
import { ApiBadRequestResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { IdMaker } from 'nestjs-snowflake';
import { ApiSnowflakeParam } from 'nestjs-snowflake/swagger';
import { ErrorAnswer } from '../error-answer.js';
import { DecodedId } from './decoded-id.js';
import { idAsBigint } from './shop-ids.js';

@ApiTags('ids')
@Controller('ids')
export class IdsController {
  constructor(private readonly ids: IdMaker) {}

  @Get(':id')
  @ApiOperation({ summary: 'Time, worker and sequence of an id, and the ids of its millisecond' })
  @ApiSnowflakeParam('id')
  @ApiOkResponse({ type: DecodedId })
  @ApiBadRequestResponse({ type: ErrorAnswer, description: 'Not an id' })
  decode(@Param('id', idAsBigint) id: bigint): DecodedId {
    const parts = this.ids.parse(id);
    return { id, ...parts, sameMillisecond: this.ids.idRange(parts.date, parts.date) };
  }
}

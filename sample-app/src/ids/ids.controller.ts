/**
 * What an id says.
 */
import { Controller, Get, Param } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { IdMaker, type SnowflakeParts } from 'nestjs-snowflake';

@ApiTags('ids')
@Controller('ids')
export class IdsController {
  constructor(private readonly ids: IdMaker) {}

  @Get(':id')
  @ApiOperation({ summary: 'Time, worker and sequence of an id' })
  @ApiParam({ name: 'id', type: String, example: '382366441078288384' })
  decode(@Param('id') id: string): SnowflakeParts & { id: string } {
    return { id, ...this.ids.parse(id) };
  }
}

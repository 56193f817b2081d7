import { Controller, Get, Param, Query, UseFilters, UseInterceptors } from '@nestjs/common';
import { SnowflakeError, textForms } from 'nestjs-snowflake';
import {
  ParseSnowflakePipe,
  SnowflakeErrorFilter,
  SnowflakeJsonInterceptor,
} from 'nestjs-snowflake/http';

/** IDs in paths and in JSON, with no packages except Nest's. */
@Controller('orders')
@UseInterceptors(SnowflakeJsonInterceptor)
@UseFilters(SnowflakeErrorFilter)
export class OrdersController {
  @Get('short')
  short(@Query('id') id: string): object {
    return { id: textForms.base58.decode(id) };
  }

  @Get('spent')
  spent(): never {
    throw new SnowflakeError('SEQUENCE_SPENT', 'a secret');
  }

  @Get(':id')
  one(@Param('id', ParseSnowflakePipe) id: bigint): object {
    return { type: typeof id, id, lines: [{ id }] };
  }
}
